"""The manifest of a frozen pool: which parts there are, what their columns are, and how the pool was cut.

Written last, `pool/manifest.json` commits the pool: an evaluation without one has not begun.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.evalcore.errors import BadInput
from assay.tasks.ledger import layout
from assay.tasks.ledger.record import LATER_FIELD, Ledger, get_record

OWN_COLUMNS = ("item_id", "score", "probability", "prediction", "source_file", "source_row")
PROVENANCE = ("source_file", "source_row")
FEATURE, SYSTEM = "assay.feature.", "assay.system."   # what the names of such columns begin with
CUT = "assay.cut."                                    # and of features to cut by, where FEATUREs move judges
SHOWN = "assay.shown."                                # and of what people see
CLUSTER = "assay.cluster"                             # what an item comes together with others in
WEIGHT = "assay.weight"                               # what an item counts for
STRATUM = "assay.stratum"                             # the stratum it was drawn from, as a number
CONTENDER = "assay.contender"                         # whose answer it is, or whose two it compares
RANK = "assay.rank"                                   # where a document stands in its query
PROBABILITIES = "assay.probabilities"                 # of all classes or tags, 32-bit floats in their order
PREDICTIONS = "assay.predictions"                     # of systems compared, as 16-bit codes, baseline first
PREDICTED_NUMBERS = "assay.predicted-numbers"         # the same of numbers and tags, as 64-bit floats
BY_SYSTEM = "assay.probabilities-by-system"           # what each system gives each class, 32-bit floats
JUDGES = "assay.judges"                               # what each judge says, as codes of 64 bits
BESIDE = "assay.beside"                               # covariates and the spread, as numbers of 64 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """One file of what people see of some rows of a part: the digest that names its key, and its number of
    rows."""

    file: str            # digest of its bytes, which names its key
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenPart:
    """One file of the frozen pool: the digest of its bytes, which names its key, its number of rows, the
    digest of its values, and the files of what people see of these rows."""

    file: str            # digest of its bytes, which names its key
    rows: int
    digest: str          # of its values, provenance and shown fields included
    shown: tuple[ShownFile, ...] = ()    # in the order of its rows; none where nothing is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntry:
    """One file that the pool was frozen from: its path, and how many rows were read from it."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """One source file as it was when it was read: its path, its size in bytes, and its version, by which a
    later change shows."""

    path: str
    size: int
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRead:
    """The record `pool/sources.json`: the source files as they were when the pool was read. It lies beside
    the manifest, and is never compared."""

    files: tuple[FileRead, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPiece:
    """One file of the partition: the rows of one shard of the pool, ordered by cell. Its number of rows
    includes those in no cell."""

    file: str            # digest of its bytes, which names its key
    rows: int            # of the shard, those in no cell included


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionEntry:
    """How the pool was cut into cells when it was frozen: the method it was cut for (never `auto`), the
    digest that names the keys of the partition, the number of cells, and a file for each shard."""

    method: str          # the method it was made for, never "auto"
    digest: str          # names partitions/<digest>.json and .starts; covers the pieces too
    cells: int
    pieces: tuple[CellPiece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The record `pool/manifest.json`, which commits a frozen pool: its N rows and their digest, columns,
    parts, sources, segments and partition, and the digests of labels and gold that came with it. It is
    written last."""

    evaluation: str
    rows: int                                   # N
    digest: str                                 # of the values, whatever the file format was
    columns: tuple[str, ...]                    # of every part, in order
    parts: tuple[FrozenPart, ...]
    sources: tuple[SourceEntry, ...]
    predicted: tuple[int, ...]                  # rows by predicted class or tag, in order; none of numbers
    score_range: tuple[float, float] | None     # None where the pool has no score
    segments: Mapping[str, Mapping[str, int]]   # segment -> value -> rows
    partition: PartitionEntry
    inherited: str | None   # digest of the labels it inherits from earlier evaluations; None for a cold start
    gold: str | None        # digest of the gold items; None where there are none
    outcomes: str | None = None   # digest of the labels that came by themselves; None without a source
    # digest of the labels of a sample that was there before; left out without one
    held: str | None = field(default=None, metadata={LATER_FIELD: True})
    differing: Mapping[str, int] | None = None   # system -> rows it predicts otherwise than the baseline

    @property
    def predicted_positives(self) -> int | None:
        """Rows that are predicted positive; None where the classes are of equal standing."""
        return None if self.score_range is None else self.predicted[1]

    @property
    def inherited_key(self) -> str | None:
        """The ledger key of the inherited labels; None for a cold start."""
        return None if self.inherited is None else layout.inherited(self.evaluation, self.inherited)

    @property
    def outcomes_key(self) -> str | None:
        """The ledger key of the labels that came by themselves; None without a source."""
        return None if self.outcomes is None else layout.outcomes(self.evaluation, self.outcomes)

    @property
    def held_key(self) -> str | None:
        """The ledger key of the labels of a sample that was there before; None without one. `begin` froze
        them, so nobody can exchange them afterwards."""
        return None if self.held is None else layout.held(self.evaluation, self.held)

    @property
    def gold_key(self) -> str | None:
        """The ledger key of the gold items; None where there are none."""
        return None if self.gold is None else layout.gold(self.evaluation, self.gold)

    @property
    def digests(self) -> dict[str, str]:
        """Ledger key -> digest of its bytes, of what was frozen; the partition apart."""
        frozen = dict(zip(self.part_keys, (part.file for part in self.parts), strict=True))
        frozen |= zip(self.shown_keys, (view.file for part in self.parts for view in part.shown), strict=True)
        frozen |= zip(self.piece_keys, (piece.file for piece in self.partition.pieces), strict=True)
        if self.inherited is not None:
            frozen[layout.inherited(self.evaluation, self.inherited)] = self.inherited
        if self.outcomes is not None:
            frozen[layout.outcomes(self.evaluation, self.outcomes)] = self.outcomes
        if self.held is not None:
            frozen[layout.held(self.evaluation, self.held)] = self.held
        if self.gold is not None:
            frozen[layout.gold(self.evaluation, self.gold)] = self.gold
        return frozen

    @property
    def partition_keys(self) -> tuple[str, str]:
        """The ledger keys of the partition, and of where its cells start in the pieces. Both are named by one
        digest, of the whole partition."""
        digest = self.partition.digest
        return layout.partition(self.evaluation, digest), layout.partition_starts(self.evaluation, digest)

    @property
    def piece_keys(self) -> list[str]:
        """The ledger keys of the rows of the cells, by shard."""
        return [
            layout.partition_rows(self.evaluation, n, piece.file)
            for n, piece in enumerate(self.partition.pieces)
        ]

    @property
    def shown_keys(self) -> list[str]:
        """The ledger keys of what people see, in the order of the rows."""
        return [
            layout.pool_shown(self.evaluation, n, i, view.file)
            for n, part in enumerate(self.parts) for i, view in enumerate(part.shown)
        ]

    @property
    def segment_names(self) -> list[str]:
        """The names of the pool's segments, in the order of the spec."""
        return segment_columns(self.columns)

    @property
    def part_keys(self) -> list[str]:
        """The ledger keys of the parts of the pool, in order, one for each file of values. A value of an item
        is read from its part alone."""
        return [layout.pool_part(self.evaluation, n, part.file) for n, part in enumerate(self.parts)]


def system_columns(systems: Iterable[str] | None) -> list[str]:
    """The columns of a part that hold the predictions of further systems, in the order of these names; none
    for None. The first system's predictions have a column of their own."""
    return [SYSTEM + name for name in systems or ()]


def segment_columns(columns: Sequence[str]) -> list[str]:
    """Those of a part's columns that are segments: all but the ones with a fixed name (`item_id`, `score`
    and so on) or with a name that begins with `assay.`"""
    return [name for name in columns if name not in OWN_COLUMNS and not name.startswith("assay.")]


def partition_digest(text: bytes, starts: bytes, pieces: Sequence[CellPiece]) -> str:
    """What names a partition: of its JSON, of where its cells start, and of the rows that they hold. 32
    hexadecimal digits, the first half of a SHA-256."""
    rows = "".join(f"{piece.file} {piece.rows}\n" for piece in pieces)
    digests = (hashlib.sha256(blob).digest() for blob in (text, starts, rows.encode()))
    return hashlib.sha256(b"".join(digests)).hexdigest()[:32]


def load_manifest(ledger: Ledger) -> Manifest:
    """The manifest of a frozen pool.

    Raises KeyMissing if nothing was frozen, DamagedRecord, and BadInput where an earlier version froze it.
    """
    manifest = get_record(ledger, layout.manifest(ledger.name), Manifest)
    if "shown_hash" in manifest.columns:
        raise BadInput(
            f"{ledger.name}: its pool was frozen by an earlier version of Assay, which did not keep what "
            "people see; go on with that version, or begin a new evaluation"
        )
    return manifest
