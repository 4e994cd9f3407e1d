"""Thin effects, each safe to repeat: read predictions, keep the ledger, speak to desks, write reports."""
