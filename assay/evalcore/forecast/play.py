"""An evaluation played on in plausible worlds, each with all labels known, until it reaches a goal.

K   worlds, the repeats of the method;  G   goals;  L   looks;  C   cells
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from assay.evalcore.design.draws import simulate_anew, simulate_labels
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.state import Past, Question, State
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import LOOKS_IN_A_ROW, MIN_LABELS
from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState, with_exact_values
from assay.evalcore.pool.strata import Cells
from assay.evalcore.recalibration.label_model import CONFIGURATIONS, fit, label_model, pool_shape, warmed
from assay.evalcore.recalibration.posterior import noise, posterior
from assay.evalcore.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NEVER = np.inf   # how far off an estimate is that cannot meet any goal yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is waited for: one of these.  Widths are of the interval of the first measure.

    Raises BadInput unless exactly one is given.
    """

    half_width: float | None = None
    variance: float | None = None
    threshold: tuple[float | None, float | None] | None = None   # (min, max): cleared or missed
    least_labels: int = MIN_LABELS   # before which no target is met
    looks: int = LOOKS_IN_A_ROW      # at which it has to be met

    def __post_init__(self) -> None:
        targets = [x for x in (self.half_width, self.variance, self.threshold) if x is not None]
        if len(targets) != 1:
            raise BadInput(f"a goal is one of half_width, variance and threshold, got {len(targets)} of them")

    def distance(self, measure: Measure, lower: Floats, upper: Floats, variance: Floats) -> Floats:
        """How far (K,) from the goal: the log of width or variance over the target; 1 or -1 for a verdict.

        lower, upper (K,): ends of the interval, the measure's own where they are not finite; variance (K,).
        A goal is met at 0 and below.
        """
        lower, upper = (
            np.where(np.isfinite(end), end, bound)
            for end, bound in zip((lower, upper), measure.bounds, strict=True)
        )
        with np.errstate(divide="ignore"):
            if self.half_width is not None:
                return np.asarray(np.log((upper - lower) / 2 / self.half_width))
            if self.variance is not None:
                return np.asarray(np.log(variance / self.variance) / 2)
        low, high = self.threshold or (None, None)
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        inside = (lower >= low) & (upper <= high)
        return np.where(inside | (upper < low) | (lower > high), -1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Labels in all, those there are included, until a goal is met; None: more than `horizon`."""

    goal: Goal
    labels: int | None       # median over the worlds
    low: int | None          # the middle 80% of the worlds
    high: int | None
    horizon: int             # labels up to which the worlds were played
    share: float             # of the worlds that met the goal within the horizon
    labels_now: int
    worlds: int
    # with 95%, where the median over endlessly many worlds lies, and how far off `share` may be; None: the
    # worlds were not drawn at random
    least: int | None = None
    most: int | None = None          # None beside a number in `least`: more than `horizon`
    share_error: float | None = None

    @property
    def more(self) -> int | None:
        """The number of labels that are still missing by the median world, never below 0; None where it is
        more than the horizon. `labels_now` are there already."""
        return None if self.labels is None else max(self.labels - self.labels_now, 0)


WORLD_DRAWS = 600   # of the posterior, from which the worlds are picked by weight
MOST_CELLS = 256    # beyond which neighbouring cells share their rates


def plausible_worlds(
    cells: Cells,
    labelled: Ints,
    open_items: Ints,
    count: int,
    rng: np.random.Generator,
    evidence: Floats | None = None,
) -> Ints:
    """`count` worlds: items by their label (count, C, 2), what is labelled as it is.

    labelled (C, 2); open_items (C,) unlabelled items that can be asked; evidence (C, 2): the pseudo-labels of
    an earlier window, where the evaluation starts from them.

    Plausible worlds: what the unlabelled items of a pool may turn out to be, given the labels so far.

    A world is one draw of the recalibrated label model (`evalcore.recalibration`), positive rates of every
    cell, and then of the labels themselves.  That model is used for every method: which worlds are plausible
    is a question about the pool and not about how it is sampled, and the models of the published methods take
    the supplied probabilities at their word, which on a rare class expects forty times too many positives.
    """
    group = _groups(cells)
    model = label_model(pool_shape(_merged(cells, group)), CONFIGURATIONS)
    if evidence is not None:
        model = warmed(
            model,
            np.stack(
                [np.bincount(group, weights=evidence_of_label) for evidence_of_label in evidence.T], axis=1
            ),
        )

    def summed(by_cell: Ints) -> Floats:
        return np.asarray(np.bincount(group, weights=by_cell)[None], dtype=np.float64)

    n, k = summed(labelled.sum(axis=1)), summed(labelled[:, 1])
    post = posterior(model, fit(model, n, k), n, k, summed(open_items), noise(model, WORLD_DRAWS, rng))
    rate = post.rate[0][_by_weight(post.weight[0], count, rng)][:, group]
    positive = rng.binomial(open_items, np.clip(rate, 0.0, 1.0))
    return np.asarray(labelled + np.stack([open_items - positive, positive], axis=-1), dtype=np.int64)


def _groups(cells: Cells) -> Ints:
    """The group (C,) of each cell: itself, or where there are many, neighbours of one prediction together.

    The label model's cost grows with the cube of its cells, and its rates are smooth in the score.
    """
    if cells.n_cells <= MOST_CELLS:
        return np.arange(cells.n_cells)
    reach = np.cumsum(np.sqrt(cells.size))
    block = np.minimum((reach / reach[-1] * MOST_CELLS / 2).astype(np.int64), MOST_CELLS // 2 - 1)
    group: Ints = np.unique(block * 2 + cells.prediction, return_inverse=True)[1].astype(np.int64)
    return group


def _merged(cells: Cells, group: Ints) -> Cells:
    """The cells of the groups, their means weighted by size."""
    size = np.bincount(group, weights=cells.size)
    first_cells = np.unique(group, return_index=True)[1]

    def mean(by_cell: Floats) -> Floats:
        return np.asarray(np.bincount(group, weights=cells.size * by_cell) / size)

    return Cells(
        stratum=cells.stratum[first_cells],
        prediction=cells.prediction[first_cells],
        size=size.astype(np.int64),
        mean_score=mean(cells.mean_score),
        mean_probability=mean(cells.mean_probability),
        log_density=mean(cells.log_density),
        n_slots=cells.n_slots,
    )


def _by_weight(weight: Floats, count: int, rng: np.random.Generator) -> Ints:
    """Indices (count,), systematic in the cumulated weights, so that few draws represent them well."""
    reach = np.cumsum(weight)
    places = (np.arange(count) + rng.random()) / count * reach[-1]
    return np.asarray(np.minimum(np.searchsorted(reach, places), len(weight) - 1), dtype=np.int64)


LOOK_GROWTH = 0.4   # labels between two looks, as a share of those there are


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorldLooks:
    """How the K worlds looked at L growing numbers of labels: the labels of each, (L, K), and how far off
    each of G goals was, (L, G, K), at 0 and below where it was met."""

    labels: Floats   # (L, K)
    off: Floats      # (L, G, K) how far off each goal was, met at 0 and below: `Goal.distance`

    @property
    def until(self) -> list[int]:
        """Looks (G) of each goal alone: up to the second in a row at which all worlds met it. G counts the
        goals; it is the number of all looks where a goal is never met so."""
        met: Bools = np.asarray((self.off <= 0).all(axis=2))
        over = met[1:] & met[:-1] & (self.labels[1:].max(axis=1, keepdims=True) >= MIN_LABELS)
        return [int(np.argmax(over_goal)) + 2 if over_goal.any() else len(met) for over_goal in over.T]


def play(
    question: Question,
    state: State,
    by_label: Ints,
    goals: Sequence[Goal],
    horizon: int,
    batch_size: int,
    rng: np.random.Generator,
) -> WorldLooks:
    """The looks from where the evaluation stands until all worlds met all goals, or the horizon.

    by_label (K, C, 2): items of each cell by label; horizon, batch_size: labels in all and in a round.
    """
    method, count = question.method.for_forecast(), len(by_label)
    inner = _restarted(replace(question, method=method), state, count)
    labels: list[Floats] = []
    off: list[Floats] = []
    n = state.labels
    while True:
        if n:
            labels.append(inner.bought.astype(np.float64))
            off.append(_distances(method, inner, question.confidence, goals, rng))
            enough = len(off) > 1 and inner.bought.max() >= MIN_LABELS
            if enough and (off[-1] <= 0).all() and (off[-2] <= 0).all():
                break
        if n >= horizon or not inner.wanted.any():
            break
        step = min(max(batch_size, int(np.ceil(LOOK_GROWTH * n))), horizon - n)
        size = method.round_size(inner, np.full(count, step))
        design, draws = method.next_round(inner, size, rng)
        if method.asks_anew:
            round_labels = simulate_anew(draws, by_label[..., 1] / by_label.sum(axis=2), rng)
        else:
            round_labels = simulate_labels(draws, by_label - inner.labelled, rng)
        inner = method.observe(inner, design, round_labels, np.zeros_like(inner.excluded))
        n += int(size.max())
    return WorldLooks(labels=np.stack(labels), off=np.stack(off))


def _restarted(question: Question, state: State, count: int) -> MethodState:
    """What the method knows after the closed rounds, in every world alike."""
    inner: MethodState = question.method.first_state(
        question.cells, question.measures, count, question.evidence
    )
    for past in state.past:
        same = _for_all(past, count)
        inner = question.method.observe(inner, same.design, same.labels, same.excluded)
    return inner


def _distances(
    method: CountingMethod[MethodState], inner: MethodState, confidence: float, goals: Sequence[Goal],
    rng: np.random.Generator,
) -> Floats:
    """How far off (G, K) each goal is by the first measure; -1 where every label that matters is known."""
    estimate = with_exact_values(inner, method.bare_estimate(inner, confidence, rng))[0]
    done = ~inner.wanted.any(axis=1)
    usable = _both_labels(inner.answers_by_label) & np.isfinite(estimate.value) & (estimate.variance > 0)
    measure = inner.measures[0]
    return np.stack([
        np.where(done, -1.0, np.where(
            usable, goal.distance(measure, estimate.lower, estimate.upper, estimate.variance), NEVER
        ))
        for goal in goals
    ])


def _both_labels(labelled: Ints | Floats) -> Bools:
    """Whether (K,) there is a positive and a negative label; labelled (K, C, 2), or weights of answers."""
    positive, labels = labelled[..., 1].sum(axis=1), labelled.sum(axis=(1, 2))
    return np.asarray((positive > 0) & (positive < labels))


def _for_all(past: Past, count: int) -> Past:
    """A round that happened, once for every world."""
    return Past(
        design=_repeated(past.design, count),
        labels=_repeated(past.labels, count),
        excluded=np.repeat(past.excluded, count, axis=0),
    )


RecordT = TypeVar("RecordT", bound="DataclassInstance")


def _repeated(record: RecordT, count: int) -> RecordT:
    """The record with each of its arrays (1, ...) repeated along the first axis."""
    arrays = {f.name: getattr(record, f.name) for f in fields(record)}
    return replace(record, **{
        name: np.repeat(x, count, axis=0) for name, x in arrays.items() if isinstance(x, np.ndarray)
    })
