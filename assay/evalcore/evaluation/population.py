"""Estimates of the population that a pool is a sample of: how its items pull at what is asked.

The sample is the pool: simple random, drawn in strata, or of whole clusters where items come in clusters.
Labels tell the pulls of labelled items, each for the items that it stands for; items whose label can change
nothing are there with the pull that the pool alone tells.

    two classes     a kind of item for every prediction and label, by the confusion table that the labels
                    suggest (`evaluation.price_tag`)
    any outcome     a row for every label, and one for each cell without use for labels
    clusters        the interval over clusters is of the population already
                    (`methods.any_outcome.interval`); here it is kept from closing where all clusters agree
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.estimators.population import SAMPLING, About, Pulls, apart, for_population, in_strata
from assay.evalcore.evaluation.estimate import AlsoAbout, MeasureEstimate
from assay.evalcore.evaluation.price_tag import FoundLabels, weighted_confusion
from assay.evalcore.evaluation.state import LabelledRound, Question, Segments, State, chances_of
from assay.evalcore.measures.by_class import Counts
from assay.evalcore.measures.measure import each_number
from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.any_outcome.interval import slopes_of_known
from assay.evalcore.methods.any_outcome.state import SampleState
from assay.evalcore.methods.any_outcome.unseen_errors import loss_scale, possible_pulls
from assay.evalcore.reproducible import is_nothing, stream
from assay.evalcore.types import Floats, Ints

BOTH_BELOW = 5_000   # items of a pool of which both intervals are told
_ALIKE_WORTH = 1e-9   # of the largest: what all items are worth, when it differs by no more
# slopes by central differences are right to 1 part in 10⁷, where sums are to 1 in 10¹²: so many times what
# rounding leaves is nothing
_BY_DIFFERENCES = 1e5


def about_of(question: Question, state: State) -> About:
    """What the intervals are about: as asked; unless said the pool, or where clusters are named what they are
    a sample of. It is the word that the JSON has under `about`."""
    if question.about is not None:
        return question.about
    return "population" if state.inner.clustered else "pool"


def both_estimates(
    question: Question, state: State
) -> tuple[list[EstimateArrays], list[EstimateArrays] | None]:
    """The estimates (R = 1) of what is asked about, and of the other, where it is told too. The second is
    None where only one can be told."""
    asked_about = about_of(question, state)
    other_about: About = "pool" if asked_about == "population" else "population"
    main_estimates = _estimates_about(question, state, asked_about)
    if not question.beside or not state.labels:
        return main_estimates, None
    if asked_about == "pool" and not state.inner.clustered:
        return main_estimates, sampled_from(question, state, main_estimates)
    return main_estimates, _estimates_about(question, state, other_about)


def _estimates_about(question: Question, state: State, about: About) -> list[EstimateArrays]:
    def estimates_in(inner: object) -> list[EstimateArrays]:
        rng = stream(question.seed, question.evaluation, state.round, "estimate")
        estimates: list[EstimateArrays] = question.method.number_estimates(inner, question.confidence, rng)
        return estimates

    if about == "pool":
        return estimates_in(state.inner.of_the_pool)
    estimates = estimates_in(state.inner)
    if not state.labels or (state.inner.clustered and question.about is None):
        return estimates
    return sampled_from(question, state, estimates)


def sampled_from(question: Question, state: State, estimates: list[EstimateArrays]) -> list[EstimateArrays]:
    """The estimates of the population, from those of its pool; estimates: over clusters, where there are any.
    Sampling of the pool from its population adds its own variance to each."""
    bounds = [measure.bounds for measure, _ in each_number(question.measures)]
    if question.stack is None:
        return [
            _of_two_classes(estimate, measure, question, state)
            for estimate, measure in zip(estimates, question.measures, strict=True)
        ]
    pulls = pulls_of_labels(question, state)
    if not state.inner.clustered:
        return for_population(estimates, pulls, bounds, question.confidence)
    return _never_closed(estimates, pulls, bounds, question.confidence)


def _never_closed(
    estimates: list[EstimateArrays], pulls: Pulls, bounds: list[tuple[float, float]], confidence: float
) -> list[EstimateArrays]:
    """Intervals over clusters, no nearer than what no cluster has shown may reach."""
    down, up = pulls.unseen_cluster(np.full(len(estimates), confidence))
    return [
        replace(
            estimate, lower=np.fmin(estimate.lower, np.maximum(estimate.value - down[q], bounds[q][0])),
            upper=np.fmax(estimate.upper, np.minimum(estimate.value + up[q], bounds[q][1])),
        )
        for q, estimate in enumerate(estimates)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalsAbout:
    """What intervals are to be about, and whether the other is told beside it."""

    about: About | None = None   # None: the pool, or where items come in clusters what they are a sample of
    beside: bool = False

    @property
    def of_pool_alone(self) -> bool:
        """Whether nothing at all is said of the population: intervals are about the pool, or what clusters
        are a sample of, and none is told beside them."""
        return self.about != "population" and not self.beside


def row_about(
    row: MeasureEstimate, subject: IntervalsAbout, pulls: Callable[[], Pulls], q: int,
    bounds: tuple[float, float], labels: float | None = None,
) -> MeasureEstimate:
    """An estimate whose interval is for the pool, as it is asked for; labels: see `apart`. Otherwise the
    estimate comes back with the sampling of the pool in it."""
    if row.value is None or row.lower is None or row.upper is None or subject.of_pool_alone:
        return row
    sampling_interval = apart(
        row.value, (row.lower, row.upper), pulls(), q, bounds, row.confidence, labels=labels
    )
    kind = SAMPLING if row.interval == "exact" else f"{row.interval}, and {SAMPLING}"
    sampled = AlsoAbout(
        about="population", lower=number_or_none(sampling_interval.lower),
        upper=number_or_none(sampling_interval.upper),
        interval=kind,
    )
    if subject.about != "population":
        return replace(row, also=sampled)
    beside = AlsoAbout(about="pool", lower=row.lower, upper=row.upper, interval=row.interval)
    return replace(
        row, about="population", lower=sampled.lower, upper=sampled.upper, interval=kind,
        variance=None if row.variance is None else row.variance + sampling_interval.variance,
        also=beside if subject.beside else None,
    )


def number_or_none(x: float) -> float | None:
    """The number itself, or None where it is NaN or infinite."""
    return x if np.isfinite(x) else None


def rows_about(
    question: Question, state: State, rounds: Sequence[LabelledRound], segments: Segments,
    rows: Sequence[MeasureEstimate],
) -> tuple[MeasureEstimate, ...]:
    """The estimates by segment of two classes, as they are asked for."""
    subject = IntervalsAbout(about=about_of(question, state), beside=question.beside)
    if subject.of_pool_alone:
        return tuple(rows)
    measures = {asked_measure.name: asked_measure for asked_measure in question.measures}
    tables = {
        f"{column}={value}": table_and_labels
        for column, values in segments.items()
        for value,
        table_and_labels in zip(values, _segment_tables(state, rounds, column, values), strict=True)
    }
    even = chances_of(rounds) == "equal"

    def converted(row: MeasureEstimate) -> MeasureEstimate:
        counts, labels = tables[str(row.segment)]
        if not labels > 0:      # the interval is the whole range already
            return row if subject.about != "population" else replace(row, about="population")
        measure = measures[row.measure]
        return row_about(
            row, subject, lambda: pulls_of_table(measure, counts, labels), 0, measure.bounds,
            labels if even else None,
        )

    return tuple(map(converted, rows))


def _segment_tables(
    state: State, rounds: Sequence[LabelledRound], column: str, values: Mapping[str, int]
) -> list[tuple[Floats, float]]:
    """Items by prediction and label that the labels of each segment suggest, and what those are worth."""
    chance = -np.expm1(-state.reached)
    item_weight = np.divide(1.0, chance, out=np.ones_like(chance), where=chance > 0)
    weight, square = np.zeros((len(values), 2, 2)), np.zeros(len(values))
    for labelled_round in rounds:
        at = labelled_round.plan.ask & (labelled_round.label >= 0)
        w, segment = item_weight[labelled_round.plan.cell[at]], labelled_round.segment[column][at]
        np.add.at(weight, (segment, labelled_round.prediction[at], labelled_round.label[at]), w)
        np.add.at(square, segment, w**2)
    total = weight.sum(axis=(1, 2))
    scale = np.array(list(values.values())) / np.where(total > 0, total, 1.0)
    return [
        (weight[i] * scale[i], float(total[i] ** 2 / max(square[i], 1e-12))) for i in range(len(values))
    ]


def _of_two_classes(
    estimate: EstimateArrays, measure: Measure, question: Question, state: State
) -> EstimateArrays:
    """Labels of an even sample are a sample of the population too, whatever the pool: then the interval is no
    nearer than theirs.  (The normal interval of few labels covered F1 in 92 of 100 runs.)"""
    pulls = pulls_of_confusion(measure, question, state)
    (wide,) = for_population([estimate], pulls, [measure.bounds], question.confidence)
    share = _even_share(measure, state)
    if not share or question.known is not None:      # none of the labels may matter
        return wide
    ends = float(estimate.lower[0]), float(estimate.upper[0])
    sampling_interval = apart(float(estimate.value[0]), ends, pulls, 0, measure.bounds, question.confidence,
                  labels=share * float(pulls.items.sum()))
    return replace(wide, lower=np.array([sampling_interval.lower]), upper=np.array([sampling_interval.upper]))


def _even_share(measure: Measure, state: State) -> float | None:
    """The share of the items that matter that is labelled, where all of them had the same chance; else
    None."""
    inner = state.inner
    matters = measure.label_matters()[inner.cells.prediction] & (inner.cells.size > 0)
    reached = state.reached[matters]
    if not matters.any() or np.ptp(reached) > _ALIKE_WORTH * max(float(reached.max()), _ALIKE_WORTH):
        return None
    return min(float(inner.by_cell[0][matters].sum() / inner.cells.size[matters].sum()), 1.0)


def pulls_of_confusion(measure: Measure, question: Question, state: State) -> Pulls:
    """By prediction and label. A prediction of which no label is known counts as right. The variance of the
    population's sampling is made from them."""
    labels_of_cells = FoundLabels(
        cells=question.cells, labelled=state.inner.labelled[0], left=state.inner.left[0],
        reached=state.reached,
    )
    counts = weighted_confusion(labels_of_cells)
    for f in (0, 1):
        if np.isnan(counts[f]).any():
            counts[f] = np.eye(2)[f] * labels_of_cells.cells.size[labels_of_cells.cells.prediction == f].sum()
    return pulls_of_table(measure, counts, effective_labels(labels_of_cells), question.known)


def effective_labels(found_labels: FoundLabels) -> float:
    """(Σω)²/Σω²: how many labels of a simple random sample the labels tell as much as. Kish (1965), section
    11.7; ω is the inverse of the chance of an item's label."""
    chance = -np.expm1(-found_labels.reached)
    item_weight = np.divide(1.0, chance, out=np.ones_like(chance), where=chance > 0)
    labels = found_labels.labelled.sum(axis=1)
    return float((labels @ item_weight) ** 2 / max(float(labels @ item_weight**2), 1e-12))


def pulls_of_table(
    measure: Measure, counts: Floats, labels: float, known_items: Ints | None = None
) -> Pulls:
    """Of items by prediction and label, counts (2, 2), which labels worth so many suggest.

    known_items (2, 2): others that the measure takes account of (`measures.two_classes.with_known_items`).
    """
    n_others = max(float(counts.sum()), 1.0)
    gradient = measure.gradient(np.einsum("fy,fyd->d", counts / n_others, measure.loss))
    if known_items is not None:
        counts, labels = counts + known_items, labels + float(known_items.sum())
    total = max(float(counts.sum()), 1.0)
    gradient = np.nan_to_num(gradient * (total / n_others), nan=0.0, posinf=0.0, neginf=0.0)
    risk = np.einsum("fy,fyd->d", counts / total, measure.loss)
    z = ((measure.loss - risk) @ gradient).reshape(4, 1)
    size = ((np.abs(measure.loss) + np.abs(risk)) @ np.abs(gradient)).reshape(4, 1)
    z = np.where(is_nothing(z, size), 0.0, z)
    has_items = np.repeat(counts.sum(axis=1) > 0, 2)
    return Pulls(
        z=z, items=counts.reshape(4), labels=labels,
        most_down=np.maximum(-z[has_items], 0.0).max(axis=0, initial=0.0),
        most_up=np.maximum(z[has_items], 0.0).max(axis=0, initial=0.0),
    )


def pulls_by_class(
    stack: Stack, known_sizes: list[int], rows: Floats, risk: Floats, slopes: Floats, items: Floats
) -> tuple[Pulls, ...]:
    """The pulls of each class, where numbers sum over classes; none where they do not, and of items with
    weights.

    rows (n, D + D_k): what labels tell, each of so many items (n,); risk (D + D_k,), slopes (Q, D + D_k).
    """
    pulls, at, after = [], 0, stack.size
    for loss, width in zip(stack.losses, known_sizes, strict=False):
        start, known_column = at, after
        at, after = at + loss.size, after + width
        if stack.weights is not None or not isinstance(loss, Counts) or width <= 1:
            continue
        columns = np.arange(width)[:, None] + np.array([start, start + width, known_column])    # (K, 3)
        in_several = (np.abs(slopes[:, columns]).max(axis=2, initial=0.0) > 0).sum(axis=1) > 1
        for k in columns if in_several.any() else ():
            by_hit, by_label, by_prediction = (slopes[:, k] * in_several[:, None]).T
            mean = (slopes[:, k] * in_several[:, None]) @ risk[k]                           # (Q,)
            z = rows[:, k] @ (slopes[:, k] * in_several[:, None]).T - mean
            hit_and_miss = (
                np.stack([by_hit + by_label + by_prediction, by_prediction])
                if risk[k[2]] > 0
                else np.zeros((0, len(mean)))
            )
            pull = np.concatenate([hit_and_miss, [by_label, np.zeros(len(mean))]]) - mean  # of what may be
            size = np.abs(rows[:, k]) @ np.abs(slopes[:, k]).T + np.abs(mean)
            pulls.append(Pulls(
                z=np.where(is_nothing(z, _BY_DIFFERENCES * size), 0.0, z), items=items,
                labels=float(items.sum() ** 2 / (items @ items)),
                most_down=np.maximum(-pull, 0.0).max(axis=0), most_up=np.maximum(pull, 0.0).max(axis=0),
            ))
    return tuple(pulls)


def pulls_of_labels(question: Question, state: State) -> Pulls:
    """By label, and by cell where no label can change anything."""
    inner: SampleState = state.inner
    stack, cells = inner.stack, inner.cells
    if inner.table is None:
        raise ValueError("there are no labels")
    weight = question.method.weights(inner).weight
    sizes = (cells.size - inner.excluded[0]).astype(np.float64)
    weight = weight * (sizes @ cells.relevant) / weight.sum()
    loss, known_losses = inner.table.loss[inner.item[0]], inner.table.known[inner.item[0]]
    idle = ~cells.relevant & (sizes > 0)
    known_of_idle = cells.told[idle] / cells.size[idle, None]
    expected = np.einsum("b,cbd->cd", cells.first, cells.guess[idle]) / cells.size[idle, None]
    items = np.concatenate([weight, sizes[idle]])
    rows = np.concatenate([np.hstack([loss, known_losses]), np.hstack([expected, known_of_idle])])
    risk = items @ rows / items.sum()
    risk[stack.size :] = (cells.known - inner.excluded_known[0]) / sizes.sum()
    known_sizes = cells.known_sizes.tolist()
    slopes = np.concatenate(
        [stack.slopes(risk, known_sizes), slopes_of_known(stack, known_sizes, risk[None])[0]], axis=1
    )
    slopes = np.where(is_nothing(slopes, np.abs(slopes).max(initial=0.0)), 0.0, slopes)
    z = (rows - risk) @ slopes.T
    size = (np.abs(rows) + np.abs(risk)) @ np.abs(slopes).T
    z = np.where(is_nothing(z, _BY_DIFFERENCES * size), 0.0, z)
    scaled = slopes[None, :, : stack.size] * loss_scale(stack, loss[None])[:, None]
    (low, high), _ = possible_pulls(inner, scaled)
    occupied = sizes > 0
    known_pull = (cells.told[occupied] / cells.size[occupied, None]) @ slopes[:, stack.size :].T
    apart = known_pull - slopes @ risk      # (C, Q) of an item that no outcome pulls
    clusters = None if inner.table.cluster is None else len(np.unique(inner.table.cluster[inner.item[0]]))
    pulls = Pulls(
        z=z, items=items, labels=float(weight.sum() ** 2 / (weight @ weight)), clusters=clusters,
        most_down=np.maximum((low[0][:, occupied] - apart.T).max(axis=1), 0.0),
        most_up=np.maximum((high[0][:, occupied] + apart.T).max(axis=1), 0.0),
        of_class=pulls_by_class(stack, known_sizes, rows, risk, slopes, items),
    )
    if inner.table.stratum is None:
        return pulls
    stratum = inner.table.stratum[inner.item[0]]
    return in_strata(pulls, np.concatenate([stratum, np.full(int(idle.sum()), np.nan)]))
