"""From responses of systems to a pool: its rows, its columns, and the spec to start from."""
