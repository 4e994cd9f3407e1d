"""The shards of a pool: how its rows are shared out, frozen by whoever has time, and brought together."""
