"""Pages of Parquet files: found by their headers, and read without those before them."""
