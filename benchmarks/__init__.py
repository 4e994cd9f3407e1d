"""Benchmarks and certification: slow studies whose tables are committed under docs/."""
