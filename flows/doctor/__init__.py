"""`assay doctor`: look at a file or a spec before anything begins."""
