"""The frozen pool recomputed from its parts: digest, counts, cells, and which rows the cells hold."""

from collections.abc import Iterator

from assay.evalcore.methods.registry import is_auto
from assay.evalcore.plurals import plural
from assay.flows.record.opened import Opened
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.differences import Difference, in_one_sentence, value_differences
from assay.tasks.pool.counts import counts_of_frozen
from assay.tasks.pool.cut import cut_again
from assay.tasks.pool.mapping import MapOver
from assay.tasks.pool.predictions.kinds import predictions_of


@retried
def pool_differences(opened: Opened, map_over: MapOver) -> list[Difference]:
    """What the manifest and the partition say otherwise than the rows; map_over: who reads these."""
    return [
        Difference(key=key, difference=in_one_sentence(found))
        for key, found in (
            (layout.manifest(opened.name), [*_of_manifest(opened, map_over), *_of_spec(opened)]),
            *_of_partition(opened, map_over),
        )
        if found
    ]


def _of_manifest(opened: Opened, map_over: MapOver) -> Iterator[str]:
    manifest = opened.manifest
    counts = counts_of_frozen(opened.spec, opened.ledger.store, manifest, map_over)
    stored, computed = codec.plain(manifest), codec.plain(counts)
    yield from value_differences({name: stored[name] for name in computed}, computed)
    if sum(source.rows for source in manifest.sources) != counts.rows:
        yield f"sources do not add up to {plural(counts.rows, 'row')}"


def _of_spec(opened: Opened) -> Iterator[str]:
    entry = opened.manifest.partition
    if not is_auto(opened.spec.method) and predictions_of(opened.spec).method != entry.method:
        yield f"partition.method is {entry.method!r}, the spec asks for {opened.spec.method!r}"
    if entry.cells != opened.cut.cells.n_cells:
        yield f"partition.cells is {entry.cells}, the partition has {opened.cut.cells.n_cells}"
    if list(opened.spec.pool.segments) != opened.manifest.segment_names:
        yield "the segments are not those of the spec"


def _of_partition(opened: Opened, map_over: MapOver) -> Iterator[tuple[str, list[str]]]:
    ledger, manifest = opened.ledger, opened.manifest
    partition, rows = cut_again(opened.spec, ledger.store, manifest, map_over)
    key, starts = manifest.partition_keys
    yield key, list(value_differences(opened.cut.to_json(), partition.to_json()))
    yield starts, [] if rows.starts == ledger.get(starts) else ["cells start elsewhere than recomputed"]
    said = manifest.partition.pieces
    if len(said) != len(rows.pieces):
        yield layout.manifest(opened.name), ["partition.pieces are not one for each shard"]
    for key, piece, again in zip(manifest.piece_keys, said, rows.pieces, strict=False):
        yield key, [] if piece == again else ["the cells hold other rows than recomputed"]
