"""What people may answer about an item, and how several answers become one label: a file for each kind."""
