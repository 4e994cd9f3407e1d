"""What somebody named on the command line: a local file, a local folder, or an address.

Formats are recognised by content, so a place gives an importer the first bytes of a file and the names in a
folder, without reading more.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.evalcore.errors import BadInput
from assay.tasks.addresses import refuse_secrets
from assay.tasks.sources.files.names import hidden

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
