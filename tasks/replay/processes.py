"""Blocks of repeats in parallel: what comes back does not depend on how many processes there are.

A block of repeats has a random stream of its own (evalcore.replay.run), so it may run anywhere and in any
order.  Processes are spawned and told names, not objects: each looks its method and measures up again.
Linear algebra is held to one thread everywhere, in this process too: threads would compete with the processes
for the cores, and another number of threads may round differently.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, fields
from multiprocessing import active_children, get_context
from typing import Any

from assay.evalcore.errors import BadArgument
from assay.evalcore.measures.base import Measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.replay.pool import Annotators
from assay.evalcore.replay.run import run_block
from assay.evalcore.replay.trace import Trace
from assay.evalcore.types import Ints
from assay.tasks.operating_system import available_processors, interrupts_held
from assay.tasks.replay.request import ReplayRequest

# blocks from which on the default is a process per processor: a process takes seconds to start
_WORTH_STARTING = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """One block of one method: everything a process needs to run it."""

    method: str
    cells: Cells
    by_label: Ints       # (C, 2)
    request: ReplayRequest
    index: int
    repeats: int
    annotators: Annotators | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockRun:
    """The result of a block.  A Measure cannot travel between processes, so its traces are plain arrays."""

    columns: list[dict[str, Any]]   # of each trace, by the names of its fields
    seconds: float

    def traces(self, measures: Sequence[Measure]) -> list[Trace]:
        """The traces, by system and measure."""
        return [Trace(measure=measures[i % len(measures)], **one) for i, one in enumerate(self.columns)]


def run_blocks(work: Sequence[Block], processes: int | None = None) -> Iterator[tuple[Block, BlockRun]]:
    """Every block with its result, in any order.

    processes: by default as many as there are processors, or this one alone for a few blocks.
    Raises BadArgument for less than one process.
    """
    if processes is not None and processes < 1:
        raise BadArgument("processes", f"must be at least 1, got {processes}")
    wished = processes or (available_processors() if len(work) >= _WORTH_STARTING else 1)
    workers = min(wished, len(work))
    if workers == 1:
        yield from ((block, run_here(block)) for block in work)
        return
    # spawn: forking a process that runs threads (the command line has some) can hang
    executor = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    before = set(active_children())
    try:
        # Ctrl-C reaches the processes of a terminal all at once: theirs is held back, and this one ends them
        with interrupts_held():
            running = {executor.submit(run_here, block): block for block in work}
        for future in as_completed(running):
            yield running[future], future.result()
    except KeyboardInterrupt:
        for child in set(active_children()) - before:
            child.terminate()
        raise
    finally:
        # after an error or an interruption nothing more is started
        executor.shutdown(cancel_futures=True)


def run_here(block: Block) -> BlockRun:
    """Run a block in this process."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    request = block.request
    with threadpool_limits(limits=1):
        start = time.perf_counter()
        traces = run_block(
            request.find_method(block.method),
            block.cells,
            block.by_label,
            [named.find() for named in request.measures],
            request.budgets,
            repeats=block.repeats,
            batch_size=request.batch_size,
            confidence=request.confidence,
            seed=request.seed,
            block=block.index,
            annotators=block.annotators,
            divergences=request.divergence,
        )
        seconds = time.perf_counter() - start
    arrays = [f.name for f in fields(Trace) if f.name != "measure"]
    return BlockRun(columns=[{name: getattr(t, name) for name in arrays} for t in traces], seconds=seconds)
