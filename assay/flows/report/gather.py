"""A report's data, gathered from the ledger: the labelled items as their labels stand now, and the rest;
with it what an audit would cost.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from math import isnan

from assay.evalcore.annotators.quality import AnnotatorQuality, nothing_known
from assay.evalcore.errors import AssayError, BadInput, plural
from assay.evalcore.estimators.random_sampling import RandomSampling
from assay.evalcore.evaluation.questions import asks_several
from assay.evalcore.forecast.audit import AuditPrice, audit_price
from assay.evalcore.measures.contenders import bradley_terry
from assay.evalcore.pool.strata import Cells
from assay.evalcore.types import Floats
from assay.evalcore.weighted.judges import (
    ReliabilityBin,
    of_predicted,
    reliability,
    reliability_of_predictions,
)
from assay.evalcore.weighted.sample import (
    LabelledItem,
    ScoreBin,
    WrongPredictions,
    along_the_score,
    wrong_predictions,
)
from assay.flows.judges import read_judge_checks, read_judges
from assay.flows.record.ahead import extend_command, more_labels
from assay.flows.record.fold import fold
from assay.flows.record.opened import Opened, probability_kind
from assay.flows.record.standing import read_history
from assay.flows.report.ceiling import read_ceiling
from assay.flows.revisions import revised_fold
from assay.flows.weighted import PoolSample, read_sample
from assay.tasks.effects import retried
from assay.tasks.ledger.asked_round import PlannedRound, read_plan
from assay.tasks.ledger.closed_round import (
    Decided,
    last_revision,
    read_annotators,
    read_labels,
    read_revised_annotators,
    with_revision,
)
from assay.tasks.ledger.life import read_begun, read_closed, read_identity
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.monitors import window_of
from assay.tasks.ledger.record import understood
from assay.tasks.pool.frozen import FrozenRow
from assay.tasks.report.annotators import pseudonymous
from assay.tasks.report.data import ComparedSystems, PoolSummary, ReportData
from assay.tasks.report.standing import Standing
from assay.tasks.report.wording import cost_in_words


def labelled_items(opened: Opened, sample: PoolSample | None) -> list[LabelledItem]:
    """Every labelled item that has a prediction, in the order of rounds and draws.

    sample: the labelled items with weights, where they have any; without it weights, scores and probabilities
    are left out. Where systems are compared the prediction is the baseline's.
    """
    ledger = opened.ledger
    plans: list[PlannedRound] = []
    closed: list[list[Decided]] = []
    while (decided := read_labels(ledger, len(closed) + 1)) is not None:
        planned = read_plan(ledger, len(closed) + 1)
        if planned is None:
            break
        closed.append(decided)
        plans.append(planned)
    items = [
        item for planned, decided in zip(plans, with_revision(closed, last_revision(ledger)), strict=True)
        for item in _of_round(opened, planned, decided)
    ]
    return items if sample is None else _with_weights(opened, items, sample)


def predicted_and_labelled(opened: Opened, items: Sequence[LabelledItem]) -> list[tuple[float, float]]:
    """(prediction, label) of every labelled item, where both are numbers; nothing for other labels."""
    if opened.spec.labels.names or opened.spec.pool.prediction is None:
        return []
    return [(item.predicted, item.label) for item in items]


def errors_found(opened: Opened, items: Sequence[LabelledItem]) -> WrongPredictions | None:
    """The errors among the labelled items, as people write them; None without labels or predictions."""
    if not items:
        return None
    answers = opened.spec.labels.answers
    errors = wrong_predictions(items, by_size=not opened.spec.labels.names)
    return replace(errors, items=tuple(
        replace(item, predicted_text=answers.text(item.predicted), label_text=answers.text(item.label))
        for item in errors.items
    ))


def texts_of_errors(opened: Opened, errors: WrongPredictions | None) -> dict[str, str]:
    """Item -> what people saw of it, of the errors that are listed; nothing where nobody was asked."""
    texts: dict[str, str] = {}
    listed = {} if errors is None else {error.item_id: error.round for error in errors.items}
    for number in sorted(set(listed.values())):
        planned = read_plan(opened.ledger, number)
        for item_id, shown in zip(planned.item_id, planned.shown, strict=True) if planned else ():
            if item_id in listed and shown:
                texts[item_id] = " · ".join(text for text in shown.values() if text)
    return texts


def score_axis(opened: Opened, items: Sequence[LabelledItem]) -> tuple[ScoreBin, ...]:
    """Where the labels went on the axis of the score, or of the probability where the pool has no score."""
    cells = opened.question.cells
    if not isinstance(cells, Cells):
        return ()
    return along_the_score(
        cells.mean_probability if opened.spec.pool.score is None else cells.mean_score, cells.size,
        [item.cell for item in items], [item.label == 1 for item in items],
    )


def probabilities_held(opened: Opened, sample: PoolSample | None) -> tuple[ReliabilityBin, ...]:
    """The pool's probabilities against the labels: of the positive one of two classes, or of the class that
    is predicted; () without them, and where systems are compared."""
    labels = opened.spec.labels
    if sample is None or sample.items.probability is None or opened.spec.pool.compares:
        return ()
    if labels.positive_name is None:
        return _of_predictions(opened, sample, sample.items.probability)
    return reliability(
        sample.sample, sample.items.probability[:, 1], sample.kind.parts, opened.manifest.rows,
        opened.confidence,
    )


def _of_predictions(
    opened: Opened, sample: PoolSample, probability: Floats
) -> tuple[ReliabilityBin, ...]:
    if not sample.kind.one_of_parts or sample.items.systems != 1:
        return ()
    return reliability_of_predictions(
        sample.kind, sample.sample, sample.items, of_predicted(sample.items.prediction[:, 0], probability),
        opened.manifest.rows, opened.spec.target.confidence,
    )


def _of_round(opened: Opened, planned: PlannedRound, decided: Sequence[Decided]) -> Iterator[LabelledItem]:
    predicted = _predicted(planned)
    if predicted is None:
        return
    plan = planned.plan
    kind = probability_kind(plan)
    draw = {planned.item_id[t]: t for t in planned.asked()}
    for row in decided:
        if row.label is None:
            continue
        t = draw[row.item_id]
        yield LabelledItem(
            item_id=row.item_id, predicted=float(predicted[t]), label=row.label, round=planned.number,
            cell=row.cell, chance=float(plan.probability[t]), chance_kind=kind, asked=row.reason != "reused",
        )


def _predicted(planned: PlannedRound) -> Floats | None:
    """(T,) codes; None where nothing is predicted."""
    if planned.prediction is None and planned.predictions is not None:
        return planned.predictions[:, 0]
    return planned.prediction


def _with_weights(opened: Opened, items: Sequence[LabelledItem], sample: PoolSample) -> list[LabelledItem]:
    rows = dict(zip((row.item_id for row in sample.rows), zip(
        sample.sample.weight.tolist(), sample.rows, strict=True
    ), strict=True))
    return [
        item if (entry := rows.get(item.item_id)) is None else replace(
            item, weight=entry[0], score=_score(opened, entry[1]),
            probability=_probability(opened, entry[1], item),
        )
        for item in items
    ]


def _score(opened: Opened, row: FrozenRow) -> float | None:
    return None if opened.spec.pool.score is None or isnan(row.score) else row.score


def _probability(opened: Opened, row: FrozenRow, item: LabelledItem) -> float | None:
    """Of the positive of two classes, else of the predicted class; None for tags, and where there is none."""
    if opened.spec.pool.probability is None:
        return None
    if row.probabilities is not None:
        one_of = opened.statistics.kind.one_of_parts
        return row.probabilities[int(item.predicted)] if one_of else None
    return None if isnan(row.probability) else row.probability


# The whole report.

class NothingToReport(BadInput):
    """No round has closed yet, so there is no number to report."""


@retried
def report_data(
    opened: Opened,
    standing: Standing,
    *,
    truth: Mapping[str, float] | None = None,
    random_sampling: Sequence[RandomSampling] = (),
) -> ReportData:
    """Everything the report of an evaluation says.

    truth             exact values by measure, where they are known (the demo)
    random_sampling   what random sampling would have given, by measure

    Raises NothingToReport before the first round has closed.
    """
    if standing.known is None:
        raise NothingToReport(
            f"evaluation {opened.name!r} has no estimate yet: its first round is still open; "
            f"run `assay advance {opened.name}` when people have answered"
        )
    with understood(opened.name):
        recorded = _from_ledger(opened, standing)
    return replace(recorded, truth=truth, random_sampling=random_sampling)


def _from_ledger(opened: Opened, standing: Standing) -> ReportData:
    """The report as far as the ledger alone tells."""
    opened = opened.as_of(standing.rounds)   # intervals are those of the estimates, of the last closed round
    spec = opened.spec
    weighted, labels = _weighted(opened), more_labels(opened, standing)
    # of several questions an item may be right about one and wrong about another
    many_questions = asks_several(opened.question)
    labelled = [] if many_questions else labelled_items(opened, weighted)
    errors = None if many_questions else errors_found(opened, labelled)
    return ReportData(
        **{field.name: getattr(standing, field.name) for field in fields(standing)},
        pool=_pool(opened.manifest),
        spec=spec.to_json(),
        sampling_note=opened.method.sampling_note,
        serves_all=opened.statistics.serves_all,
        seed=spec.seed,
        versions=opened.versions,
        history=read_history(opened.ledger),
        labels_to_decide=labels,
        extend_command=extend_command(opened, standing, labels),
        notes=_notes(opened, standing.labels - standing.known_before),
        window_of=window_of(opened.ledger.store, opened.name),
        target_half_width=spec.first_half_width,
        target_variance=spec.target.variance if isinstance(spec.target.variance, float) else None,
        targets=spec.target.named,
        targets_are_variances=isinstance(spec.target.variance, dict),
        outcome=spec.labels.outcome,
        pairs=predicted_and_labelled(opened, labelled),
        errors=errors,
        error_texts=texts_of_errors(opened, errors),
        score_axis=score_axis(opened, labelled),
        reliability=probabilities_held(opened, weighted),
        negative=spec.labels.offered[1] if spec.labels.positive_name else "",
        annotators=_annotators(opened, standing.rounds, standing.revision),
        ceiling=[] if many_questions else read_ceiling(opened, weighted),
        judges=read_judges(opened, standing, weighted),
        judge_checks=read_judge_checks(opened, weighted),
        systems=_systems(opened),
        strengths=_strengths(opened, weighted),
        audit_price=read_audit_price(opened, standing.revision),
        began=_text(read_begun(opened.ledger)),
        finished=_text(read_closed(opened.ledger, standing.rounds))
        if standing.state == "finished" else None,
    )


def _notes(opened: Opened, bought: int) -> list[str]:
    start, held = opened.spec.warm_start, opened.spec.labels_so_far
    notes = [f"Spent: {spent}."] if (spent := cost_in_words(bought, opened.spec.ownership)) else []
    if held is not None:
        drawn = "a simple random sample of the pool" if held.weight is None else \
            f"drawn with the chances in {held.weight!r}"
        notes.append(
            f"{plural(opened.n_held, 'label')} of the pool {'was' if opened.n_held == 1 else 'were'} there "
            f"before ({held.source or opened.spec.pool.source}): {drawn}, as the spec says. They are the "
            "first round, and no budget counts them."
        )
    if start is None or not start.file:
        return notes
    many = plural(opened.evidence, "label")
    return [
        *notes,
        f"The choice of items started from {many} given elsewhere ({start.file}). Nobody knows how their "
        "items were chosen, so they are in no estimate."
    ]


def _weighted(opened: Opened) -> PoolSample | None:
    """The labelled items with their weights; None where they have none. A report says what it can:
    `assay estimate` says why there are no weights."""
    try:
        return read_sample(opened)
    except AssayError:
        return None


def _pool(manifest: Manifest) -> PoolSummary:
    return PoolSummary(
        n=manifest.rows,
        digest=manifest.digest,
        sources=[source.path for source in manifest.sources],
        predicted_positive=manifest.predicted_positives,
    )


def _systems(opened: Opened) -> ComparedSystems | None:
    names = list(opened.spec.pool.system_names)
    if not names:
        return None
    kind = opened.spec.labels.outcome
    return ComparedSystems(
        baseline=names[0], others=names[1:], differing=opened.manifest.differing or {},
        positive=None if kind is None else kind.counted,
        all_pairs=opened.spec.pool.pairs is not None or opened.spec.target.best_of is not None,
    )


def _strengths(opened: Opened, sample: PoolSample | None) -> dict[str, float]:
    """The log strengths of Bradley and Terry; none where no rows compare two systems."""
    rows = opened.spec.pool.contenders
    if rows is None or len(rows.columns) < 2 or sample is None:
        return {}
    strength = bradley_terry(sample.items, sample.kind, sample.sample.label, sample.sample.weight)
    return dict(zip(rows.names, strength, strict=False))


def _annotators(opened: Opened, number: int, revision: int) -> AnnotatorQuality:
    """How the people did up to a round, or by the newest revision, under names of the report's own."""
    ledger = opened.ledger
    record = read_revised_annotators(ledger, revision) if revision else None
    record = record or read_annotators(ledger, number)
    if record is None:
        return nothing_known(number, opened.spec.rule, opened.spec.desk.annotators_per_item)
    return pseudonymous(record, read_identity(ledger))


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


# The price of an audit.

def read_audit_price(opened: Opened, revision: int) -> AuditPrice | None:
    """What more labels spread evenly would do to the wide interval; None where none is announced.

    revision: whose labels count; 0: those the rounds were closed with.
    """
    folded = retried(fold)(opened.ledger, opened.statistics)
    newest = retried(last_revision)(opened.ledger) if revision else None
    if newest is not None:
        folded = revised_fold(opened, folded, newest)
    return audit_price(opened.question, folded.state)
