"""Who does the work over the shards of a pool: threads, processes, or a cluster of Dask or Ray.

By default shards are no tasks of Prefect. Its runners for processes, Dask and Ray run tasks, and a task asks
the API of Prefect about every step. Tried outside a flow without a server, each new process started a
temporary server of its own. Here the libraries themselves are asked, at the same addresses, and no worker
needs to reach Prefect. Inside a flow the whole freeze is one task (`freeze-pool`).

With a Prefect server, `prefect:` in front of the setting makes every shard a task (`on_prefect`).
"""
