"""Sources that are no files: results of SQL, and tables of Delta Lake and Iceberg."""
