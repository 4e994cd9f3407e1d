"""One pass over a window's predictions, before anything is frozen: for signals, and to see changes.

The digest of the content does not depend on how the rows are split into files or batches, only on the rows in
their order; so predictions that were rewritten without a change are the same window.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.signals import Traffic
from assay.evalcore.types import Array
from assay.tasks.ledger import codec
from assay.tasks.ledger.manifest import load_manifest
from assay.tasks.ledger.owner import Ledger
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.pool.frozen import frozen_parts
from assay.tasks.sources.reader import open_source
from assay.tasks.spec.evaluation import Spec

_NUMBERS = ("score", "probability", "prediction")


class NoRows(BadInput):
    """The files of a window hold no prediction."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowTraffic:
    """A window's predictions as they are now."""

    traffic: Traffic
    content: str     # digest of the rows
    files: str       # digest of the files' names, sizes and versions
    rows: int


def files_digest(spec: Spec) -> str:
    """What changes when a file of the source does. Raises NoFile when there is none."""
    files = [[file.path, file.size, file.version] for file in open_source(spec.pool.source).files]
    return hashlib.sha256(codec.to_json(files)).hexdigest()


def read_traffic(spec: Spec) -> WindowTraffic:
    """Read and check every row once. Raises NoFile, NoRows, or BadInput as freezing would."""
    files = files_digest(spec)
    source = open_source(spec.pool.source)
    checker = RowChecker(spec, [file.path for file in source.files])
    digests = {name: hashlib.sha256() for name in ("item_id", "shown_hash", *spec.pool.segments, *_NUMBERS)}
    numbers: dict[str, list[Array]] = {name: [] for name in _NUMBERS}
    rows = 0
    for batch in source.batches(checker.columns):
        checked = checker.check(batch)
        rows += checked.num_rows
        for name, digest in digests.items():
            column = checked.column(checked.schema.get_field_index(name))
            digest.update(_bytes(column))
            if name in numbers:
                numbers[name].append(np.asarray(column))
    if not rows:
        raise NoRows(f"pool.source: {spec.pool.source}: no rows; an empty window cannot be evaluated")
    content = hashlib.sha256(codec.to_json({n: d.hexdigest() for n, d in digests.items()})).hexdigest()
    return WindowTraffic(
        traffic=Traffic(**{name: np.concatenate(chunks) for name, chunks in numbers.items()}),
        content=content, files=files, rows=rows,
    )


def frozen_traffic(ledger: Ledger) -> Traffic:
    """The same of an evaluation that has begun, from its frozen pool."""
    keys_of_parts = load_manifest(ledger).part_keys
    tables = list(frozen_parts(ledger.store, keys_of_parts, list(_NUMBERS)))
    return Traffic(**{
        name: np.concatenate([np.asarray(table.column(name)) for table in tables]) for name in _NUMBERS
    })


def _bytes(column: pa.Array) -> bytes:
    """Independent of batch boundaries: every value stands for itself."""
    if pa.types.is_string(column.type):
        lengths = np.asarray(pc.binary_length(column).fill_null(-1), "<i4")
        texts = column.to_pylist()
        return b"".join(
            length.tobytes() + (text or "").encode() for length, text in zip(lengths, texts, strict=True)
        )
    values = np.asarray(column)
    return values.astype(values.dtype.newbyteorder("<")).tobytes()
