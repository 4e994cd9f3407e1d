"""Reading predictions: files of three formats, local or on S3, as one stream of record batches."""
