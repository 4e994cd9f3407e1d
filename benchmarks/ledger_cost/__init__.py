"""What it costs to go on: calls to the store, bytes, seconds and dollars, by round and by evaluations."""
