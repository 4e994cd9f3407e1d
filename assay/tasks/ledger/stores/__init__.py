"""Write-once stores: a local folder, S3 and memory."""
