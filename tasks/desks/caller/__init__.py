"""The desk that is the caller's own code."""
