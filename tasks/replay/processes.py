"""Blocks of repeats in parallel: what comes back does not depend on how many processes there are.

A block of repeats has a random stream of its own (evalcore.replay.run), so it may run anywhere and in any
order.  Processes are spawned and told the pool and the request: measures cannot travel, and each process
makes them anew.  Linear algebra is held to one thread everywhere, in this process too: threads would compete
with the processes for the cores, and another number of threads may round differently.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import active_children, get_context

from assay.evalcore.errors import BadArgument
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.replay.prepared import Prepared, prepared
from assay.evalcore.replay.run import run_block
from assay.evalcore.replay.trace import Trace
from assay.tasks.operating_system import available_processors, interrupts_held
from assay.tasks.replay.request import ReplayRequest
from assay.tasks.replay.simulated import simulation_of

# blocks from which on the default is a process per processor: a process takes seconds to start
_WORTH_STARTING = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of one method."""

    method: str
    index: int
    repeats: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockRun:
    """The result of a block: a trace for each number."""

    traces: list[Trace]
    seconds: float


class _Runner:
    """What runs blocks in one process; the pool is cut once for each method."""

    def __init__(self, pool: LabelledPool | OutcomePool, request: ReplayRequest) -> None:
        self._pool, self._simulation = pool, simulation_of(pool, request)
        self._ready: dict[str, Prepared] = {}

    def run(self, block: Block) -> BlockRun:
        """Run a block."""
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        request, simulation = self._simulation.request, self._simulation
        method = simulation.find_method(block.method)
        if block.method not in self._ready:
            self._ready[block.method] = prepared(method, self._pool, simulation.measures, request.people)
        with threadpool_limits(limits=1):
            start = time.perf_counter()
            traces = run_block(
                method, self._ready[block.method], request.budgets, repeats=block.repeats,
                batch_size=request.batch_size, confidence=request.confidence, seed=request.seed,
                block=block.index, divergences=request.divergence,
            )
            return BlockRun(traces=traces, seconds=time.perf_counter() - start)


_here: list[_Runner] = []   # of a process that was started


def _receive(pool: LabelledPool | OutcomePool, request: ReplayRequest) -> None:
    _here[:] = [_Runner(pool, request)]


def _run(block: Block) -> BlockRun:
    return _here[0].run(block)


def run_blocks(
    pool: LabelledPool | OutcomePool, request: ReplayRequest, work: Sequence[Block],
    processes: int | None = None,
) -> Iterator[tuple[Block, BlockRun]]:
    """Every block with its result, in any order.

    processes: by default as many as there are processors, or this one alone for a few blocks.
    Raises BadArgument for less than one process.
    """
    if processes is not None and processes < 1:
        raise BadArgument("processes", f"must be at least 1, got {processes}")
    wished = processes or (available_processors() if len(work) >= _WORTH_STARTING else 1)
    workers = min(wished, len(work))
    if workers == 1:
        runner = _Runner(pool, request)
        yield from ((block, runner.run(block)) for block in work)
        return
    # spawn: forking a process that runs threads (the command line has some) can hang
    executor = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_receive, initargs=(pool, request)
    )
    before = set(active_children())
    try:
        # Ctrl-C reaches the processes of a terminal all at once: theirs is held back, and this one ends them
        with interrupts_held():
            running = {executor.submit(_run, block): block for block in work}
        for future in as_completed(running):
            yield running[future], future.result()
    except KeyboardInterrupt:
        for child in set(active_children()) - before:
            child.terminate()
        raise
    finally:
        # after an error or an interruption nothing more is started
        executor.shutdown(cancel_futures=True)
