"""Methods simulated on pools whose labels are known."""
