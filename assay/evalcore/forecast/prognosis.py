"""What a pool would cost before anything of it is labelled: by a method, and by random sampling.

Before that, which methods can be used on it, and what there is to say against each (`suitabilities`).

The method is played on in plausible worlds (`labels_needed`).  Random sampling has a formula
(`evalcore.estimators.random_sampling`) for a given confusion table: the one of the labels where they are
known, else those of plausible worlds, of whose answers the median is taken.

    N   items of the pool;  tables (2, 2) of counts by [prediction, label]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.evalcore.errors import AssayError, BadInput
from assay.evalcore.estimators.random_sampling import chance_undefined, random_sampling_equivalent
from assay.evalcore.evaluation.state import Question, before_any_label
from assay.evalcore.evaluation.stopping import rule_in_words
from assay.evalcore.forecast.audit import hidden_that_move, labels_to_exclude
from assay.evalcore.forecast.labels_needed import WORLDS_AT_ONCE, Played, forecast
from assay.evalcore.forecast.play import Forecast, Goal, plausible_worlds
from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.methods.registry import METHODS, method
from assay.evalcore.methods.two_classes.choice import Choice
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.pool.strata import Cells
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Array, Floats

_TRIED = 100_000        # items on which methods are tried: enough to see one refuse
_RARE = 0.02            # share of predicted positives below which the class looks rare


@dataclass(frozen=True, slots=True, kw_only=True)
class Suitability:
    """Whether one method suits one pool: chosen, possible, not advised or refused, and why."""

    name: str
    verdict: Literal["chosen", "possible", "not advised", "refused"]
    why: str             # nothing where there is nothing to say against it


def suitabilities(
    score: Floats, probability: Floats, prediction: Array, measures: Sequence[Measure], chosen: str, *,
    supplied: bool,
) -> list[Suitability]:
    """Every method of the registry, tried on at most `_TRIED` items.

    score, probability, prediction (N,) of the pool's items; chosen: the name of the method in use, settings
    or not; supplied: whether the probabilities are the pool's own, and not made of its scores.
    """
    step = max(1, -(-len(score) // _TRIED))
    part = (score[::step], probability[::step], prediction[::step])
    rare = bool(prediction.mean() < _RARE)
    result = []
    for name, candidate in METHODS.items():
        against = _against(candidate.capabilities, supplied=supplied, rare=rare)
        try:
            partition, _ = build_partition(candidate, *part)
            candidate.start(partition.cells, measures, 1)
        except AssayError as error:
            suitability = Suitability(name=name, verdict="refused", why=str(error))
        else:
            suitability = Suitability(
                name=name, verdict="not advised" if against else "possible", why=against
            )
        if name == chosen.partition(":")[0]:
            suitability = Suitability(name=name, verdict="chosen", why="")
        result.append(suitability)
    return result


def _against(able: Capabilities, *, supplied: bool, rare: bool) -> str:
    """What there is to say against a method here, or nothing."""
    if able.trusts_probabilities and not supplied:
        return "takes probabilities at their word, and expit(score) is none"
    if able.top_of_ranking:
        return "searches the top of the ranking and misses positives below its cut"
    if able.spreads_evenly and rare:
        return "would label hardly a positive: the class looks rare"
    return ""


PROGNOSIS_LABELS = 1_500   # labels up to which is looked, where no budget is given
_MOVED = 0.05           # of the measure: hidden positives that matter
_WORLDS = 15            # tables of confusion where labels are not known
_SAMPLE = 100           # labels of the random sample that may hold no value of the measure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolColumns:
    """The pool of N items as the statistics take it: score, probability and prediction of each, and the
    confusion table where labels are known."""

    score: Floats        # (N,)
    probability: Floats  # (N,) of the positive class
    prediction: Array    # (N,) 0 or 1
    confusion: Floats | None = None   # (2, 2) counts by [prediction, label], where labels are known
    supplied: bool       # the probabilities are the pool's own, and not made of its scores

    @property
    def predicted(self) -> tuple[int, int]:
        """The number of items predicted negative, and the number predicted positive."""
        positives = int(np.count_nonzero(self.prediction))
        return len(self.prediction) - positives, positives


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an evaluation of the pool is to reach, and how."""

    half_widths: Sequence[float]           # of the first measure
    measures: Sequence[Measure] = ()       # F1 unless given; accuracy where nothing is predicted positive
    confidence: float = 0.95
    budget: int = PROGNOSIS_LABELS                  # labels up to which is looked
    batch_size: int = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one half-width costs in labels: as a forecast by the method, and by a simple random sample."""

    forecast: Forecast           # by the method
    random_labels: int | None    # by random sampling; None where the measure does not exist in most worlds


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenPrice:
    """What it takes to exclude hidden positives that would move the measure by `moved`.

    The medians over the tables; drawn evenly, with none of them found.
    """

    moved: float
    positives: int       # hidden among the items predicted negative
    items: int           # predicted negative
    labels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prognosis:
    """What half-widths of one measure take, and which methods suit the pool."""

    method: Choice
    measure: str
    costs: tuple[Cost, ...]           # one for each half-width
    undefined_at_100: float           # chance that 100 random labels hold no value of the measure
    methods: tuple[Suitability, ...]
    hidden: HiddenPrice | None = None   # None where hidden positives cannot move the measure so far

    @property
    def rule(self) -> str:
        """The rule by which a target counts as met, in words: from how many labels on, and at how many looks
        in a row. Both numbers belong to the method that is forecast."""
        chosen = method(self.method.method)
        return rule_in_words(chosen.least_labels, chosen.looks_in_a_row)

    @property
    def random_does_as_well(self) -> bool:
        """Whether random sampling reaches every half-width with no more labels; rarely so on a rare class.
        False without any half-width to reach, and for random sampling itself."""
        return bool(self.costs) and self.method.method != "passive" and all(
            cost.random_labels is not None and cost.random_labels <= _at_least(cost.forecast)
            for cost in self.costs
        )


def prognosis(
    pool: PoolColumns,
    chosen: Choice,
    request: Wanted,
    *,
    worlds: int = WORLDS_AT_ONCE,
    played: Played | None = None,
) -> Prognosis:
    """What the half-widths will take, played in so many worlds.  Deterministic.

    Raises what the chosen method raises for a pool that it cannot be used on.
    """
    confidence = request.confidence
    measures = tuple(request.measures) or (measure("f1" if pool.prediction.any() else "accuracy"),)
    chosen_method = method(chosen.method)
    partition, _ = build_partition(chosen_method, pool.score, pool.probability, pool.prediction)
    question = Question(
        method=chosen_method, cells=partition.cells, measures=measures, confidence=confidence, seed=0,
        evaluation="doctor"
    )
    goals = [
        Goal(
            half_width=half_width, least_labels=chosen_method.least_labels, looks=chosen_method.looks_in_a_row
        )
        for half_width in request.half_widths
    ]
    forecasts: list[Forecast] = []
    if goals:
        forecasts = forecast(
            question, before_any_label(question), goals, request.budget, batch_size=request.batch_size,
            worlds=worlds, played=played,
        )
    tables = _tables(pool, partition.cells)
    return Prognosis(
        method=chosen,
        measure=measures[0].name,
        costs=tuple(
            Cost(forecast=ahead, random_labels=_random_labels(measures[0], tables, half_width, confidence))
            for ahead, half_width in zip(forecasts, request.half_widths, strict=True)
        ),
        undefined_at_100=_chance_undefined(measures[0], tables),
        methods=tuple(suitabilities(
            pool.score, pool.probability, pool.prediction, measures, chosen.method, supplied=pool.supplied
        )),
        hidden=_hidden_price(measures[0], tables, confidence),
    )


def _at_least(ahead: Forecast) -> int:
    """Labels that the method takes at the least, by its forecast."""
    return ahead.horizon if ahead.labels is None else ahead.labels


def _tables(pool: PoolColumns, cells: Cells) -> list[Floats]:
    """Confusion tables (2, 2): the one of the labels where they are known, or those of plausible worlds."""
    if pool.confusion is not None:
        return [pool.confusion]
    nothing = np.zeros((cells.n_cells, 2), np.int64)
    worlds = plausible_worlds(cells, nothing, cells.size, _WORLDS, stream(0, "doctor", 0, "worlds"))
    return [
        np.stack([world[cells.prediction == f].sum(axis=0) for f in (0, 1)]).astype(np.float64)
        for world in worlds
    ]


def _random_labels(
    chosen: Measure, tables: Sequence[Floats], half_width: float, confidence: float
) -> int | None:
    """The median over the tables; None where the measure does not exist in most of them."""
    needed = []
    for table in tables:
        try:
            equivalent = random_sampling_equivalent(
                chosen, table, int(table.sum()), 1, confidence, half_width
            ).labels_needed
        except BadInput:
            continue
        needed.append(equivalent or 0)
    return int(np.median(needed)) if len(needed) > len(tables) / 2 else None


def _hidden_price(chosen: Measure, tables: Sequence[Floats], confidence: float) -> HiddenPrice | None:
    """The median over the tables in which hidden positives can move the measure; None for fewer than half."""
    hidden = [hidden_that_move(chosen, table, _MOVED) for table in tables]
    movable = [h for h in hidden if h is not None]
    if len(movable) <= len(tables) / 2:
        return None
    positives, items = int(np.median(movable)), round(tables[0][0].sum())
    return HiddenPrice(
        moved=_MOVED, positives=positives, items=items, labels=labels_to_exclude(positives, items, confidence)
    )


def _chance_undefined(chosen: Measure, tables: Sequence[Floats]) -> float:
    """That a random sample of _SAMPLE items holds no value of the measure: the median over the tables."""
    sizes = [int(table.sum()) for table in tables]
    return float(np.median([
        chance_undefined(chosen, table / n, n, min(_SAMPLE, n))
        for table, n in zip(tables, sizes, strict=True)
    ]))
