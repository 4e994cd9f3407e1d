"""Watching a stream of windows: evidence, verdicts, cheap signals, and what a window inherits."""
