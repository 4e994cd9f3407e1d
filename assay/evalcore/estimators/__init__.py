"""Estimates and intervals from labelled draws."""
