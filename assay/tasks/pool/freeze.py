"""Freezes a pool: reads the predictions once and writes them to the ledger, where they no longer change.

    read      every row once, checked as it comes; written to the ledger 65,536 rows at a time
    check     nothing is missing, no id is there twice, the budget fits
    cut       the partition of the spec's method, and which rows its cells hold
    commit    the manifest, last

A pool of more than about a million rows is read in shards (`tasks.pool.shards`), one after the other or by
several workers at once. Every byte in the ledger is the same, whoever did which shard and in which order. A
freeze that was killed goes on from the shards that are done.

Nothing is frozen until the manifest is there. Bad input ends with one clear error and without a manifest;
parts already written stay and do no harm: a part's name holds the digest of its bytes, and only the manifest
says which parts count. Two processes that freeze the same source write the same keys and bytes. If the source
changed between them, the first manifest counts, and the other process goes on with it.

Memory does not grow with the pool where it has two classes and is cut by score; docs/how-to/large-pools.md
says what the other kinds of predictions and cuts hold of a row.
"""

import logging
from collections.abc import Callable

from assay.tasks.ledger import layout
from assay.tasks.ledger.log import put_logged_record
from assay.tasks.ledger.manifest import FileRead, FilesRead, Manifest, SourceEntry, load_manifest
from assay.tasks.ledger.record import Ledger, put_record
from assay.tasks.ledger.stores.store import KeyMissing, Store
from assay.tasks.pool.checked_rows import frozen_schema
from assay.tasks.pool.cut import cut_pool
from assay.tasks.pool.freeze_shards import FrozenRows, forget
from assay.tasks.pool.frozen import pool_digest, shards_of
from assay.tasks.pool.held_labels import freeze_held
from assay.tasks.pool.inherited import freeze_given_elsewhere
from assay.tasks.pool.kind import PredictionCounts
from assay.tasks.pool.known_answers import freeze_gold, freeze_outcomes, read_outcomes
from assay.tasks.pool.shards import MapOver, one_after_the_other
from assay.tasks.sources.reader import Source, open_source
from assay.tasks.spec.evaluation import Spec

_log = logging.getLogger("assay.pool")


def freeze_pool(
    spec: Spec,
    store: Store,
    progress: Callable[[int], None] | None = None,
    before_commit: Callable[[Manifest], None] | None = None,
    inherited: str | None = None,
    map_over: MapOver = one_after_the_other,
    checked: Callable[[int, PredictionCounts], None] | None = None,
) -> Manifest:
    """Freeze the spec's predictions unless they are frozen already; returns the manifest in the ledger.

    progress        called with the number of rows frozen so far
    before_commit   called with the manifest when only that is missing; what it raises ends the freeze
    inherited       digest of the labels of an earlier evaluation that this one starts from
    map_over        who freezes the shards; the result does not depend on it
    checked         called with the number of rows, and with what is counted of their predictions, once they
                    are read; what it raises ends the freeze

    Raises BadInput naming the file, column and first bad rows, or the key of the spec, and leaves no manifest
    then; StoreError if the ledger fails.
    """
    ledger, key = Ledger(store, spec.name), layout.manifest(spec.name)
    try:
        return load_manifest(ledger)
    except KeyMissing:
        pass
    source = open_source(spec.pool.source, spec.pool.id)
    for warning in source.dialects():
        _log.warning("%s", warning)
    try:
        frozen = FrozenRows(spec, store, source, map_over, progress)
        frozen.check()
        if checked is not None:
            checked(frozen.rows, frozen.counts)
        manifest = _manifest(spec, store, source, frozen, map_over, inherited)
    except KeyMissing:
        if not store.exists(key):
            raise
        forget(store, spec.name)        # another process committed, and we put more since
        return load_manifest(ledger)
    put_record(ledger, layout.pool_sources(spec.name), FilesRead(files=tuple(
        FileRead(path=file.path, size=file.size, version=file.version) for file in source.files
    )))
    if before_commit:
        before_commit(manifest)
    committed = put_logged_record(ledger, key, manifest)
    frozen.forget()
    return committed


def _manifest(
    spec: Spec, store: Store, source: Source, frozen: FrozenRows, map_over: MapOver, inherited: str | None
) -> Manifest:
    """Of rows that are in the ledger; puts what else it names. Raises BadInput."""
    counts = frozen.counts
    outcomes = freeze_outcomes(spec, store, frozen.part_keys)
    labels = read_outcomes(store, None if outcomes is None else layout.outcomes(spec.name, outcomes))
    partition = cut_pool(
        spec, store, shards_of(frozen.part_keys, [part.rows for part in frozen.parts]), labels, map_over,
        frozen.score_runs, counts.predicted,
    )
    return Manifest(
        evaluation=spec.name,
        rows=frozen.rows,
        digest=pool_digest(frozen.value_digests),
        columns=tuple(frozen_schema(spec).names),
        parts=tuple(frozen.parts),
        sources=tuple(
            SourceEntry(path=file.path, rows=rows)
            for file, rows in zip(source.files, frozen.rows_of_file, strict=True)
        ),
        segments={name: dict(sorted(rows.items())) for name, rows in frozen.segments.items()},
        partition=partition,
        inherited=inherited or freeze_given_elsewhere(spec, store, frozen.part_keys),
        gold=freeze_gold(spec, store),
        outcomes=outcomes,
        held=freeze_held(spec, store, frozen.part_keys, partition),
        predicted=counts.predicted,
        score_range=counts.score_range,
        differing=counts.differing,
    )
