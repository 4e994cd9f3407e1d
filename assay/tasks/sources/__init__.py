"""Reads predictions: files of three formats, local or in object storage, as a stream of record batches."""
