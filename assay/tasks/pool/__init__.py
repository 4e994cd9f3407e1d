"""The frozen pool: checked, written once, and read back by cell and rank."""
