"""What `import assay` offers: evaluations, replays and estimates from Python."""
