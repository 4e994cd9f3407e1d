"""Responses on the disk, between the pass that looks at them and the one that writes the pool."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from types import TracebackType
from typing import BinaryIO

from assay.tasks.connectors.response import Response


class Spool:
    """A temporary file, a response a line."""

    def __init__(self) -> None:
        self._file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__)

    def __enter__(self) -> "Spool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, response: Response) -> None:
        """Keep a response."""
        # half a surrogate pair is legal JSON and no text: "\\ud800" becomes a question mark
        line = json.dumps(asdict(response), ensure_ascii=False).encode("utf-8", "replace")
        self._file.write(line + b"\n")

    def at(self, place: int) -> Response:
        """The response that was added there."""
        self._file.seek(place)
        return Response(**json.loads(self._file.readline()))

    def __iter__(self) -> Iterator[Response]:
        """All of them, as they were added."""
        return (response for _, response in self.places())

    def places(self) -> Iterator[tuple[int, Response]]:
        """The same, each with its place. Nothing else may be read meanwhile."""
        self._file.seek(0)
        place = 0
        for line in self._file:
            yield place, Response(**json.loads(line))
            place += len(line)
