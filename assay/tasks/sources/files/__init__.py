"""The files of a source: which there are, and their bytes, on the local disk or in object storage."""
