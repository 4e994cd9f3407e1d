"""Who does the work over the shards of a pool: threads, processes, or a cluster of Dask or Ray."""
