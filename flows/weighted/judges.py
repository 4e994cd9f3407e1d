"""What an evaluation's labels say of its judges."""

from dataclasses import replace

from assay.evalcore.outcome_measures.registry import of_scores
from assay.evalcore.weighted.judges import JudgeFigure, Judges, figures_of_judges, judge_figures
from assay.flows.record.opened import Opened
from assay.flows.record.standing import Standing
from assay.flows.weighted.estimate import measure_of
from assay.flows.weighted.sample import PoolSample, read_sample
from assay.tasks.weighted.judges import judges_of_pool


def read_judges(opened: Opened, standing: Standing, found: PoolSample | None) -> Judges | None:
    """The judges by the labels of now; found: the labelled items, if they have weights.

    None without a judge, a label or weights, and where systems are compared: no one of them is the judge.
    Also None where the first measure is a curve, or intervals are over clusters: nobody knows what a random
    sample would have needed.
    """
    pool, first = opened.spec.pool, opened.spec.measure[0]
    if standing.known is None or found is None:
        return None
    if pool.compared or pool.cluster is not None or of_scores(first.name):
        return None
    judges = judges_of_pool(opened.spec, found.rows, found.items, found.kind)
    if not judges:
        return None
    leading = standing.known.estimates[0]
    told = figures_of_judges(
        found.kind, found.sample, found.items, judges,
        first=measure_of(opened, found.kind, first.name, first.settings),
        variance=0.0 if leading.interval == "exact" else leading.variance,
        random_labels=leading.price_tag.random_labels if leading.price_tag else None,
        pool_size=opened.manifest.rows,
        positive=opened.spec.labels.positive_name, confidence=opened.confidence,
    )
    price = leading.price_tag
    if told.random_labels is None or price is None or price.random_labels is not None:
        return told
    # what a random sample needs is said once: where the price cannot be said, nor can what was saved
    return replace(
        told, random_labels=None, saved=None, saved_at_most=None, reason=price.random_labels_reason
    )


def read_figures(opened: Opened) -> dict[str, tuple[JudgeFigure, ...]]:
    """The figures of each judge, by the labels of now; none where systems are compared or items come in
    clusters. Raises BadInput where the labelled items have no weights."""
    spec = opened.spec
    if spec.pool.compares or spec.pool.cluster is not None:
        return {}
    found = read_sample(opened)
    return {
        judge.name: judge_figures(
            found.kind, found.sample, judge, opened.manifest.rows, spec.labels.positive_name,
            spec.target.confidence, offset=True,
        )
        for judge in judges_of_pool(spec, found.rows, found.items, found.kind)
    }
