"""Methods for any kind of outcome: which items to label, and what to conclude from their labels."""
