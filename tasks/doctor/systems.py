"""Systems that are to be compared: on how many items they differ, which no label is needed for."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from assay.evalcore.plurals import plural
from assay.tasks.doctor.finding import Finding, ok, warning
from assay.tasks.pool.predictions.compared.systems import codes_by_system
from assay.tasks.report.wording import percent
from assay.tasks.spec.evaluation import Spec


def with_differing(before: Sequence[int], rows: pa.RecordBatch) -> list[int]:
    """By system, the rows that it predicts otherwise than the first, with these checked rows."""
    if not before:
        return []
    codes = codes_by_system(rows, len(before))
    new = (codes != codes[:, :1]).sum(axis=0).tolist()
    return [old + more for old, more in zip(before, new, strict=True)]


def of_systems(spec: Spec, differing: Sequence[int], rows: int, total: int) -> Iterator[Finding]:
    """What the predictions alone say of every comparison; nothing where none is asked for.

    differing: of the rows that were read; total: rows of the source.
    """
    all_read = rows == total
    baseline, *others = list(spec.pool.compared) or [""]
    for name, found in zip(others, differing[1:], strict=True):
        about = f"pool.systems.{name}"
        count = round(found * total / rows) if rows else found
        on = plural(count, "item") if all_read else f"about {plural(count, 'item')}"
        looked_at = "" if all_read else " looked at"
        if not count:
            yield warning(about, f"predicts the same as {baseline!r} for every item{looked_at}",
                          "there is nothing to compare; correct the columns, or leave it out")
        elif count <= spec.budget.labels:
            yield ok(about, f"differs from {baseline!r} on {on}, no more than the budget: "
                            "the difference can be known exactly")
        else:
            share = percent(round(found / rows, 4))
            yield ok(about, f"differs from {baseline!r} on {on} ({share} of the pool), "
                            "where most labels go")
