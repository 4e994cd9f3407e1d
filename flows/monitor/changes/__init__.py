"""What people change about a monitor that runs: its spec, and whether anybody is told."""
