"""Work on workers: in order, errors as they are, deaths made good."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager

import pytest
from doubles.dying import DyingWork, double

from assay.evalcore.errors import BadArgument, BadInput
from assay.flows.workers.chosen import Processes, Threads
from assay.flows.workers.mapped import OnWorkers, Started, Workers, WorkersDied
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool.shards import stopping
from assay.tasks.settings import Runner


class Lost(Exception):
    """A worker died."""


class Fragile(Workers):
    """Workers that die with whoever does a piece for the first time, as often as told."""

    word = "fragile"
    other_processes = False

    def __init__(self, deaths: dict[int, int]) -> None:
        self.deaths, self.starts, self.ends = deaths, 0, 0

    @contextmanager
    def started(self) -> Iterator[Started]:
        """See Workers.started."""
        self.starts += 1
        broken = False

        def submit(function, work, one) -> Future:
            nonlocal broken
            future: Future = Future()
            if self.deaths.get(one, 0):
                self.deaths[one] -= 1
                broken = True
            if broken:
                future.set_exception(Lost("gone"))
            else:
                future.set_result(function(work, one))
            return future

        try:
            yield Started(submit, (Lost,))
        finally:
            self.ends += 1


@pytest.mark.parametrize(
    ("deaths", "starts"),
    # whoever takes work after a death in the same pool is lost as well, and each of the 5 dies once a start
    [({}, 1), ({0: 1}, 2), ({3: 2}, 3), ({0: 2, 1: 2, 2: 2, 3: 2, 4: 2}, 3)],
)
def test_every_piece_is_done_once_in_order_whoever_dies(deaths, starts):
    workers = Fragile(dict(deaths))
    with closing(OnWorkers(workers)) as mapped:
        assert list(mapped(double, range(5))) == [0, 2, 4, 6, 8]
        assert list(mapped(double, range(3))) == [0, 2, 4]        # by those who are there
    assert workers.starts == workers.ends == starts


def test_workers_that_die_three_times_without_a_result_are_an_error():
    with pytest.raises(WorkersDied, match=r"died 3 times in a row .*Lost: gone.*too little memory"):
        list(OnWorkers(Fragile({2: 4}))(double, range(5)))


def refusing(number: int) -> int:
    """Refuses odd numbers."""
    if number % 2:
        raise BadArgument("number", f"{number} is odd")
    return number


def test_the_first_error_is_raised_as_it_is_and_the_workers_go_home():
    workers = Fragile({})
    found = []
    with pytest.raises(BadArgument, match="number: 3 is odd"):
        found.extend(OnWorkers(workers)(refusing, [0, 2, 3, 5]))
    assert workers.ends == 1


def test_whoever_stops_early_sends_the_workers_home():
    workers = Fragile({})
    with stopping(OnWorkers(workers)(double, range(5))) as results:
        assert next(results) == 0
    assert workers.ends == 1


def test_threads():
    with closing(OnWorkers(Threads(Runner("threads", workers=3)))) as mapped:
        assert list(mapped(double, range(9))) == [2 * i for i in range(9)]
        with pytest.raises(BadArgument, match="1 is odd"):
            list(mapped(refusing, range(9)))
        assert list(mapped(double, range(9))) == [2 * i for i in range(9)]


def test_one_piece_is_not_worth_a_worker():
    workers = Fragile({})
    assert [*OnWorkers(workers)(double, [4]), *OnWorkers(workers)(double, [])] == [8]
    assert workers.starts == 0


def test_a_process_that_is_killed_is_replaced(tmp_path):
    work = DyingWork(double, str(tmp_path), at=1, times=2)
    with closing(OnWorkers(Processes(Runner("processes", workers=2)))) as mapped:
        assert list(mapped(work, range(4))) == [0, 2, 4, 6]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_store_in_memory_cannot_travel():
    with pytest.raises(BadInput, match="other processes cannot reach 'memory'"):
        list(OnWorkers(Processes(Runner("processes", workers=2)))(Travelling(MemoryStore()), range(4)))
