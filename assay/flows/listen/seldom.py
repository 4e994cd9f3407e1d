"""Lines of a log that anybody can cause, one a minute of a kind: a flood of requests fills no disk.

The first line of a kind is written as it is.  Those that follow within a minute are counted, and the next one
that is written says how many there were.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from assay.evalcore.errors import AssayError

MINUTE = 60.0     # seconds
MOST_KINDS = 256  # that are told apart; all further ones are one kind


class Seldom(logging.Filter):
    """Lets one record a minute through, of each message and place in the code."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[object, tuple[float, int]] = {}    # kind -> when it was last written, others since

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written to the log: the first of its kind (logger, level and line of code)
        within a minute. The others are counted, and the next one that is written says how many there
        were."""
        kind: object = (record.name, record.levelno, record.pathname, record.lineno)
        if kind not in self._seen and len(self._seen) >= MOST_KINDS:
            kind = None
        moment = self._clock()
        last_time, repeats = self._seen.get(kind, (moment - MINUTE, 0))
        if moment - last_time < MINUTE:
            self._seen[kind] = last_time, repeats + 1
            return False
        self._seen[kind] = moment, 0
        if repeats:
            record.msg, record.args = f"{record.getMessage()} (and {repeats} more like it)", ()
        return True


@contextmanager
def seldom(*names: str) -> Iterator[None]:
    """In this context the loggers of these names write one line a minute of a kind. What is left out is
    counted, and the next line says how much it was."""
    rare = Seldom()
    for name in names:
        logging.getLogger(name).addFilter(rare)
    try:
        yield
    finally:
        for name in names:
            logging.getLogger(name).removeFilter(rare)


def out_of_order(error: AssayError) -> str:
    """What a program or a browser elsewhere is told where the ledger cannot be read or written: no address
    and no key, for those are the log's."""
    logging.getLogger("assay.listen").error("%s", error)
    return "the ledger cannot be used now; try again later, and see the log of `assay listen`"
