"""The weighted sample of an evaluation: read from its ledger, exported for programs of other people, and
asked for estimates that nobody had asked for when the labels were bought. Nothing is written to the ledger.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.estimators.population import About
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.estimates import reuse
from assay.evalcore.evaluation.questions import asks_several, each_question
from assay.evalcore.measures.measure import OutcomeMeasure, Setting
from assay.evalcore.measures.registry import MEASURES_BY_KIND, needs_grid, of_scores, outcome_measure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items, PoolWeights
from assay.evalcore.printed import FORMAT_NUMBER, PRINTED_FORMAT
from assay.evalcore.weighted.estimate import NONE, Labelled, depends_on, unreached, weighted_estimates
from assay.evalcore.weighted.sample import (
    WeightedSample,
    predictions_unreached,
    unweighted_sample,
    weighted_sample,
)
from assay.flows.record.fold import Fold, fold
from assay.flows.record.opened import Opened
from assay.flows.revisions import revised_fold
from assay.tasks.effects import retried
from assay.tasks.ledger.closed_round import last_revision
from assay.tasks.pool.frozen import FrozenRow, items_of
from assay.tasks.pool.shown import PoolIndex
from assay.tasks.replay.simulated import measure_of_two_classes
from assay.tasks.spec.goals import named_measure
from assay.tasks.spec.strict_yaml import shortened
from assay.tasks.weighted.columns import column_as_texts, files_written_since, predictions_of_column
from assay.tasks.weighted.items import (
    above,
    equal_to,
    grid_of_pool,
    of_question,
    of_system,
    with_predictions,
    with_scores_and_clusters,
)


class NoLabels(BadInput):
    """No round has closed with a label yet, so there is nothing to weigh."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolSample:
    """The labelled items, their weights, and what the pool says of them, all in one order."""

    sample: WeightedSample
    rows: Sequence[FrozenRow]
    items: Items
    kind: OutcomeKind
    folded: Fold           # with the labels of now
    revision: int          # of the labels; 0: as the rounds were closed


@retried
def read_sample(opened: Opened, question: str | None = None, folded: Fold | None = None) -> PoolSample:
    """The labelled items of the closed rounds, with the labels of now; question: of those that answer it,
    where several are asked; folded: its rounds as they were closed, where the caller has them.

    Raises NoLabels before the first label, and BadInput where the items have no known chances, and where it
    is not said which of several questions is meant.
    """
    many_questions = asks_several(opened.question)
    names = opened.spec.labels.answers.questions
    if many_questions and question not in names:
        what = "say which of its" if question is None else f"{question!r} is none of its"
        raise BadInput(f"evaluation {opened.name!r} asks several questions, and each item has a weight for "
                       f"each; {what} questions: {', '.join(names)} (--question)")
    if question is not None and not many_questions:
        raise BadInput(f"evaluation {opened.name!r} asks one question; leave out --question")
    folded, newest = folded or fold(opened.ledger, opened.statistics), last_revision(opened.ledger)
    if newest is not None and newest.rounds:
        folded = revised_fold(opened, folded, newest)
    if not folded.state.labels:
        raise NoLabels(
            f"evaluation {opened.name!r} has no label yet; run `assay advance {opened.name}` when people "
            "have answered"
        )
    if opened.manifest.rows > opened.cut.cells.n_items:
        raise BadInput(
            f"evaluation {opened.name!r} knows {opened.n_outcomes:,} labels that came by themselves; they "
            "are no sample, and its labels speak of the other items alone"
        )
    if question is not None:
        return _of_question(opened, folded, question, 0 if newest is None else newest.number)
    sample = weighted_sample(opened.question, folded.state, [round_.labelled({}) for round_ in folded.closed])
    index = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells)
    rows = index.rows(sample.cell, sample.rank)
    binary, supplied = opened.spec.labels.positive_name is not None, opened.spec.pool.probability
    # beside curves and clusters the probabilities of both classes are kept
    of_positive = binary and supplied is not None and rows[0].probabilities is None
    return PoolSample(
        sample=sample, rows=rows, items=items_of(rows, of_positive=of_positive),
        kind=opened.statistics.kind, folded=folded, revision=0 if newest is None else newest.number,
    )


def _of_question(opened: Opened, folded: Fold, name: str, revision: int) -> PoolSample:
    """The items that answer one of several questions."""
    [part] = [part for part in each_question(opened.question, folded.state) if part.name == name]
    if not part.state.labels:
        raise NoLabels(f"evaluation {opened.name!r} has no answer to {name!r} yet")
    sample = weighted_sample(
        part.question, part.state, part.rounds([closed.labelled({}) for closed in folded.closed])
    )
    rows = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells).rows(sample.cell, sample.rank)
    return PoolSample(
        sample=sample, rows=rows,
        items=of_question(part.kind, part.number, items_of(rows, of_positive=False), rows),
        kind=part.kind.each[part.number].kind, folded=folded, revision=revision,
    )


def exported_questions(opened: Opened, *, shown: bool) -> tuple[dict[str, Sequence[object]], int]:
    """As `exported`, of several questions: a row for each item that was read, and for each question what it
    was labelled, what was predicted and what it stands for, `label:NAME` and so on.  None where a question
    was not answered.  And the revision of the labels."""
    full_sample, by_question = _joined_samples(opened)
    columns = {
        name: values for name, values in exported(opened, full_sample, shown=shown).items()
        if name not in ("label", "sample_weight")
    }
    place = {item: at for at, item in enumerate(columns["item_id"])}
    for entry, sample in by_question:
        fields: dict[str, list[object]] = {
            key: [None] * len(place) for key in ("label", "prediction", "sample_weight")
        }
        at = [place[row.item_id] for row in sample.rows]
        answers, predicted = opened.spec.labels.answers.questions[entry], sample.items.prediction
        for i, position in enumerate(at):
            fields["label"][position] = answers.value(float(sample.sample.label[i]))
            fields["sample_weight"][position] = float(sample.sample.weight[i])
            if predicted.shape[1]:
                fields["prediction"][position] = answers.value(float(predicted[i, 0]))
        if not predicted.shape[1]:
            del fields["prediction"]
        columns |= {f"{key}:{entry}": values for key, values in fields.items()}
    return columns, full_sample.revision


def _joined_samples(opened: Opened) -> tuple[PoolSample, list[tuple[str, PoolSample]]]:
    """Every item that was read, and those that answer each question."""
    by_question = []
    for name in opened.spec.labels.answers.questions:
        with suppress(NoLabels):
            by_question.append((name, read_sample(opened, name)))
    if not by_question:
        raise NoLabels(f"evaluation {opened.name!r} has no label yet")
    first_sample = by_question[0][1]
    rounds = [closed.labelled({}) for closed in first_sample.folded.closed]
    sample = unweighted_sample(rounds, opened.question.cells.relevant)
    rows = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells).rows(sample.cell, sample.rank)
    return replace(first_sample, sample=sample, rows=rows), by_question


def exported(opened: Opened, pool_sample: PoolSample, *, shown: bool) -> dict[str, Sequence[object]]:
    """The columns of `tasks.weighted.items`, a row for each labelled item, in the order of the draws. Column
    -> values; with `shown` also the fields that people saw."""
    sample, rows, n = pool_sample.sample, pool_sample.rows, len(pool_sample.sample)
    spec, answers = opened.spec, opened.spec.labels.answers
    planned = [round_.planned for round_ in pool_sample.folded.closed]
    columns: dict[str, Sequence[object]] = {
        "item_id": [row.item_id for row in rows],
        "label": [answers.value(code) for code in sample.label.tolist()],
    }
    if rows[0].prediction is not None:
        columns["prediction"] = [answers.value(row.prediction) for row in rows if row.prediction is not None]
    if spec.pool.score is not None:
        columns["score"] = [row.score for row in rows]
    if spec.pool.probability is not None and rows[0].probabilities is None:
        columns["probability"] = [row.probability for row in rows]
    for number, system in enumerate(spec.pool.compared):
        columns[f"system:{system}"] = [answers.value((row.predictions or ())[number]) for row in rows]
        for code, name in enumerate(spec.labels.names if rows[0].by_system is not None else ()):
            columns[f"probability:{system}:{name}"] = [
                (row.by_system or ())[number * len(spec.labels.names) + code] for row in rows
            ]
    for code, name in enumerate(spec.labels.names):
        if spec.pool.probability is not None and rows[0].probabilities is not None:
            columns[f"probability:{name}"] = [row.probabilities[code] for row in rows if row.probabilities]
    if spec.pool.weight is not None:
        columns["item_weight"] = [row.weight for row in rows]
    for name in opened.manifest.segment_names:
        columns[f"segment:{name}"] = [row.segments[name] for row in rows]
    if shown:
        texts: list[Mapping[str, str]] = [
            planned[number - 1].shown[draw] or {}
            for number, draw in zip(sample.round.tolist(), sample.draw.tolist(), strict=True)
        ]
        columns |= {f"shown:{name}": [text.get(name, "") for text in texts] for name in spec.pool.display}
    kinds = [round_.plan.probability_kind for round_ in planned]
    return columns | {
        "cell": sample.cell.tolist(),
        "stratum": [opened.statistics.stratum(cell) for cell in sample.cell.tolist()],
        "round": sample.round.tolist(),
        "draw_probability": sample.probability.tolist(),
        "probability_kind": [kinds[number - 1] for number in sample.round.tolist()],
        "sample_weight": sample.weight.tolist(),
        "evaluation": [opened.name] * n,
        "revision": [pool_sample.revision] * n,
        "seed": [spec.seed] * n,
        "pool_items": [opened.manifest.rows] * n,
        "pool_digest": [opened.manifest.digest] * n,
        FORMAT_NUMBER: [PRINTED_FORMAT] * n,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQuestion:
    """What is asked of labels that were bought for another question: measures as written, and where wanted a
    threshold of the score, a segment, a system, or what the intervals are about."""

    measures: Sequence[str]                    # as written: f1, recall(cat), fbeta(2)
    threshold: float | None = None             # of the pool's score, or probability
    segment: tuple[str, str] | None = None     # column and value
    system: str | None = None                  # a column of predictions
    question: str | None = None                # of several that were asked
    about: About | None = None                 # None: as the spec has it


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAnswer:
    """The estimates that answer a new question of old labels, and the notes to print beside them."""

    rows: Sequence[MeasureEstimate]
    notes: Sequence[str] = ()


def new_estimates(opened: Opened, sample: PoolSample, request: NewQuestion) -> NewAnswer:
    """Every measure, at the threshold or of the system, in the segment.

    Raises BadInput for a measure, column or value that is not there, and for a source that is no longer what
    was frozen.
    """
    if request.threshold is not None and request.system is not None:
        raise BadInput("--threshold makes predictions of the pool's score, --system has its own: give one")
    if request.question is not None and (request.threshold is not None or request.system is not None):
        raise BadInput("--threshold and --system make other predictions of an evaluation with one question; "
                       "with --question leave them out")
    simple = opened.spec.pool.weight is None or opened.spec.pool.strata is not None
    if request.about == "population" and not simple:
        raise BadInput("--about: is 'population', and a weighted pool is no simple sample of one; leave "
                       "it out")
    curves = [written for written in request.measures if of_scores(named_measure(written)[0])]
    if curves and (request.threshold is not None or request.system is not None):
        option = "--threshold" if request.threshold is not None else "--system"
        raise BadInput(f"{curves[0]!r} is made of the scores of the pool, and {option} makes other "
                       "predictions; leave one of them out")
    measures = [measure_of(opened, sample.kind, *named_measure(written)) for written in request.measures]
    of = Labelled(items=_items(opened, sample, request), among=equal_to(
        *_segment(opened, sample, request.segment), n=len(sample.rows)
    ))
    rows: list[MeasureEstimate] = []
    # where systems are compared, the pool's own predictions are those of the baseline
    intervals = opened.statistics.intervals_about
    if request.about is not None:
        intervals = replace(intervals, about=request.about)
    system = request.system or next(iter(opened.spec.pool.compared), None)
    for measure in measures:
        reason = _cannot_be_drawn(opened, sample, request, measure, of)
        estimates = weighted_estimates(
            sample.kind, [measure], sample.sample, of, opened.confidence, intervals
        )
        for part, e in enumerate(estimates):
            row = _row(sample, system, request, e if reason is None else _withheld(e, reason))
            point = measure.points[part] if measure.points else None
            rows.append(row if point is None else replace(
                row, measure=point.measure, at=point.at, curve=measure.name,
            ))
    return NewAnswer(rows=rows, notes=_notes(opened, sample, request))


def reused_estimates(opened: Opened, sample: PoolSample, request: NewQuestion) -> NewAnswer:
    """Every measure of the whole pool by the method's own estimate and interval, from the same draws.

    Raises BadInput where the method has none of other measures, and for parts of the pool and for other
    predictions: its sums are over predictions as they were frozen.
    """
    if request.threshold is not None or request.system is not None or request.segment is not None:
        raise BadInput("--reuse is of the whole pool and its own predictions: leave out --threshold, "
                       "--system and --segment")
    if request.about is not None:
        raise BadInput("--reuse has the interval that the method itself makes; leave --about out")
    measures = [measure_of_two_classes(written) for written in request.measures]
    for measure in measures:
        _refuse_of_all_classes(opened, sample.kind, measure.name.partition("(")[0])
    estimates = reuse(opened.question, sample.folded.state, measures)
    return NewAnswer(rows=[_row(sample, None, request, e) for e in estimates])


def measure_of(
    opened: Opened, kind: OutcomeKind, name: str, options: Mapping[str, Setting]
) -> OutcomeMeasure:
    """A measure of the pool; of two classes those that have one number a class are the positive one's.

    Of an area under a curve all scores of the frozen pool are read.
    """
    _refuse_of_all_classes(opened, kind, name)
    family, positive = MEASURES_BY_KIND.get((kind.name, name)), opened.spec.labels.positive_name
    of_class: dict[str, Setting] = {}
    if positive is not None and family and "class" in family.options:
        of_class = {"class": positive}
    settings = {**of_class, **options}
    grids = {}
    if needs_grid(kind, name) and settings.get("class") in kind.parts:
        part = kind.parts.index(str(settings["class"]))
        grids = {part: grid_of_pool(opened.spec, opened.ledger.store, opened.manifest, part)}
    return outcome_measure(
        name, kind, opened.manifest.rows, options=settings, grids=grids, weights=weights_of_pool(opened)
    )


def weights_of_pool(opened: Opened) -> PoolWeights | None:
    """What is known of all weights; None where all items count alike."""
    return opened.cut.weights


def _refuse_of_all_classes(opened: Opened, kind: OutcomeKind, name: str) -> None:
    """Raises BadInput for a measure of every class, where a label says of one alone whether it is the one."""
    class_name, family = opened.spec.labels.one_class, MEASURES_BY_KIND.get((kind.name, name))
    if class_name is not None and family is not None and "class" not in family.options:
        raise BadInput(f"{name!r} is of all classes, and the labels of this evaluation say whether an item "
                       f"is {class_name!r}, and no more; ask for a measure that has a class, such as f1")


def _items(opened: Opened, sample: PoolSample, request: NewQuestion) -> Items:
    """The labelled items as they are asked about, with their scores and clusters."""
    items = _predicted(opened, sample, request)
    return with_scores_and_clusters(items, sample.rows, scored=opened.spec.pool.score is not None)


def _predicted(opened: Opened, sample: PoolSample, request: NewQuestion) -> Items:
    pool = opened.spec.pool
    if pool.compares and request.system in (None, *pool.compared):
        number = list(pool.compared).index(request.system) if request.system else 0
        return of_system(sample.items, sample.rows, number)
    if request.system is not None:
        codes = predictions_of_column(
            opened.spec, opened.ledger, opened.manifest, sample.rows, request.system
        )
        return with_predictions(sample.items, codes)
    if request.threshold is None:
        return sample.items
    if opened.spec.labels.positive_name is None:
        raise BadInput("--threshold needs a positive and a negative class; name a column under --system")
    return with_predictions(
        sample.items, above(sample.rows, request.threshold, by_score=pool.score is not None)
    )


def _segment(
    opened: Opened, sample: PoolSample, segment: tuple[str, str] | None
) -> tuple[Sequence[str] | None, str]:
    """The values of the segment's column, and the one that is asked about; None for all items."""
    if segment is None:
        return None, ""
    column, value = segment
    values = opened.manifest.segments.get(column)
    if values is None:
        texts = column_as_texts(opened.spec, opened.ledger, opened.manifest, sample.rows, column)
    else:
        texts = [row.segments[column] for row in sample.rows]
    if value not in (texts if values is None else values):
        examples = ", ".join(shortened(v) for v in sorted(set(texts))[:5])
        raise BadInput(
            f"--segment: no labelled item has {value!r} in column {column!r}; the first of theirs: {examples}"
        )
    return texts, value


def _cannot_be_drawn(
    opened: Opened, sample: PoolSample, request: NewQuestion, measure: OutcomeMeasure, of: Labelled
) -> str | None:
    """Why there is no estimate: it depends on items which the evaluation never looks at; else None."""
    items = unreached(opened.cut.cells.size, sample.sample)
    if not items:
        return None
    reason = (f"it depends on {plural(items, 'item')} that the measures of the evaluation never look at, and "
              "none could be drawn")
    if of_scores(measure.name):     # every label moves a curve
        return reason
    frozen = opened.spec.pool.threshold
    as_frozen = request.system is None and (
        request.threshold is None or (frozen is not None and request.threshold >= frozen)
    )
    predictions = predictions_unreached(
        opened.question.cells, sample.kind, sample.sample.reached, as_frozen=as_frozen
    )
    if not depends_on(sample.kind, measure, sample.sample, of, predictions):
        return None
    return reason


def _withheld(e: MeasureEstimate, reason: str) -> MeasureEstimate:
    return replace(
        e, value=None, lower=None, upper=None, variance=None, interval=NONE, undefined_reason=reason
    )


def _row(sample: PoolSample, system: str | None, request: NewQuestion, e: MeasureEstimate) -> MeasureEstimate:
    segment = None if request.segment is None else "=".join(request.segment)
    return replace(
        e, revision=sample.revision, system=system, at=request.threshold, segment=segment,
        question=request.question,
    )


def _notes(opened: Opened, sample: PoolSample, request: NewQuestion) -> list[str]:
    """Which of compared systems it is of, and what was read again from files written to since the freeze."""
    reread = request.system not in (None, *opened.spec.pool.compared) or (
        request.segment is not None and request.segment[0] not in opened.manifest.segments
    )
    since = files_written_since(opened.ledger, opened.manifest, sample.rows) if reread else []
    names = list(opened.spec.pool.compared)[:1] if request.system is None else []
    return [
        f"of {name}, the first of the systems that are compared; --system names another" for name in names
    ] + [
        f"{path} was written since the pool was frozen; of the labelled items it holds what was frozen, but "
        "the column read now may have changed" for path in since
    ]
