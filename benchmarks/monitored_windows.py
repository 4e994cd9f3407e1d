"""Windows of a stream, simulated with the methods' own code, and what they say to a monitor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logit

from assay.evalcore.design.draws import first_draws, simulate_each
from assay.evalcore.design.round import CountedDesign
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.registry import method, with_single_draws
from assay.evalcore.methods.two_classes.base import CountingMethod, with_exact_values
from assay.evalcore.monitoring.betting import Account, Side, bet_on_round, draw_weights, expected, worth
from assay.evalcore.monitoring.earlier_windows import Inherited, evidence_by_cell
from assay.evalcore.monitoring.single_window import chance_of_draws
from assay.evalcore.monitoring.strata_of_draws import DrawsByStratum, strata_for
from assay.evalcore.monitoring.verdicts import WatchedLimit
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.replay.pool import LabelledPool, prepared_cells
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints

BATCH = 25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Windows:
    """W simulated windows of one stream, all of the same pool."""

    truth: float
    value: Floats      # (W,)
    lower: Floats      # (W,)
    upper: Floats      # (W,)
    factors: Floats    # (W, G) log factors of the bets that the measure is beyond the limit
    mean: Floats       # (W,) of what their draws say of the limit,
    variance: Floats   # (W,) and of one draw
    told: Ints         # (W,) draws
    chance: Floats     # (W,) of draws like these of a window alone, while the limit is kept

    def covers(self) -> float:
        """The share of intervals that cover the truth."""
        return float(((self.lower <= self.truth) & (self.truth <= self.upper)).mean())


def monitored(name: str) -> CountingMethod:
    """The method as a monitor runs it."""
    return method(with_single_draws(name))


def against(values: Sequence[float], side: Side = "below") -> list[WatchedLimit]:
    """Limits at these values, the bets being that the measure lies on this side of each."""
    return [WatchedLimit(side=side, value=value, name="floor") for value in values]


def simulate(
    name: str, what: Measure, data: LabelledPool, limit: float, count: int, labels: int,
    before: LabelledPool | None = None,
) -> Windows:
    """`count` windows of one pool, of `labels` labels each, held against one limit."""
    (found,) = simulate_against(name, what, data, against([limit]), count, labels, before)
    return found


def simulate_against(
    name: str, what: Measure, data: LabelledPool, limits: Sequence[WatchedLimit], count: int, labels: int,
    before: LabelledPool | None = None,
) -> list[Windows]:
    """`count` windows of one pool, of `labels` labels each: the same ones held against each of the limits.

    The bets are that the measure lies on the side of each limit.

    before: the pool of the windows before.  Where the method starts warm, it does so from as many labels,
    spread evenly: what half of the last window's, a quarter of those of the one before and so on add up to.
    """
    how = monitored(name)
    cells, by_label = prepared_cells(how, data)
    values = [value for limit in limits if (value := worth(what, limit.value, limit.side, cells)) is not None]
    if len(values) < len(limits):
        raise ValueError(f"{what.name} cannot be watched")
    rng = stream(1, f"monitoring/{name}/{what.name}/{limits[0].value:.6f}/{labels}", len(data.label))
    state, accounts = begun(how, what, data, count, labels, before), [Account.new(count) for _ in limits]
    alone = [DrawsByStratum.new(count, cells.n_cells, strata_for(labels)) for _ in limits]
    for drawn in rounds(how, state, by_label, labels, rng):
        said = [
            (
                expected(value[None], drawn.design.model), draw_weights(drawn.design), drawn.design.left,
                drawn.cell, value[np.maximum(drawn.cell, 0), drawn.label],
            )
            for value in values
        ]
        accounts = [bet_on_round(account, *of) for account, of in zip(accounts, said, strict=True)]
        alone = [draws.with_round(*of) for draws, of in zip(alone, said, strict=True)]
        state = drawn.after
    (e,) = with_exact_values(state, how.estimate(state, 0.95, rng))
    truth = float(what.of_confusion(data.confusion()))
    return [
        Windows(truth=truth, value=e.value, lower=e.lower, upper=e.upper, factors=account.factors,
                mean=account.mean(), variance=account.variance(), told=account.told,
                chance=chance_of_draws(draws))
        for account, draws in zip(accounts, alone, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnRound:
    """A round of every window, its items drawn one after the other."""

    design: CountedDesign
    cell: Ints         # (W, T) of each draw that brought a new item, else −1
    label: Ints        # (W, T)
    after: Any         # the method's state after it


def begun(
    how: CountingMethod, what: Measure, data: LabelledPool, count: int, labels: int,
    before: LabelledPool | None,
) -> Any:
    """The method's state before the first round, warm where it can be; see `simulate_against`."""
    cells, _ = prepared_cells(how, data)
    if before is None or not how.capabilities.starts_warm:
        return how.start(cells, [what], count)
    n = len(before.label)
    taken = Inherited(
        score=before.score, prediction=before.prediction, label=before.label,
        weight=np.full(n, labels / n),
    )
    partition, _ = build_partition(how, data.score, data.probability, data.prediction, None, None)
    return how.start_from(cells, [what], count, evidence_by_cell(partition, taken))


def rounds(
    how: CountingMethod, state: Any, by_label: Ints, labels: int, rng: np.random.Generator
) -> Iterator[DrawnRound]:
    """The rounds of BATCH labels that bring `labels` labels in all."""
    count = len(state.labelled)
    for at in range(0, labels, BATCH):
        design, draws = how.next_round(state, np.full(count, min(BATCH, labels - at)), rng)
        outcome, label = simulate_each(draws, by_label - state.labelled, rng)
        cell: Ints = np.where(first_draws(draws), draws.cell, -1)
        state = how.observe(state, design, outcome, np.zeros_like(state.excluded))
        yield DrawnRound(design=design, cell=cell, label=label, after=state)


def even_pool(drop: float, what: Measure, items: int = 4000, sharpness: float = 1.0) -> LabelledPool:
    """A balanced pool with calibrated probabilities, or one whose measure is lower by `drop`.

    Labels are turned round at random until it is.  sharpness: what the log odds are multiplied with.
    """
    rng = stream(7, "monitoring pool")
    p = rng.beta(0.35, 0.5, items)
    label = (rng.random(items) < p).astype(np.int64)
    order = rng.permutation(items)
    told = expit(sharpness * logit(np.clip(p, 1e-9, 1 - 1e-9)))

    pool = LabelledPool(score=told, probability=told, prediction=(p > 0.5).astype(np.int64), label=label)
    if not drop:
        return pool
    goal = float(what.of_confusion(pool.confusion())) - drop
    return lowered(pool, what, goal, "label", order[: items // 2])


def lowered(
    pool: LabelledPool, what: Measure, goal: float, column: Literal["label", "prediction"], order: Ints
) -> LabelledPool:
    """The pool, with labels or predictions turned round in this order until the measure is at most `goal`."""
    def turned(n: int) -> LabelledPool:
        values = getattr(pool, column).copy()
        values[order[:n]] = 1 - values[order[:n]]
        return replace(pool, **{column: values})

    low, high = 0, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        over = what.of_confusion(turned(middle).confusion()) > goal
        low, high = (middle, high) if over else (low, middle)
    return turned(high)


def rare_pool(
    value: float, what: Measure, items: int = 4000, rate: float = 0.17, share: float = 0.05
) -> LabelledPool:
    """Few items are predicted positive (`share`), and the ranking is as good as gives this value."""
    rng = stream(7, "monitoring rare pool")
    label = (rng.random(items) < rate).astype(np.int64)
    noise = rng.standard_normal(items)

    def ranked(gap: float) -> LabelledPool:
        score = noise + gap * label
        p = expit(logit(rate) + score - 0.5)
        prediction = (score >= np.quantile(score, 1 - share)).astype(np.int64)
        return LabelledPool(score=p, probability=p, prediction=prediction, label=label)

    low, high = -1.0, 4.0
    for _ in range(40):
        middle = (low + high) / 2
        under = what.of_confusion(ranked(middle).confusion()) < value
        low, high = (middle, high) if under else (low, middle)
    return ranked(high)
