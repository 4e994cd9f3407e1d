"""Processes killed and services broken at random moments: the long form of tests/recovery."""
