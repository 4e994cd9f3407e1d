"""Estimates from a pool of which a part is labelled: measures by name, systems, how they were drawn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.estimators.population import About
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.held_labels import HeldLabels, estimates_from_held_labels
from assay.evalcore.evaluation.judge_gaps import JudgedItems, JudgeGaps, refuse_uneven_gaps
from assay.evalcore.measures.measure import OutcomeMeasure, difference
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import OneShard, PoolWeights, pool_weights
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.types import Floats, Ints
from assay.tasks.replay.labelled_pool import one_array
from assay.tasks.sources.reader import column_names, open_source
from assay.tasks.sources.sampling_weights import stands_for
from assay.tasks.spec.goals import named_measure

DRAWN: Mapping[str, str] = {
    "random": "the labelled rows are a simple random sample of the pool",
    "unknown": "nobody knows how they were chosen",
}
IN_STRATA = "strata"   # key of a column, or start of `strata:COLUMN`: they are a sample of each stratum


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldQuestion:
    """What is asked of held labels.

    measures: as `assay replay` takes them; systems: names of the predictions, the baseline first; drawn: how
    the labelled rows were chosen, a key of DRAWN, or None: by their chances, or else at random; strata: the
    column of the strata of which they are a random sample each, if they are; judges: the columns of the
    judges, in order.
    """

    measures: tuple[str, ...]
    systems: tuple[str, ...] = ()
    confidence: float = 0.95
    about: About | None = None
    drawn: str | None = None
    strata: str | None = None
    judges: tuple[str, ...] = ()


def estimates_of_held_pool(
    pool: OutcomePool, question: HeldQuestion, values: pa.Array | None, column: str
) -> tuple[list[MeasureEstimate], tuple[str, ...]]:
    """The estimates, and sentences: what they take the labelled rows for, and why any has no interval.

    pool: a row without a label has the code NaN; values: the column of chances, or of the items that
    each row stands for, of which the labelled rows are looked at, or of strata; column: its name.  Raises
    BadInput for labels that were chosen nobody knows how, for chances that are none, for a judge of which
    labelled rows alone have guesses, and for what is not measured.
    """
    is_labelled = ~np.isnan(pool.codes)
    labelled, stratum = np.flatnonzero(is_labelled), None
    stratum_of_row: Ints = np.zeros(len(pool.codes), np.int64)
    if question.strata is None or values is None:
        inclusion = _inclusion(question.drawn, values, column, labelled, len(pool.codes))
    else:
        inclusion, stratum_of_row = _of_strata(values, question.strata, labelled)
        stratum = stratum_of_row[labelled]
    if pool.items.judge is not None:
        judged = JudgedItems(pool.items.judge, is_labelled, stratum_of_row)
        gaps = JudgeGaps.counted([judged], strata=int(stratum_of_row.max()) + 1)
        refuse_uneven_gaps(gaps, question.judges, at_random=inclusion is None or stratum is not None)
    weights = pool_weights(OneShard(pool.items))
    measures = [
        measure for written in question.measures
        for measure, _, _ in measures_of_systems(
            written, pool.kind, len(pool.codes), question.systems, weights
        )
    ]
    stack = Stack(kind=pool.kind, measures=tuple(measures), weights=weights)
    held = HeldLabels(
        items=pool.items, labelled=labelled, codes=pool.codes[labelled], inclusion=inclusion, stratum=stratum
    )
    found = estimates_from_held_labels(held, stack, question.systems, question.confidence, question.about)
    words = " and ".join(f"{word!r} in {plural(n, 'row')}" for word, n in pool.words_for_none.items())
    taken_for = (
        f"{len(labelled):,} of {len(pool.codes):,} rows have a label"
        + (f" ({words} is taken for none)" if words else "")
        + (f", {found.idle:,} of them of rows that no measure looks at" if found.idle else "")
        + "; they are taken for "
        + ("a simple random sample of all" if inclusion is None else
           f"drawn with the chances in {column!r}" if stratum is None else
           f"a simple random sample of each stratum of {question.strata!r}")
    )
    return found.rows, (taken_for, *_without_interval(found.rows, stack))


def _without_interval(rows: Sequence[MeasureEstimate], stack: Stack) -> Iterator[str]:
    """A sentence for the measures without bounds that have a value and lack an end of their interval."""
    without = [
        row.what for row, (m, _) in zip(rows, stack.parts, strict=True) if row.value is not None
        and not all(np.isfinite(stack.measures[m].bounds)) and (row.lower is None or row.upper is None)
    ]
    if without:
        bounds = "" if stack.kind.parts else ", or give bounds: outcome={'number': {'min': 0, 'max': 10}}"
        yield (f"{', '.join(without)}: no whole interval, as the labels show no spread beside what is "
               "guessed of them (guesses made of labels leave none), and no bounds are known; label more "
               f"rows{bounds}")


def refuse_label_as_guess(label: str | None, role: str, columns: Sequence[str]) -> None:
    """Raises BadInput where the column of labels is among those that guess them; role: the argument, or the
    option, that names these."""
    if label is not None and label in columns:
        raise BadInput(f"{role}: column {label!r} is that of the labels, and guesses nothing of the rows "
                       "without one; name a column that guesses every row, or leave it out")


def _of_strata(values: pa.Array, column: str, labelled: Ints) -> tuple[Floats, Ints]:
    """The chance n_h/N_h of each labelled row (n,), and the stratum of every row (N,).  Raises BadInput for a
    row without a stratum, and for a stratum without a label."""
    if values.null_count:
        row = int(np.argmax(np.asarray(values.is_null()))) + 1
        raise BadInput(f"column {column!r}: row {row} has no stratum; give every row of the pool one")
    encoded = values.dictionary_encode()
    names, of_row = encoded.dictionary, np.asarray(encoded.indices)
    items, labels = (np.bincount(rows, minlength=len(names)) for rows in (of_row, of_row[labelled]))
    if not labels.all():
        bare = names[int(np.argmin(labels))].as_py()
        raise BadInput(f"column {column!r}: stratum {bare!r} has no label, and nothing is known of its "
                       f"{items[int(np.argmin(labels))]:,} rows; label some, or join it to another stratum")
    return (labels / items)[of_row[labelled]], of_row.astype(np.int64)


def column_in(path: str, column: str, *, must_exist: bool) -> pa.Array | None:
    """A column of chances or strata in a file; None where it has none, unless the column was named. Raises
    BadInput. Values are in the order of the rows, gaps among them."""
    present = column_names(open_source(path))
    if column not in present:
        if must_exist:
            raise BadInput(f"{path}: no column {column!r}; it has {', '.join(present[:20])}")
        return None
    return one_array([batch.columns.column(0) for batch in open_source(path).batches([column])])


def _inclusion(
    drawn: str | None, chances: pa.Array | None, column: str, labelled: Ints, size: int
) -> Floats | None:
    """(n,) the chance of each labelled row; None of a random sample."""
    if drawn is not None and drawn not in DRAWN:
        raise BadInput(f"drawn: {drawn!r} is none of {', '.join(DRAWN)}, and no column of strata; chances of "
                       "each row are a column (weight)")
    if drawn == "unknown":
        raise BadInput(
            "drawn: is 'unknown', and no interval holds for labels that nobody knows how they were chosen; "
            "label a random sample of the pool, or begin an evaluation with these as its warm_start, where "
            "they steer what is asked"
        )
    if chances is None:
        return None
    if drawn == "random":
        raise BadInput(f"drawn: is 'random', and column {column!r} has chances; leave one of them out")
    values = chances.take(pa.array(labelled))
    if values.null_count:
        row = int(labelled[int(np.argmax(np.asarray(values.is_null())))]) + 1
        raise BadInput(f"column {column!r}: row {row} has a label and no chance to be drawn; give it one")
    return 1 / stands_for(values, column, size, by_name=True)


def measures_of_systems(
    written: str, kind: OutcomeKind, pool_size: int, systems: Sequence[str], weights: PoolWeights | None
) -> list[tuple[OutcomeMeasure, str | None, str | None]]:
    """A measure with the system it is of and the one it is compared with: differences first. Each as
    (measure, system, system it is compared with). Raises BadInput for one that cannot be."""
    name, options = named_measure(written)
    try:
        base = outcome_measure(name, kind, pool_size, options=options, weights=weights)
        if base.system is None or not systems:
            return [(base, None, None)]
        rivals = [
            outcome_measure(name, kind, pool_size, system=at, options=options, weights=weights)
            for at in range(1, len(systems))
        ]
    except BadInput as error:
        raise BadInput(f"measures: {error}") from None
    apart = [(difference(measure, base), name, systems[0])
             for measure, name in zip(rivals, systems[1:], strict=True)]
    return [*apart, *((measure, name, None) for measure, name in zip([base, *rivals], systems, strict=True))]
