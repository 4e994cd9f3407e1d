"""People label in Langfuse: an annotation queue for each evaluation, a trace for each item and person."""
