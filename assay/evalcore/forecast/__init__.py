"""How many labels are still to come."""
