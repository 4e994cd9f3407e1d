"""Samples without replacement: simple, stratified and Bernoulli."""
