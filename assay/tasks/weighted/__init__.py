"""Labelled items with weights as files, and the columns of the source that a new question asks about."""
