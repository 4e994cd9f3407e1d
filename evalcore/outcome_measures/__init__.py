"""Measures of any kind of outcome: a loss of an item, and a function of its mean over the pool."""
