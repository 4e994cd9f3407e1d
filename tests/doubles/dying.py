"""Work that kills the process it runs in: importable, so that it can travel to workers."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class DyingWork:
    """Does some work; the first `times` that it comes to the piece `at`, the process is killed instead."""

    work: Callable[[Any], Any]
    folder: str       # where deaths are counted
    at: int
    times: int = 1

    def __call__(self, one: Any) -> Any:
        if getattr(one, "number", one) == self.at:
            for death in range(self.times):
                try:
                    Path(self.folder, f"death-{death}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return self.work(one)


def double(number: int) -> int:
    """A small piece of work."""
    return 2 * number
