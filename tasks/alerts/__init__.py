"""Alerts: what people must be told, kept in the ledger until they were. `outbox` is the way in."""
