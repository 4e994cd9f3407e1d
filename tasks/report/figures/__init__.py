"""The figures of the pages, drawn by matplotlib."""
