"""Replays in parallel, from a file of labelled predictions to a table and a figure."""
