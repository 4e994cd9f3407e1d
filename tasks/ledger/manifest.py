"""The manifest of a frozen pool: which parts there are, what their columns are, and how the pool was cut.

Written last, `pool/manifest.json` commits the pool: an evaluation without one has not begun.
"""

import hashlib
from collections.abc import Iterable, Sequence

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.owner import Ledger

PROVENANCE = ("source_file", "source_row")
FEATURE, SYSTEM = "assay.feature.", "assay.system."   # what the names of such columns begin with


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(_Record):
    """One frozen file."""

    name: str            # part-00000-<digest>.parquet, below <evaluation>/pool/
    rows: int
    digest: str          # of its values, provenance included


class SourceEntry(_Record):
    """One file that was read."""

    path: str
    rows: int


class PartitionEntry(_Record):
    """The cut that was made when the pool was frozen."""

    method: str          # the method it was made for, never "auto"
    digest: str          # names partitions/<digest>.json and .rows
    cells: int


class Manifest(_Record):
    """The summary that commits a frozen pool."""

    evaluation: str
    rows: int                                   # N
    digest: str                                 # of the values, whatever the file format was
    columns: tuple[str, ...]                    # of every part, in order
    parts: tuple[Part, ...]
    sources: tuple[SourceEntry, ...]
    predicted_positives: int
    score_range: tuple[float, float]
    segments: dict[str, dict[str, int]]         # segment -> value -> rows
    partition: PartitionEntry
    inherited: str | None = None                # inherited-<digest>.parquet: labels of earlier evaluations
    gold: str | None = None                     # digest that names the gold items, where there are any

    @property
    def inherited_key(self) -> str | None:
        """The ledger key of the inherited labels; None for a cold start."""
        return None if self.inherited is None else f"{self.evaluation}/{self.inherited}"

    @property
    def segment_names(self) -> list[str]:
        """The segments, in the order of the spec."""
        return segment_columns(self.columns)

    @property
    def cut_columns(self) -> list[str]:
        """The parts' columns of features and further systems, which decide cells and nothing later."""
        return [name for name in self.columns if name.startswith((FEATURE, SYSTEM))]

    @property
    def part_keys(self) -> list[str]:
        """The ledger keys of the parts, in order."""
        folder = layout.manifest(self.evaluation).removesuffix("manifest.json")
        return [folder + part.name for part in self.parts]


def feature_columns(features: Sequence[str] | None) -> list[str]:
    """What a part calls its features: a column may be a feature and a segment."""
    return [FEATURE + name for name in features or ()]


def system_columns(systems: Iterable[str] | None) -> list[str]:
    """What a part calls the predictions of further systems."""
    return [SYSTEM + name for name in systems or ()]


def schema(
    segments: Sequence[str], features: Sequence[str] | None = None, systems: Iterable[str] | None = None
) -> pa.Schema:
    """The columns of every part."""
    return pa.schema(
        [
            ("item_id", pa.string()),
            ("score", pa.float64()),
            ("probability", pa.float64()),
            ("prediction", pa.int8()),
            *((name, pa.string()) for name in segments),
            *((name, pa.float64()) for name in feature_columns(features)),
            *((name, pa.int8()) for name in system_columns(systems)),
            ("source_file", pa.int32()),
            ("source_row", pa.int64()),
            ("shown_hash", pa.string()),
        ]
    )


def segment_columns(columns: Sequence[str]) -> list[str]:
    """Of a part's columns, the segments."""
    own = set(schema([]).names)
    return [name for name in columns if name not in own and not name.startswith((FEATURE, SYSTEM))]


def partition_digest(text: bytes, rows: bytes) -> str:
    """What names a partition: of its JSON, and of the rows of its cells."""
    return hashlib.sha256(text + hashlib.sha256(rows).digest()).hexdigest()[:32]


def load_manifest(ledger: Ledger) -> Manifest:
    """The manifest of a frozen pool. KeyMissing if nothing was frozen, DamagedRecord if it makes no sense."""
    key = layout.manifest(ledger.name)
    return manifest_from(ledger.get(key), key)


def manifest_from(blob: bytes, key: str) -> Manifest:
    """A manifest from its bytes."""
    try:
        return Manifest.model_validate(codec.from_json(blob, key))
    except ValidationError as error:
        first = error.errors()[0]
        raise damaged(key, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def damaged(key: str, reason: str) -> DamagedRecord:
    return DamagedRecord(f"{key}: damaged: {reason}; restore this key from a copy of the ledger")
