"""Curves of a score at thresholds, and the areas under them."""
