"""The frozen pool recomputed from its parts: digest, counts, cells, and which rows the cells hold."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from assay.evalcore.methods.registry import is_auto, method
from assay.evalcore.pool.partition import build_partition
from assay.flows.record.opened import Opened
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.differences import Difference, in_one_sentence, value_differences
from assay.tasks.pool.cut import cut_tables, rows_by_cell, table_of
from assay.tasks.pool.frozen import digest_of_frozen, frozen_parts


@retried
def pool_differences(opened: Opened) -> list[Difference]:
    """What the manifest and the partition say otherwise than the rows. Reads every part twice."""
    return [
        Difference(key=key, difference=in_one_sentence(found))
        for key, found in (
            (layout.manifest(opened.name), [*_of_manifest(opened), *_of_spec(opened)]),
            *_of_partition(opened),
        )
        if found
    ]


def _of_manifest(opened: Opened) -> Iterator[str]:
    manifest = opened.manifest
    digest = digest_of_frozen(opened.ledger.store, manifest)
    segments: dict[str, Counter[str]] = {name: Counter() for name in manifest.segment_names}
    rows, low, high, positives = 0, np.inf, -np.inf, 0
    for part in frozen_parts(opened.ledger.store, manifest.part_keys, ["score", "prediction", *segments]):
        score = np.array(part.column("score"))
        rows += part.num_rows
        low, high = min(low, float(score.min())), max(high, float(score.max()))
        positives += int(np.count_nonzero(np.array(part.column("prediction"))))
        for name, counts in segments.items():
            counts.update(part.column(name).to_pylist())
    stored = codec.plain(manifest)
    computed = {
        "digest": digest,
        "rows": rows,
        "predicted_positives": positives,
        "score_range": [low, high],
        "segments": {name: dict(counts) for name, counts in segments.items()},
    }
    yield from value_differences({name: stored[name] for name in computed}, computed)
    if sum(source.rows for source in manifest.sources) != rows:
        yield f"sources do not add up to {rows} rows"


def _of_spec(opened: Opened) -> Iterator[str]:
    entry = opened.manifest.partition
    if not is_auto(opened.spec.method) and method(opened.spec.method).name != entry.method:
        yield f"partition.method is {entry.method!r}, the spec asks for {opened.spec.method!r}"
    if entry.cells != opened.partition.cells.n_cells:
        yield f"partition.cells is {entry.cells}, the partition has {opened.partition.cells.n_cells}"
    if list(opened.spec.pool.segments) != opened.manifest.segment_names:
        yield "the segments are not those of the spec"


def _of_partition(opened: Opened) -> Iterator[tuple[str, list[str]]]:
    columns = ["score", "probability", "prediction"]
    tables = cut_tables(opened.spec)
    wanted = [*columns, *(name for names in tables.values() for name in names)]
    parts = list(frozen_parts(opened.ledger.store, opened.manifest.part_keys, wanted))
    score, probability, prediction = (
        np.concatenate([np.array(part.column(name)) for part in parts]) for name in columns
    )
    cut_by = {
        name: np.concatenate([table_of(part, names) for part in parts]) for name, names in tables.items()
    }
    partition, cell = build_partition(opened.question.method, score, probability, prediction, **cut_by)
    digest = opened.manifest.partition.digest
    found = list(value_differences(opened.partition.to_json(), partition.to_json()))
    yield layout.partition(opened.name, digest), found
    key = layout.partition_rows(opened.name, digest)
    same = rows_by_cell(cell, partition.cells.n_cells) == opened.ledger.get(key)
    yield key, [] if same else ["the cells hold other rows than recomputed"]
