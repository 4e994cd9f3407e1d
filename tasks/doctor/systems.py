"""Systems that are to be compared: on how many items they differ, which no label is needed for."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from assay.evalcore.plurals import plural
from assay.evalcore.types import Ints
from assay.tasks.doctor.finding import Finding, ok, warning
from assay.tasks.ledger.manifest import PREDICTIONS
from assay.tasks.pool.frozen import packed_bytes
from assay.tasks.report.wording import percent
from assay.tasks.spec.evaluation import Spec


def differing_in(rows: pa.RecordBatch, systems: int) -> Ints:
    """(S,) of checked rows, those that each system predicts otherwise than the first."""
    if not systems:
        return np.zeros(0, np.int64)
    codes = np.frombuffer(packed_bytes(rows.column(PREDICTIONS)), "<i2").reshape(-1, systems)
    return np.asarray((codes != codes[:, :1]).sum(axis=0), np.int64)


def of_systems(spec: Spec, differing: Ints, rows: int) -> Iterator[Finding]:
    """What the predictions alone say of every comparison; nothing where none is asked for."""
    baseline, *others = list(spec.pool.compared) or [""]
    for name, count in zip(others, differing[1:].tolist(), strict=True):
        about = f"pool.systems.{name}"
        if not count:
            yield warning(about, f"predicts the same as {baseline!r} for every item",
                          "there is nothing to compare; correct the columns, or leave it out")
        elif count <= spec.budget.labels:
            yield ok(about, f"differs from {baseline!r} on {plural(count, 'item')}, no more than the budget: "
                            "the difference in accuracy can be known exactly")
        else:
            share = percent(round(count / rows, 4))
            yield ok(about, f"differs from {baseline!r} on {plural(count, 'item')} ({share} of the pool), "
                            "where most labels go")
