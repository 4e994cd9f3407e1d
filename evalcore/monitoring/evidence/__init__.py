"""What one evaluation of a window says to a monitor: one file for two classes, one for other outcomes."""
