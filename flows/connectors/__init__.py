"""`assay import`: other tools' logs and tables become pools."""
