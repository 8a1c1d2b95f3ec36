"""The providers' protocols: for each one a file of HTTP routes and a file of request and result lines."""
