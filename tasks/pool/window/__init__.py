"""The predictions of a window of a monitor, read before anything is frozen."""
