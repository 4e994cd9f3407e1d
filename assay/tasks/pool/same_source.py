"""Whether the source of an evaluation still holds the pool that was frozen.

A pool never changes, and files do. Whoever runs the same spec on a new file of predictions would get the old
numbers; so the two are compared. Files whose size and version (the modification time, or the ETag) are those
of the freeze are taken to be unchanged. All others are read: the digest of their values decides, so a fresh
checkout, a copy, or the same predictions in another format are the same pool.
"""

from collections.abc import Callable
from dataclasses import dataclass

from assay.evalcore.errors import BadInput, plural
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import read_begun
from assay.tasks.ledger.manifest import FilesRead, Manifest
from assay.tasks.ledger.record import Ledger, find_record
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.pool.frozen import part_digests, pool_digest
from assay.tasks.pool.shards import one_after_the_other, shards_of_source
from assay.tasks.pool.shown import in_parts
from assay.tasks.sources.reader import Source, open_source
from assay.tasks.spec.evaluation import Spec


class SourceChanged(BadInput):
    """The source no longer holds the pool that an evaluation froze; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenPool:
    """What the ledger says of a pool, for people who ask which one an evaluation is about."""

    evaluation: str
    source: str           # as the spec names it
    items: int
    digest: str           # SHA-256 of its values
    frozen: str | None    # when, in ISO 8601; None where the process crashed before it wrote that

    @staticmethod
    def from_ledger(ledger: Ledger, spec: Spec, manifest: Manifest) -> "FrozenPool":
        """The frozen pool of an evaluation; its date is read from the ledger."""
        begun = read_begun(ledger)
        return FrozenPool(
            evaluation=spec.name, source=spec.pool.source, items=manifest.rows, digest=manifest.digest,
            frozen=None if begun is None else begun.isoformat(timespec="seconds"),
        )

    @property
    def text(self) -> str:
        """`800 items of predictions.csv, frozen on 2026-11-23 at 07:52 UTC, digest 0123456789ab`."""
        when = "" if self.frozen is None else f", frozen on {self.frozen[:10]} at {self.frozen[11:16]} UTC"
        return f"{plural(self.items, 'item')} of {self.source}{when}, digest {self.digest[:12]}"


def refuse_changed_source(
    ledger: Ledger, spec: Spec, manifest: Manifest, *, source: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Raise SourceChanged where the source does not hold the frozen pool of this evaluation.

    source     another one than the spec's, which has to hold the same pool
    progress   told the rows read so far, where the source has to be read

    Raises NoFile where nothing is there; BadInput or a StoreError where it cannot be looked at.
    """
    listing = open_source(source or spec.pool.source, spec.pool.id)
    record = find_record(ledger, layout.pool_sources(spec.name), FilesRead)
    files = [(file.path, file.size, file.version) for file in listing.files]
    if record is not None and files == [(file.path, file.size, file.version) for file in record.files]:
        return
    pool = FrozenPool.from_ledger(ledger, spec, manifest)
    try:
        rows, digest = source_digest(spec, listing, progress)
    except BadInput as error:
        raise changed_source(
            pool, listing.given, f"it cannot be used as that pool any more: {error}"
        ) from None
    if digest != manifest.digest:
        raise changed_source(pool, listing.given, f"it holds {plural(rows, 'item')}, digest {digest[:12]}")


def source_digest(
    spec: Spec, source: Source, progress: Callable[[int], None] | None = None
) -> tuple[int, str]:
    """The rows of a source, and the digest that its pool would have. Raises BadInput as freezing would."""
    paths, rows, digests = [file.path for file in source.files], 0, []
    for shard in shards_of_source(source, spec.pool.id, one_after_the_other):
        checker = RowChecker(spec, paths)
        batches = source.slices(shard.slices, checker.columns)
        for part in in_parts(checker.check(batch) for batch in batches):
            digests.append(part_digests(part.rows, part.shown)[1])
            rows += part.rows.num_rows
            if progress is not None:
                progress(rows)
    return rows, pool_digest(digests)


def changed_source(pool: FrozenPool, source: str, what: str) -> SourceChanged:
    """The error of a source that is not the frozen pool any more; what: what it holds, in words."""
    return SourceChanged(
        f"pool.source: {source} is not the pool of evaluation {pool.evaluation!r} ({pool.text}); now {what}. "
        "The numbers of an evaluation are about its frozen pool alone. To evaluate what is there now, "
        "give it a name of its own (`name` in the spec, or --name); or restore the source. What is known of "
        f"the frozen pool: assay status {pool.evaluation}"
    )
