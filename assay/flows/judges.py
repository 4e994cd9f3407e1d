"""What an evaluation's labels say of its judges: how often they agree with people, which features of items
move them away, and whether what an earlier evaluation said of them still holds.  Nothing is written to the
ledger.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from assay.evalcore.errors import AssayError, BadInput, plural
from assay.evalcore.evaluation.questions import asks_several
from assay.evalcore.measures.registry import of_scores
from assay.evalcore.weighted.estimate import unreached
from assay.evalcore.weighted.judge_audit import JudgeAudit, audit_of_judge, calibration_of
from assay.evalcore.weighted.judge_effects import Feature, JudgeEffects, judge_effects
from assay.evalcore.weighted.judges import (
    Judge,
    JudgedPool,
    JudgeFigure,
    Judges,
    figures_of_judges,
    judge_figures,
)
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.weighted import PoolSample, measure_of, read_sample
from assay.tasks.effects import retried
from assay.tasks.pool.shown import shown_of
from assay.tasks.report.data import JudgeChecks
from assay.tasks.report.standing import Standing
from assay.tasks.spec.judges import has_judges, measured_length
from assay.tasks.weighted.columns import column_as_texts, feature_of_texts, files_written_since
from assay.tasks.weighted.items import judges_of_pool


def read_judges(opened: Opened, standing: Standing, sample: PoolSample | None) -> Judges | None:
    """The judges by the labels of now; sample: the labelled items, if they have weights.

    None without a judge, a label or weights, and where systems are compared: no one of them is the judge.
    Also None where the first measure is a curve, intervals are over clusters or items have weights: nobody
    knows what a random sample would have needed.
    """
    pool, choice = opened.spec.pool, opened.spec.measure[0]
    if standing.known is None or sample is None:
        return None
    if pool.compared or pool.cluster is not None or pool.weight is not None or of_scores(choice.name):
        return None
    judges = judges_of_pool(opened.spec, sample.rows, sample.items, sample.kind)
    if not judges:
        return None
    leading = standing.known.estimates[0]
    figures = figures_of_judges(
        _judged(opened, sample), judges,
        leading=measure_of(opened, sample.kind, choice.name, choice.settings),
        variance=0.0 if leading.interval == "exact" else leading.variance,
        random_labels=leading.price_tag.random_labels if leading.price_tag else None,
        confidence=opened.confidence,
    )
    price = leading.price_tag
    if figures.random_labels is None or price is None or price.random_labels is not None:
        return figures
    # what a random sample needs is said once: where the price cannot be said, nor can what was saved
    return replace(
        figures, random_labels=None, saved=None, saved_at_most=None, reason=price.random_labels_reason
    )


def _judged(opened: Opened, sample: PoolSample) -> JudgedPool:
    return JudgedPool(
        kind=sample.kind, sample=sample.sample, items=sample.items, size=opened.manifest.rows,
        positive=opened.spec.labels.positive_name,
        unreached=unreached(opened.cut.cells.size, sample.sample),
    )


def read_figures(opened: Opened) -> dict[str, tuple[JudgeFigure, ...]]:
    """The figures of each judge, by the labels of now; none where systems are compared, or items come in
    clusters or have weights. Raises BadInput where the labelled items have no weights."""
    spec = opened.spec
    if spec.pool.compares or spec.pool.cluster is not None or spec.pool.weight is not None:
        return {}
    sample = read_sample(opened)
    return {
        judge.name: judge_figures(_judged(opened, sample), judge, spec.target.confidence, offset=True)
        for judge in judges_of_pool(spec, sample.rows, sample.items, sample.kind)
    }


def read_judge_checks(opened: Opened, sample: PoolSample | None) -> JudgeChecks | None:
    """What the spec asks of its judges, by the labels of now; what cannot be said is a note.  None where it
    asks nothing, and before the first label."""
    request = opened.spec.judges
    if request is None:
        return None
    if sample is None:
        return JudgeChecks(notes=("Nothing is said of the judges: the labelled items have no weights.",))
    checks = JudgeChecks()
    if request.features is not None:
        try:
            checks = replace(checks, effects=effects_of_features(opened, sample, request.features))
        except AssayError as error:
            checks = replace(checks, notes=(f"What moves the judges is not known: {error}.",))
    if request.audit is not None:
        try:
            audits = audits_of_judges(opened, sample, request.audit.evaluation, request.audit.margin)
            checks = replace(checks, audits=audits)
        except AssayError as error:
            note = f"The calibration by {request.audit.evaluation} is not audited: {error}."
            checks = replace(checks, notes=(*checks.notes, note))
    return checks


def effects_of_features(opened: Opened, sample: PoolSample, features: Sequence[str]) -> JudgeEffects:
    """How each judge's distance from people moves with each feature: a column of the pool, or length(column).

    Raises BadInput where there is no judge, for a column that is not there or that says nothing, and for a
    source that is no longer what was frozen.
    """
    judges, pool = _judges(opened, sample), _judged(opened, sample)
    texts = cache(lambda: _shown(opened, sample))      # read once, for all lengths
    columns, reread = [], False
    for name in features:
        feature, is_reread = _feature(opened, sample, name, texts)
        columns.append(feature)
        reread = reread or is_reread
    effects = judge_effects(pool, judges, columns, opened.confidence)
    notes = [
        f"{path} was written since the pool was frozen; a feature that was read from it now may have changed"
        for path in (files_written_since(opened.ledger, opened.manifest, sample.rows) if reread else ())
    ]
    if pool.unreached:
        notes.append(f"{plural(pool.unreached, 'item')} that the measures never look at could not be drawn: "
                     "this is of the others")
    return replace(effects, notes=(*effects.notes, *notes))


def _feature(
    opened: Opened, sample: PoolSample, name: str, texts: Callable[[], list[dict[str, str]]]
) -> tuple[Feature, bool]:
    """And whether the source was read again for it; texts: what people are shown."""
    column, pool = measured_length(name), opened.spec.pool
    if column is not None:
        if column not in pool.display:
            raise BadInput(f"{name}: people are not shown a column {column!r}; they see "
                           f"{', '.join(pool.display) or 'nothing'}")
        return feature_of_texts(name, [str(len(item[column])) for item in texts()]), False
    if all(name in row.features for row in sample.rows):
        return feature_of_texts(name, [row.features[name] for row in sample.rows]), False
    if name in opened.manifest.segment_names:
        return feature_of_texts(name, [row.segments[name] for row in sample.rows]), False
    texts_again = column_as_texts(opened.spec, opened.ledger, opened.manifest, sample.rows, name)
    return feature_of_texts(name, texts_again), True


@retried
def _shown(opened: Opened, sample: PoolSample) -> list[dict[str, str]]:
    return shown_of(opened.ledger.store, opened.manifest, opened.spec.pool.display, sample.rows)


def audits_of_judges(
    opened: Opened, sample: PoolSample, earlier: str, margin: float, judge: str | None = None
) -> tuple[JudgeAudit, ...]:
    """The audit of each judge that both evaluations have, or of one; earlier: whose labels calibrate it.

    Raises BadInput where none is in both, and for labels that are too few or of another kind.
    """
    if earlier == opened.name:
        raise BadInput(f"{earlier!r} is this evaluation itself: labels cannot audit what they have made; "
                       "name an earlier evaluation")
    before = open_evaluation(opened.ledger.store, earlier)
    if asks_several(before.question):
        raise BadInput(f"evaluation {earlier!r} asks several questions, and a calibration is of one")
    old = read_sample(before)
    then = {judge_.name: judge_ for judge_ in _judges(before, old)}
    panel = {judge_.name: judge_ for judge_ in _judges(opened, sample)}
    names = [name for name in panel if name in then and judge in (None, name)]
    if not names:
        lost = "no judge in common" if judge is None else f"no judge {judge!r} in common"
        raise BadInput(f"{opened.name} and {earlier} have {lost}: {_named(panel)} here, {_named(then)} there")
    old_pool, pool = _judged(before, old), _judged(opened, sample)
    if pool.unreached:
        raise BadInput(f"{plural(pool.unreached, 'item')} of {opened.name} could not be drawn, as its "
                       "measures never look at them, and a calibration is audited over all items")
    return tuple(
        audit_of_judge(
            calibration_of(old_pool, then[name]), pool, panel[name],
            margin=margin, confidence=opened.confidence, calibrated_by=earlier,
        )
        for name in names
    )


def _named(judges: Mapping[str, Judge]) -> str:
    return ", ".join(judges) or "none"


def _judges(opened: Opened, sample: PoolSample) -> list[Judge]:
    """The judges that are looked at: not the results of earlier systems, which are evidence.

    Raises BadInput where there are none, and where labels say nothing of single items.
    """
    spec = opened.spec
    if not has_judges(spec.pool):
        raise BadInput(f"the pool of {opened.name!r} has no judge; name one under pool.judge, or "
                       "pool.probability")
    if opened.method.name.startswith("whole-clusters"):
        raise BadInput(f"{opened.name!r} draws whole clusters, whose items are not drawn one by one, "
                       "and judges are looked at where they are")
    # of compared systems the probabilities are each system's own
    items = replace(sample.items, probability=None) if spec.pool.compares else sample.items
    earlier = set(spec.pool.earlier or ())
    judges = [
        judge for judge in judges_of_pool(spec, sample.rows, items, sample.kind) if judge.name not in earlier
    ]
    if not judges:
        raise BadInput(f"no judge of {opened.name!r} says anything of the labelled items")
    return judges
