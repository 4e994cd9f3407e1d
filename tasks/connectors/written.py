"""A pool that was written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# a row for each response, or a row for each question with the responses of all systems side by side
Layout = Literal["responses", "questions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The file, and the spec to start from."""

    path: Path
    rows: int
    columns: tuple[str, ...]
    systems: tuple[str, ...] = ()
    spec: str | None = None     # YAML; None where `assay doctor` is to suggest one
