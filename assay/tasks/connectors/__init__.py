"""Other tools' logs and tables, brought in as pools."""
