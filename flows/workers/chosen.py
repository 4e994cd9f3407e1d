"""Which workers `ASSAY_FREEZE_RUNNER` asks for. Nothing is imported or started until a pool needs them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from assay.evalcore.errors import BadInput
from assay.flows.workers.mapped import OnWorkers
from assay.flows.workers.on_dask import Dask
from assay.flows.workers.on_prefect import Prefect
from assay.flows.workers.on_ray import Ray
from assay.flows.workers.on_this_machine import Processes, Threads
from assay.flows.workers.protocol import VARIABLE, Kind, Workers
from assay.tasks.pool.mapping import MapOver, one_after_the_other

_KINDS: dict[str, type[Kind]] = {kind.word: kind for kind in (Threads, Processes, Dask, Ray)}


@contextmanager
def chosen_workers(asked: str) -> Iterator[MapOver]:
    """What the setting means, until the context ends. Raises BadInput."""
    if asked.strip() == "serial":
        yield one_after_the_other
        return
    with closing(OnWorkers(_workers(asked))) as map_over:
        yield map_over


def _workers(asked: str) -> Workers:
    first, _, others = asked.strip().partition(":")
    in_prefect = first == Prefect.word
    word, colon, rest = (others if in_prefect else asked.strip()).partition(":")
    if word not in _KINDS or (colon and not rest):
        usages = ", ".join(kind.usage for kind in _KINDS.values())
        raise BadInput(
            f"{VARIABLE} cannot be {asked!r}; it may be serial, {usages}, or prefect: and one of these four"
        )
    kind = _KINDS[word](rest if colon else None)
    return Prefect(kind) if in_prefect else kind
