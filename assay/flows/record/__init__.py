"""What the ledger says of an evaluation: its question, its state and its estimates."""
