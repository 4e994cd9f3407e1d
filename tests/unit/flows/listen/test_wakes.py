"""Hints become few calls, soon, and never two at once for the same evaluation."""

import threading
import time
from contextlib import contextmanager
from itertools import pairwise

import pytest

from assay.evalcore.errors import AssayError
from assay.flows.listen.receiver import Wakes

WAIT = 150.0   # seconds; for what takes milliseconds on an idle machine


class Advance:
    """Notes who was advanced and when; can be made to wait, to take time, and to fail."""

    def __init__(self, takes=0.0):
        self.calls, self.at_once, self.most_at_once, self.takes = [], {}, 0, takes
        self.gate = threading.Event()
        self.gate.set()
        self.fails = []
        self._lock = threading.Lock()

    def __call__(self, name):
        with self._lock:
            self.calls.append((name, time.monotonic()))
            self.at_once[name] = self.at_once.get(name, 0) + 1
            self.most_at_once = max(self.most_at_once, self.at_once[name])
        self.gate.wait(WAIT)
        time.sleep(self.takes)
        with self._lock:
            self.at_once[name] -= 1
            if self.fails:
                raise self.fails.pop()

    def names(self):
        return [name for name, _ in self.calls]


@contextmanager
def running(advance, **more):
    with Wakes(advance, **{"delay": 0.0, "gap": 0.0, **more}) as wakes:
        yield wakes


def until(true):
    give_up = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < give_up, "nothing happened"
        time.sleep(0.005)


def test_a_burst_of_hints_is_one_call():
    advance = Advance()
    with running(advance, delay=0.5) as wakes:
        assert all(wakes.hint("a") for _ in range(100))
        until(lambda: wakes.waiting == 0)
    assert advance.names() == ["a"]


def test_a_hint_while_it_runs_makes_it_go_again_once_and_never_twice_at_a_time():
    advance = Advance()
    advance.gate.clear()
    with running(advance, workers=4) as wakes:
        wakes.hint("a")
        until(lambda: advance.names() == ["a"])
        for _ in range(10):
            wakes.hint("a")
        assert wakes.waiting == 2
        advance.gate.set()
        until(lambda: wakes.waiting == 0)
    assert advance.names() == ["a", "a"]
    assert advance.most_at_once == 1


def test_a_slow_evaluation_holds_no_other_up():
    advance = Advance()
    advance.gate.clear()
    with running(advance) as wakes:
        wakes.hint("slow")
        wakes.hint("b")
        until(lambda: set(advance.names()) == {"slow", "b"})
        advance.gate.set()


@pytest.mark.parametrize(("gap", "apart"), [(60.0, 0.3), (0.15, 0.25)])
def test_a_desk_is_read_a_third_of_the_time_at_most_and_the_last_hint_is_followed_by_a_look(gap, apart):
    # a look takes 0.1 s, and the gap after it twice that, or what is asked for where that is less
    advance = Advance(takes=0.1)
    with running(advance, gap=gap) as wakes:
        first = time.monotonic()
        for _ in range(30):
            wakes.hint("a")
            time.sleep(0.02)
        last = time.monotonic()
        until(lambda: wakes.waiting == 0)
    moments = [at for _, at in advance.calls]
    assert all(b - a >= apart for a, b in pairwise(moments))
    assert 2 <= len(moments) <= (last - first) / apart + 2   # one at once, one at the end, and those between
    assert moments[-1] >= last - 0.02


def test_what_fails_is_tried_at_the_next_hint_and_ends_no_thread(caplog):
    advance = Advance()
    advance.fails = [AssayError("no such project"), ValueError("a mistake")]
    with running(advance, workers=1) as wakes:
        for count in (1, 2, 3):
            wakes.hint("a")
            until(lambda count=count: len(advance.calls) == count and wakes.waiting == 0)
    assert "no such project" in caplog.text
    assert "a mistake" in caplog.text


def test_only_so_many_may_wait():
    advance = Advance()
    advance.gate.clear()
    with running(advance, workers=1, most=2) as wakes:
        wakes.hint("a")
        until(lambda: advance.names() == ["a"])
        assert [wakes.hint(name) for name in ("b", "c", "d", "b")] == [True, True, False, True]
        advance.gate.set()
        until(lambda: wakes.waiting == 0)
        assert wakes.hint("d")
        until(lambda: "d" in advance.names())


def test_stopping_drops_what_waits():
    advance = Advance()
    with running(advance, workers=1, delay=60.0) as wakes:
        wakes.hint("a")
    assert advance.calls == []
