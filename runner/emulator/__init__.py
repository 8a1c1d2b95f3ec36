"""A local batch service with the providers' protocols, limits and bills. It imports nothing of ours."""
