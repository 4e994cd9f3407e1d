"""The desk of simulated annotators."""
