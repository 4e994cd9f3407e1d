"""Webhooks: advance an evaluation as soon as somebody answered."""
