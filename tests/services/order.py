"""With several processes (`-n`): which files of tests go to one of them, which go first, and who compiles.

The files that use Label Studio or Prefect go to one process: each server starts once, and no two compete for
the processors. The many short files of tests/unit come last, so that the processes end together.
"""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

ROOT = Path(__file__).parents[2]
FIXTURES = frozenset({"label_studio", "label_studio_api", "prefect_api", "in_prefect"})   # servers
TOGETHER = "the files that use a server"
ORDER = (TOGETHER, "tests/end_to_end/", "tests/recovery/", "tests/statistical/", "tests/")
LAST = "tests/unit/"


class LongFirst(LoadFileScheduling):
    """As `--dist loadfile`, but the files with a server are one piece, and long files come first."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return TOGETHER if uses_a_server(file) else file

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=_place), last=False)
        super()._assign_work_unit(node)


def _place(piece: str) -> int:
    if piece.startswith(LAST):
        return len(ORDER)
    return next(i for i, beginning in enumerate(ORDER) if piece.startswith(beginning))


@cache
def uses_a_server(file: str) -> bool:
    """Whether a test or fixture of this file asks for the fixture of a server, by argument or by name."""
    if file.startswith(LAST):
        return False
    asked = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        match node:
            case ast.arg(arg=name):
                asked.add(name)
            case ast.Call(func=ast.Attribute(attr="getfixturevalue"), args=[ast.Constant(value=name)]):
                asked.add(name)
    return bool(FIXTURES & asked)


@contextmanager
def first_alone() -> Iterator[None]:
    """The first process to come goes on alone; the others wait until it is done, and then go on together.

    Where nothing is compiled yet, each process would compile all modules that tests import: 16 s of 25.
    """
    try:
        import fcntl
    except ImportError:     # not on Windows
        yield
        return
    with Path(__file__).open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)
            fcntl.flock(lock, fcntl.LOCK_UN)
        yield
