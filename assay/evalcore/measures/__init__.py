"""Measures: what "how good" means.  One file each; the registry finds them by name."""
