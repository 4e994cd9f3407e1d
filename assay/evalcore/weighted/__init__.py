"""Labelled items with weights: what they say of questions that nobody had asked when they were drawn."""
