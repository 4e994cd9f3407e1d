"""Methods that search the top of the ranking with few labels."""
