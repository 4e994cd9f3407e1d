"""Which workers are asked for. Nothing is imported or started until a pool needs them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from assay.flows.workers.mapped import OnWorkers
from assay.flows.workers.on_dask import Dask
from assay.flows.workers.on_prefect import Prefect
from assay.flows.workers.on_ray import Ray
from assay.flows.workers.on_this_machine import Processes, Threads
from assay.flows.workers.protocol import Kind, Workers
from assay.tasks.freeze_runner import SERIAL, Runner, read_runner
from assay.tasks.pool.mapping import MapOver, one_after_the_other

KINDS: dict[str, type[Kind]] = {kind.word: kind for kind in (Threads, Processes, Dask, Ray)}


@contextmanager
def chosen_workers(asked: str) -> Iterator[MapOver]:
    """What the setting means, until the context ends. Raises BadInput."""
    runner = read_runner(asked)
    if runner.word == SERIAL:
        yield one_after_the_other
        return
    with closing(OnWorkers(_workers(runner))) as map_over:
        yield map_over


def _workers(runner: Runner) -> Workers:
    kind = KINDS[runner.word](runner)
    return Prefect(kind) if runner.in_prefect else kind
