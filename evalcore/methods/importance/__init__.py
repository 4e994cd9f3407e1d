"""Importance sampling with replacement, from a proposal that does not learn or from strata."""
