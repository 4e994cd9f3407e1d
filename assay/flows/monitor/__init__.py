"""Monitors: open windows, judge them, tell people."""
