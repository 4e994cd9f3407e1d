"""Evaluations and monitors as runs of MLflow."""
