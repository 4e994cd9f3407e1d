"""The intervals of `recalibrated`: the usual one, how much of it is earned, and the one for any time."""
