"""What people and machines are told of an evaluation: pages, JSON, tables, words."""
