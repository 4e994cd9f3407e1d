"""What an importer is: it recognises the format of a place by its content, and makes a pool of it.

Each is declared in a file of its own and listed in `registry`. One of logs says how to read responses, one
of tables how to read rows; what becomes of them is the same for all.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import ClassVar, TypeVar

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.records import Layout, Notes, SystemResponse, Written
from assay.tasks.connectors.responses.write import write_responses
from assay.tasks.connectors.tables import write_table
from assay.tasks.secrets import refuse_secrets
from assay.tasks.sources.files.file import hidden

# A place: what somebody named on the command line, a local file, a local folder, or an address. It gives an
# importer the first bytes of a file and the names in a folder, without reading more.

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_START = 1 << 16     # bytes; every log says what it is within them


@dataclass(frozen=True)
class Place:
    """A file, a folder, or an address such as hf://user/name."""

    given: str

    @property
    def path(self) -> Path:
        """On the local disk; of an address it has no meaning."""
        return Path(self.given)

    @property
    def is_address(self) -> bool:
        """Whether it is no local path."""
        return _ADDRESS.match(self.given) is not None and not self.path.exists()

    @property
    def is_folder(self) -> bool:
        """Whether it is a local folder."""
        return not self.is_address and self.path.is_dir()

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of what is directly in a folder; none of anything else."""
        return frozenset(inside.name for inside in self.path.iterdir()) if self.is_folder else frozenset()

    @cached_property
    def start(self) -> bytes:
        """The first bytes of a file, at most 64 kB; none of anything else.

        Raises BadInput for a file that cannot be read.
        """
        if self.is_address or self.is_folder:
            return b""
        try:
            with self.path.open("rb") as opened:
                return opened.read(_START)
        except OSError as error:
            raise BadInput(f"{self.given}: cannot be read: {error.strerror}") from None


def place_of(given: str) -> Place:
    """Raises BadInput for a local path where there is no regular file or folder, and for an address that
    holds a secret."""
    refuse_secrets(given, "what is to be imported")
    place = Place(given)
    if not place.is_address and not (place.path.is_file() or place.path.is_dir()):
        raise BadInput(f"{given}: there is no such file or folder")
    return place


def files_below(folder: Place) -> Sequence[Place]:
    """Every file below a folder, sorted by path; not those whose names begin with a dot or an underscore."""
    inside = (path for path in folder.path.rglob("*") if path.is_file())
    kept = (path for path in inside if not hidden(path.relative_to(folder.path).as_posix()))
    return [Place(str(path)) for path in sorted(kept)]


# The error for a record of a log that is not as its tool writes them.

# what taking apart a value of another kind than expected raises, a number that is too large included
_UNEXPECTED = (
    KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, EOFError,
    NotImplementedError,
)
_LONGEST = 200      # characters of what an error says


@contextmanager
def read_as(place: Place, record: str, written: str, whole: str = "file") -> Iterator[None]:
    """While a record is taken apart, whatever it lacks is BadInput.

    record: which one, for people; written: "MLflow writes traces"; whole: what the place is called
    """
    try:
        yield
    except _UNEXPECTED as error:
        says = str(error).encode(errors="backslashreplace").decode()[:_LONGEST]
        raise BadInput(
            f"{place.given}: {record} is not as {written} ({type(error).__name__}: {says}); "
            f"is the {whole} sound?"
        ) from None


# The importers of logs and of tables.

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
    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
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
