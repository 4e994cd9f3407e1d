"""Gather what reports say from a ledger."""
