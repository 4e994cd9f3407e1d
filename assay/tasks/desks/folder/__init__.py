"""The desk in a folder of CSV files."""
