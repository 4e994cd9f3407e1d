"""One live evaluation of any kind of outcome: a question, its rounds, and its estimates."""
