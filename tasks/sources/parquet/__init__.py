"""Parquet: the rows of a file as batches, and some rows by the pages that hold them."""
