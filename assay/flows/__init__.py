"""Composition only: begin, advance, evaluate, sweep, and the command line."""
