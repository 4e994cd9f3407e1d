"""One pass over a window's predictions, before anything is frozen: for its profile, and to see changes.

The digest of the content does not depend on how the rows are split into files or batches, only on the rows in
their order; so predictions that were rewritten without a change are the same window.
"""

import hashlib
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.traffic.profile import Beside, Profile
from assay.evalcore.types import Array
from assay.tasks.ledger import codec
from assay.tasks.ledger.manifest import feature_columns
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.pool.frozen import packed_bytes
from assay.tasks.pool.predictions.kinds import predictions_of
from assay.tasks.pool.predictions.protocol import Watching
from assay.tasks.sources.column_names import column_kinds
from assay.tasks.sources.reader import open_source
from assay.tasks.sources.values import as_text
from assay.tasks.spec.evaluation import Spec


class NoRows(BadInput):
    """The files of a window hold no prediction."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowTraffic:
    """A window's predictions as they are now."""

    predictions: Watching
    beside: Beside
    content: str     # digest of the rows
    files: str       # digest of the files' names, sizes and versions
    rows: int

    def profile(self, like: Profile | None) -> Profile:
        """What is kept of it; like: an earlier profile, to be compared with."""
        return self.predictions.profile(self.beside, like)


def files_digest(spec: Spec) -> str:
    """What changes when a file of the source does. Raises NoFile when there is none."""
    files = [[file.path, file.size, file.version] for file in open_source(spec.pool.source).files]
    return hashlib.sha256(codec.to_json(files)).hexdigest()


def read_traffic(spec: Spec) -> WindowTraffic:
    """Read and check every row once. Raises NoFile, NoRows, or BadInput as freezing would."""
    files = files_digest(spec)
    source = open_source(spec.pool.source)
    checker = RowChecker(spec, [file.path for file in source.files])
    features = feature_columns(spec.pool.features)
    predictions = predictions_of(spec)
    said, watching = [name for name, _ in predictions.fields], predictions.watching()
    digests = {name: hashlib.sha256() for name in ("item_id", "shown_hash", *spec.pool.segments, *said)}
    numbers: dict[str, list[Array]] = {name: [] for name in features}
    segments: dict[str, Counter[str]] = {name: Counter() for name in spec.pool.segments}
    missing = dict.fromkeys(dict.fromkeys((*spec.pool.segments, *spec.pool.display)), 0)
    rows = 0
    for batch in source.batches(checker.columns):
        checked = checker.check(batch)
        rows += checked.num_rows
        for name, digest in digests.items():
            digest.update(_bytes(checked.column(name)))
        watching.add(checked)
        for name, chunks in numbers.items():
            chunks.append(np.asarray(checked.column(name)))
        for name, counts in segments.items():
            counts.update(_counts(checked.column(name)))
        for name in missing:
            missing[name] += _without_value(batch.columns.column(checker.columns.index(name)))
    if not rows:
        raise NoRows(f"pool.source: {spec.pool.source}: no rows; an empty window cannot be evaluated")
    content = hashlib.sha256(codec.to_json({n: d.hexdigest() for n, d in digests.items()})).hexdigest()
    return WindowTraffic(
        predictions=watching,
        beside=Beside(
            features={
                name: np.concatenate(numbers[column])
                for name, column in zip(spec.pool.features or (), features, strict=True)
            },
            segments=segments, missing=missing, columns=column_kinds(source),
        ),
        content=content, files=files, rows=rows,
    )


def _counts(values: pa.Array) -> dict[str, int]:
    return {one["values"]: one["counts"] for one in pc.value_counts(values).to_pylist()}


def _without_value(values: pa.Array) -> int:
    """Items whose value is missing, or the empty text."""
    return int(pc.sum(pc.equal(as_text(values).fill_null(""), "")).as_py() or 0)


def _bytes(column: pa.Array) -> bytes:
    """Independent of batch boundaries: every value stands for itself."""
    if pa.types.is_string(column.type):
        lengths = np.asarray(pc.binary_length(column).fill_null(-1), "<i4")
        texts = column.to_pylist()
        return b"".join(
            length.tobytes() + (text or "").encode() for length, text in zip(lengths, texts, strict=True)
        )
    if pa.types.is_fixed_size_binary(column.type):
        return bytes(packed_bytes(column.drop_null()))
    values = np.asarray(column)
    return values.astype(values.dtype.newbyteorder("<")).tobytes()
