"""Wakes: hints that an evaluation may have something to do become calls of `advance`.

Hints that arrive together cause one call, a moment after the first of them. An evaluation is never advanced
twice at the same time. A hint that arrives while it is being advanced causes another call afterwards. So the
last hint of a burst is always followed by a look at the desk. Between two looks is a gap of twice the time
that the first took, and at most `gap` seconds: a desk is read a third of the time at most, and people who
have given their last answer wait no longer for the next batch than that takes.
"""

import logging
import threading
import time
from collections.abc import Callable

from assay.evalcore.errors import AssayError

GAPS = 2.0   # the gap after a look, in times that it took

_log = logging.getLogger("assay.listen")


class Wakes:
    """Threads that advance the evaluations named in hints. A context manager.

    advance   called with the name; what it raises is logged, for the next hint or sweep tries again
    most      names that may wait at the same time
    delay     seconds between a hint and the look at the desk
    gap       seconds between two looks at the same desk, at most
    """

    def __init__(
        self, advance: Callable[[str], object], *, workers: int = 2, most: int = 1000, delay: float = 0.2,
        gap: float = 2.0, clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._advance, self._most, self._delay, self._gap, self._clock = advance, most, delay, gap, clock
        self._changed = threading.Condition()
        self._due: dict[str, float] = {}         # name -> when
        self._running: set[str] = set()
        self._rests: dict[str, float] = {}       # name -> until when it is not advanced again
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._work, name=f"wake-{i}", daemon=True) for i in range(workers)
        ]

    def hint(self, name: str) -> bool:
        """Advance this evaluation soon; False if too many wait already."""
        with self._changed:
            if name in self._due:
                return True
            if len(self._due) >= self._most:
                return False
            now = self._clock()
            self._due[name] = max(now + self._delay, self._rests.get(name, now))
            self._changed.notify()
            return True

    @property
    def waiting(self) -> int:
        """How many evaluations wait to be advanced, or are being."""
        with self._changed:
            return len(self._due) + len(self._running)

    def __enter__(self) -> "Wakes":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Finish what runs, and drop what waits: these were only hints."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (name := self._next()) is not None:
            began = self._clock()
            try:
                self._advance(name)
            except AssayError as error:
                _log.warning("%s: %s", name, error)
            except Exception:
                _log.exception("%s: unexpected error", name)
            with self._changed:
                self._running.discard(name)
                now = self._clock()
                until = now + min(self._gap, GAPS * (now - began))
                self._rests = {n: at for n, at in self._rests.items() if at > now} | {name: until}
                if name in self._due:
                    self._due[name] = max(self._due[name], until)
                self._changed.notify_all()

    def _next(self) -> str | None:
        """Wait for the next name that is due, and return it; None when it is time to stop."""
        with self._changed:
            while not self._stopping:
                ready = [(at, name) for name, at in self._due.items() if name not in self._running]
                now = self._clock()
                if ready and min(ready)[0] <= now:
                    name = min(ready)[1]
                    del self._due[name]
                    self._running.add(name)
                    return name
                self._changed.wait(min(ready)[0] - now if ready else None)
            return None
