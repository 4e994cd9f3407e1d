"""How a pool that nobody holds together is cut into cells: what is asked of its shards, and what follows."""
