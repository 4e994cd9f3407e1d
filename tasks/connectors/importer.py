"""What an importer is: it recognises a format by its content, and makes a pool of it.

Each is declared in a file of its own and listed in `registry`. One of logs says how to read responses, one
of tables how to read rows; what becomes of them is the same for all.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar, TypeVar

import pyarrow as pa

from assay.tasks.connectors.notes import Notes
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.response import Response
from assay.tasks.connectors.responses.write import write_responses
from assay.tasks.connectors.tables import write_table
from assay.tasks.connectors.unexpected import read_as
from assay.tasks.connectors.written import Layout, Written

_Read = TypeVar("_Read")


class Importer(ABC):
    """A format of another tool."""

    name: ClassVar[str]      # what --format says
    reads: ClassVar[str]     # "logs of Inspect (.eval or .json)"

    @abstractmethod
    def fits(self, place: Place) -> bool:
        """Whether a place has this format, by its content, cheaply; a folder only if it is one thing as a
        whole. Raises BadInput for a file that cannot be read."""

    @abstractmethod
    def write(self, places: Sequence[Place], to: Path, layout: Layout | None, notes: Notes) -> Written:
        """Write a pool. Raises BadInput naming the file and what is wrong with it."""

    def _as_read(
        self, read: Callable[[Place, Notes], Iterator[_Read]], place: Place, notes: Notes
    ) -> Iterator[_Read]:
        """What is read of a place; whatever is not as the tool writes it is BadInput."""
        with read_as(place, "something in it", f"it is in {self.reads}"):
            yield from read(place, notes)


class LogImporter(Importer):
    """A format that holds responses of systems."""

    @abstractmethod
    def responses(self, place: Place, notes: Notes) -> Iterator[Response]:
        """Every response of one place, in its order; as few as possible at a time in memory.

        Raises BadInput naming the file, the line or entry, and what is wrong with it.
        """

    def write(self, places: Sequence[Place], to: Path, layout: Layout | None, notes: Notes) -> Written:
        """Write a pool of all places."""
        found = chain.from_iterable(self._as_read(self.responses, place, notes) for place in places)
        return write_responses(found, to, layout, notes)


class TableImporter(Importer):
    """A format that holds rows, whose columns are taken as they are."""

    @abstractmethod
    def batches(self, place: Place, notes: Notes) -> Iterator[pa.RecordBatch]:
        """Rows of one place, some thousands at a time. Raises BadInput as `responses` does."""

    def write(self, places: Sequence[Place], to: Path, layout: Layout | None, notes: Notes) -> Written:
        """Write the rows of all places."""
        found = chain.from_iterable(self._as_read(self.batches, place, notes) for place in places)
        return write_table(found, to)
