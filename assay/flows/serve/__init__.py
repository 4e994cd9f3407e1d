"""Pages and JSON of what is in stores, over HTTP, for people and programs that only look."""
