"""With several processes (`-n`): which files of tests go to one of them, which go first, and who compiles.

The files that use Label Studio or Prefect go to one process, and those that use S3 alone to one: each server
starts once, and no two compete for the processors. The many short files of tests/unit come last, so that the
processes end together.
"""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

ROOT = Path(__file__).parents[2]
FIXTURES = {        # a piece of files -> the fixtures, any of which they ask for
    "the files that use a server": {"label_studio", "label_studio_api", "prefect_api", "in_prefect"},
    "the files that use S3": {"s3"},
}
ORDER = (*FIXTURES, "tests/end_to_end/", "tests/recovery/", "tests/statistical/", "tests/")
LAST = "tests/unit/"


class LongFirst(LoadFileScheduling):
    """As `--dist loadfile`, but the files with a server are one piece, and long files come first."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return piece_of(file) or file

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=_place), last=False)
        super()._assign_work_unit(node)


def _place(piece: str) -> int:
    if piece.startswith(LAST):
        return len(ORDER)
    return next(i for i, beginning in enumerate(ORDER) if piece.startswith(beginning))


@cache
def piece_of(file: str) -> str | None:
    """The piece of files that a file belongs to: a test or fixture of it asks for a server, by any name."""
    if file.startswith(LAST):
        return None
    asked = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        match node:
            case ast.arg(arg=name):
                asked.add(name)
            case ast.Call(func=ast.Attribute(attr="getfixturevalue"), args=[ast.Constant(value=name)]):
                asked.add(name)
    return next((piece for piece, fixtures in FIXTURES.items() if fixtures & asked), None)


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
