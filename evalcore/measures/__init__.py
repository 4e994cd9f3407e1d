"""Measures: what is estimated, a file each."""
