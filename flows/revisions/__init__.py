"""Answers that changed after their round was closed."""
