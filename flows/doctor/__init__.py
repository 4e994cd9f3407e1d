"""`assay doctor`: check a file or a spec before anything is begun."""
