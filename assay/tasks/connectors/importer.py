"""What an importer is: it recognises the format of a place by its keys, and makes a pool of it.

Each is declared in a file of its own and listed in `registry`.  One of logs says where the parts of a
response stand (`shapes`); what becomes of them is the same for all.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, TypeVar

from assay.tasks.connectors.place import Place, read_as
from assay.tasks.connectors.records import Layout, LogEntry, Notes, SystemResponse, Written
from assay.tasks.connectors.responses.layouts import write_responses
from assay.tasks.connectors.shapes import Shape

_Read = TypeVar("_Read")


class Importer(ABC):
    """A format of another tool: its name for `--format`, what it reads in words, and the keys by which a
    place of this format is recognised. An importer writes a pool of the places it fits."""

    name: ClassVar[str]                      # what --format says
    reads: ClassVar[str]                     # "logs of Inspect (.eval or .json)"
    marks: ClassVar[tuple[str, ...]] = ()    # keys that a place of the format has, all of one of these

    def fits(self, place: Place) -> bool:
        """Whether a place has this format, by its content, cheaply; a folder only if it is one thing as a
        whole. Raises BadInput for a file that cannot be read."""
        return any(place.keys >= set(mark.split()) for mark in self.marks)

    @abstractmethod
    def write(self, places: Sequence[Place], to: Path, layout: Layout | None, notes: Notes) -> Written:
        """Write a pool. Raises BadInput naming the file and what is wrong with it."""

    def guarded(self, place: Place, inside: Iterable[_Read]) -> Iterator[_Read]:
        """What is read of a place, one after the other; whatever it lacks is BadInput naming the place."""
        with read_as(place, "something in it", f"it is in {self.reads}"):
            yield from inside


class LogImporter(Importer):
    """A format that holds responses of systems, one in each record."""

    shape: ClassVar[Shape]
    record: ClassVar[str] = "entry"               # what a record is called in messages
    written: ClassVar[str] = ""                   # "Inspect writes samples"
    lost: ClassVar[str] = "entries that ended in an error, or without a response"
    counts_repeats: ClassVar[bool] = False        # whether the same response again is another one

    def records(self, place: Place, notes: Notes) -> Iterator[LogEntry]:
        """The records of a place, in its order; as few as possible at a time in memory."""
        return place.values()

    def response(self, record: LogEntry, notes: Notes) -> SystemResponse | None:
        """The response in a record; None where there is none."""
        return self.shape.response_of(record, notes)

    def record_name(self, number: int, record: LogEntry) -> str:
        """A record in messages."""
        return f"{self.record} {number:,}"

    def lost_name(self, record: LogEntry) -> str:
        """What is counted as a record without a response, in the plural."""
        return self.lost

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Every response of one place. Raises BadInput naming the file, the record, and what is wrong."""
        times: Counter[tuple[str | None, ...]] = Counter()
        for number, record in enumerate(self.records(place, notes), 1):
            with read_as(place, self.record_name(number, record), self.written or f"it is in {self.reads}"):
                response = self.response(record, notes)
            if response is None:
                notes.leave_out(self.lost_name(record))
                continue
            if self.counts_repeats:
                question_key = (response.question_id, response.system, response.question)
                times[question_key] += 1
                response = replace(response, repeat=times[question_key])
            yield response

    def files(self, places: Sequence[Place], notes: Notes) -> Iterator[tuple[str, Iterator[SystemResponse]]]:
        """Pairs of an address and an iterator over the responses there, place by place, in the order of the
        places."""
        for place in places:
            yield place.address, self.guarded(place, self.responses(place, notes))

    def write(self, places: Sequence[Place], to: Path, layout: Layout | None, notes: Notes) -> Written:
        """The pool of the responses of all places, written to the given path. Raises BadInput naming the
        file and what is wrong with it."""
        origin = ", ".join(place.address for place in places[:3]) + (", ..." if len(places) > 3 else "")
        return write_responses(origin, self.files(places, notes), to, layout, notes)
