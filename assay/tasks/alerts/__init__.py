"""Alerts: messages to people, kept in the ledger until they are delivered. `outbox` is the way in."""
