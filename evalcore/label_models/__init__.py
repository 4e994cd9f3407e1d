"""Models of p(label given cell) that methods learn from labels."""
