"""Specs: what a person writes about an evaluation or a monitor, checked when read."""
