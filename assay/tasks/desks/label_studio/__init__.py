"""The desk in Label Studio."""
