"""Trials of intervals for `recalibrated`: see `__main__`."""
