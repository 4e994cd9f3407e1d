"""People label in Arize Phoenix: a project for each evaluation, a span for each item."""
