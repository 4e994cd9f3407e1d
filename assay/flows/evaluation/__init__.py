"""Begin an evaluation, advance it, and drive it to its end in this process."""
