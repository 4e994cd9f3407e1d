"""Calls that may fail or change the world: retries, Prefect tasks and a log."""
