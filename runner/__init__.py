"""Evaluate language models on personalization benchmarks through batch APIs."""
