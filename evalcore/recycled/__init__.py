"""Recycled samples: several systems judged from shared labels."""
