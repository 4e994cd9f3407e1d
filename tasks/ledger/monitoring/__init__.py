"""What changes around a monitor: versions of its spec, states of its windows, and mutes of its alerts."""
