"""Runs of MLflow: what an evaluation or a monitor tells it, and how it is told once."""
