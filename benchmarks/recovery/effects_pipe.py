"""The effects of another process, read from a named pipe while they happen (tasks.effects)."""

import os
import select
from pathlib import Path


class Follower:
    """Makes the pipe, and reads what is written into it; `lines` are all that came."""

    def __init__(self, pipe: Path) -> None:
        os.mkfifo(pipe)
        self.lines: list[str] = []
        self._path = pipe
        self._pipe = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)   # RDWR: no end of file between two writers
        self._rest = b""

    def read(self, timeout: float) -> list[str]:
        """The lines that have come, after waiting for some for at most `timeout` seconds."""
        new: list[str] = []
        while select.select([self._pipe], [], [], timeout if not new else 0)[0]:
            blob = self._rest + os.read(self._pipe, 65536)
            *lines, self._rest = blob.split(b"\n")
            new += [line.decode() for line in lines]
        self.lines += new
        return new

    def close(self) -> None:
        """The pipe is gone."""
        os.close(self._pipe)
        self._path.unlink()
