"""Which rows of a large source are looked at, and what that leaves unknown."""
