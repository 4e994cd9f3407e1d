"""Which predictions a spec's labels have, and the frozen pool cut into cells for its method."""

from collections.abc import Mapping, Sequence

from assay.tasks.ledger import layout, record
from assay.tasks.ledger.manifest import Manifest, PartitionEntry, partition_digest
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.frozen import FrozenShard, shards_of
from assay.tasks.pool.kind import CellRows, FrozenCut, PoolToCut, Predictions
from assay.tasks.pool.known_answers import read_outcomes
from assay.tasks.pool.predictions.kinds import (
    ClassesOfSystems,
    NumberPredictions,
    NumbersOfSystems,
    OneClassPredictions,
    SeveralClassPredictions,
    TagPredictions,
    TagsOfSystems,
)
from assay.tasks.pool.predictions.questions import QuestionPredictions
from assay.tasks.pool.predictions.two_classes import ScoredPredictions, TwoClassPredictions
from assay.tasks.pool.scores import StoredRun
from assay.tasks.pool.shards import MapOver, one_after_the_other
from assay.tasks.spec.evaluation import Spec

_BY_TASK: Mapping[str, type[Predictions]] = {
    "binary": TwoClassPredictions, "multiclass": SeveralClassPredictions,
    "preference": SeveralClassPredictions, "number": NumberPredictions, "tags": TagPredictions,
    "scored": ScoredPredictions, "one class": OneClassPredictions, "questions": QuestionPredictions,
}
_COMPARED: Mapping[str, type[Predictions]] = {
    "multiclass": ClassesOfSystems, "number": NumbersOfSystems, "tags": TagsOfSystems,
}


def prediction_kind(spec: Spec) -> Predictions:
    """What the frozen pool of this spec holds of its predictions."""
    return (_COMPARED if spec.pool.compares else _BY_TASK)[spec.labels.task](spec)


def cut_pool(
    spec: Spec,
    store: Store,
    shards: Sequence[FrozenShard],
    outcomes: Mapping[str, float],
    map_over: MapOver = one_after_the_other,
    score_runs: Sequence[StoredRun] = (),
    predicted: tuple[int, ...] = (),
) -> PartitionEntry:
    """Cut the pool for the spec's method; put the cells, and the rows that they hold.

    shards: of the parts just written; outcomes: item -> label, known beforehand; map_over: who
    does the shards; score_runs: the scores of all rows, where the freeze kept them in order. The result does
    not depend on these two. predicted: items predicted negative, and positive, by which `auto` chooses.
    """
    predictions = prediction_kind(spec)
    method = predictions.method_for(predicted)
    cut, rows = predictions.cut(method, PoolToCut(
        evaluation=spec.name, store=store, shards=shards, segments=spec.pool.segments, outcomes=outcomes,
        map_over=map_over if len(shards) > 1 else one_after_the_other, kept=True,
        score_runs=score_runs,
    ))
    text = record.to_json(cut.to_json())
    digest = partition_digest(text, rows.starts, rows.pieces)
    store.put(layout.partition_starts(spec.name, digest), rows.starts)
    store.put(layout.partition(spec.name, digest), text)
    return PartitionEntry(
        method=method, digest=digest, cells=cut.cells.n_cells, pieces=rows.pieces
    )


def cut_again(
    spec: Spec, store: Store, manifest: Manifest, map_over: MapOver = one_after_the_other
) -> tuple[FrozenCut, CellRows]:
    """The frozen pool cut once more, from its parts; nothing is put."""
    return prediction_kind(spec).cut(manifest.partition.method, PoolToCut(
        evaluation=manifest.evaluation, store=store,
        shards=shards_of(manifest.part_keys, [part.rows for part in manifest.parts]),
        segments=manifest.segment_names, outcomes=read_outcomes(store, manifest.outcomes_key),
        map_over=map_over, kept=False,
    ))


def load_partition(spec: Spec, store: Store, manifest: Manifest) -> FrozenCut:
    """The cut that was made when the pool was frozen, read back from the ledger. Raises DamagedRecord where
    its bytes are no partition."""
    key = layout.partition(manifest.evaluation, manifest.partition.digest)
    data = record.from_json(store.get(key), key)
    try:
        return prediction_kind(spec).cut_from_json(data)
    except (KeyError, TypeError, ValueError) as error:
        raise record.damaged(key, f"not a partition ({type(error).__name__})") from None
