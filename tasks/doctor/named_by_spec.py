"""What a spec names beside its pool, checked without changing it: store, desk, and systems to compare.

Nothing is begun, no project or folder is made, and no label is needed.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from assay.evalcore.errors import AssayError, plural
from assay.tasks.desks.kind import Resources
from assay.tasks.doctor.examination import Finding, ok, problem, warning
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import MemoryStore, Store
from assay.tasks.operating_system import in_the_way_of
from assay.tasks.pool.predictions.systems import codes_by_system
from assay.tasks.report.wording import percent
from assay.tasks.spec.evaluation import Spec


def look_at_store(store: Store) -> Finding:
    """Whether the ledger can be written. A bucket is tried with a key that is removed again."""
    if isinstance(store, LocalStore) and not store.root.exists():
        obstacle = in_the_way_of(store.root)
        if obstacle is None:
            return ok("store", f"{store.url} is not there yet and can be made")
        return problem("store", f"{store.url} cannot be made: {obstacle} is no folder we may write to",
                       "choose another folder, or get the right to write there")
    try:
        store.check()
    except AssayError as error:
        return problem("store", str(error), "the store is where everything is kept: put it right first")
    return ok("store", f"{store.url} can be written and listed")


def look_at_desk(spec: Spec) -> Finding:
    """Whether the desk is there and can be used."""
    try:
        return ok("desk", spec.desk.look(spec.labelling, Resources(store=MemoryStore())))
    except AssayError as error:
        return problem("desk", str(error), "put it right, or choose another kind of desk")


# Systems that are to be compared: on how many items they differ.

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
