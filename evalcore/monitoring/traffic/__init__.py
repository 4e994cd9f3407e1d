"""What a window's predictions look like, and how far that is from the windows before it."""
