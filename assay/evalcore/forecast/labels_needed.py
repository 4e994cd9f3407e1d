"""How many labels will it take?

Of two classes the evaluation is played on in dozens of plausible worlds (`forecast`); of any other outcome
the shape of the variance tells (`forecasts_by_shape`).  `outlook` puts these beside the price of an audit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.estimators.linearised import WIDER
from assay.evalcore.evaluation.questions import asks_several, each_question
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.evaluation.stopping import StoppingRule
from assay.evalcore.forecast.audit import AuditPrice, audit_price
from assay.evalcore.forecast.play import Forecast, Goal, plausible_worlds, play
from assay.evalcore.measures.measure import leading
from assay.evalcore.methods.any_outcome.interval import GUESSED_SCALE_LABELS
from assay.evalcore.methods.any_outcome.state import spent_on_fit
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats

MOST_FORECAST_LABELS = 3_000   # labels beyond which no forecast goes
RANGE = 0.8             # share of the worlds that [low, high] holds
WORLDS_AT_ONCE = 24   # worlds played side by side

Played = Callable[[int, int], None]   # told how many worlds were played, and how many there will be at most


def forecast(
    question: Question,
    state: State,
    goals: Sequence[Goal],
    horizon: int,
    *,
    batch_size: int = 25,
    worlds: int | None = None,
    played: Played | None = None,
) -> list[Forecast]:
    """When each goal will be met, judged from where `state` stands.  Deterministic.

    horizon: labels in all, such as the budget; cut at MOST_FORECAST_LABELS, and at the pool unless items are
    asked anew.  worlds: exactly so many; unless given, as many as it takes, and at most what the method
    allows.

    In each world (`evalcore.forecast.play`) every label is known.  The method goes on from the labels there
    are, drawing, labelling and estimating as it would live, and the forecast is how many labels the worlds
    took: their median, and the range that holds the middle 80% of them.  Looks are spaced geometrically and
    what lies between two is interpolated, so a forecast costs seconds; the batch size moves it little.

    Worlds are played WORLDS_AT_ONCE at a time, until the forecast would hardly change with more of them
    (`simulation_error`) or as many were played as the method allows.  What is left of that error is part of
    the forecast.

    A world where the goal is not met within the horizon counts as "more": a forecast may honestly be "more
    than the budget".  The forecast is as good as the worlds are plausible.  docs/measured/forecasts.md has it
    beside what really happened.
    """
    at_most = worlds or question.method.capabilities.forecast_worlds
    items = MOST_FORECAST_LABELS if question.method.asks_anew else question.cells.n_items
    horizon = min(max(horizon, state.labels), items, MOST_FORECAST_LABELS)
    took = np.empty((len(goals), 0))
    while took.shape[1] < at_most:
        count = min(WORLDS_AT_ONCE, at_most - took.shape[1])
        more_worlds = _took(
            question, state, goals, horizon, batch_size, count, took.shape[1] // WORLDS_AT_ONCE
        )
        took = np.sort(np.concatenate([took, more_worlds], axis=1), axis=1)
        if played is not None:
            played(took.shape[1], at_most)
        if worlds is None and all(simulation_error(took_of_goal).small for took_of_goal in took):
            break
    return [
        _summary(goal, took_of_goal, horizon, state.labels) for goal,
        took_of_goal in zip(goals, took, strict=True)
    ]


def _took(
    question: Question, state: State, goals: Sequence[Goal], horizon: int, batch_size: int, count: int,
    part: int,
) -> Floats:
    """Labels (G, count) that each goal took in so many worlds; infinite beyond the horizon.

    part: 0, 1, ... of the worlds: each has randomness of its own.
    """
    purpose = f"forecast {part}" if part else "forecast"
    rng = stream(question.seed, question.evaluation, state.round, purpose)
    anew = question.method.asks_anew
    # answers of items that are asked anew label none, and tell the rates as labels do
    answers = sum((past.labels.drawn_new[0] for past in state.past), np.zeros_like(state.inner.labelled[0]))
    labelled = answers if anew else state.inner.labelled[0]
    by_label = plausible_worlds(
        question.cells, labelled, state.inner.left[0], count, rng, question.evidence
    )
    looks = play(question, state, by_label, goals, horizon, batch_size, rng)
    # with all items known any goal is met; those that are asked anew never are
    n_items = np.inf if anew else question.cells.n_items - state.undecided
    needed = np.array([
        [_first(looks.labels[:n, k], looks.off[:n, j, k], goal, batch_size) for k in range(count)]
        for j, (goal, n) in enumerate(zip(goals, looks.until, strict=True))
    ])
    needed = np.where(np.isfinite(needed), np.minimum(needed, n_items), needed)
    return np.where(needed > horizon, np.inf, needed)


def _summary(goal: Goal, ordered: Floats, horizon: int, labels_now: int) -> Forecast:
    """The forecast of a goal from what each world took, in order (K,)."""
    tail, error = (1 - RANGE) / 2, simulation_error(ordered)
    return Forecast(
        goal=goal,
        labels=_quantile(ordered, 0.5),
        low=_quantile(ordered, tail),
        high=_quantile(ordered, 1 - tail),
        horizon=horizon,
        share=float(np.isfinite(ordered).mean()),
        labels_now=labels_now,
        worlds=len(ordered),
        least=_whole(error.lower),
        most=_whole(error.upper),
        share_error=error.share,
    )


def _quantile(ordered: Floats, share: float) -> int | None:
    """The least of the ordered numbers that so many of them do not exceed; None where it is infinite."""
    return _whole(ordered[max(int(np.ceil(share * len(ordered) - 1e-9)) - 1, 0)])


def _whole(labels: float) -> int | None:
    return round(labels) if np.isfinite(labels) else None


def _first(labels: Floats, off: Floats, goal: Goal, batch_size: int) -> float:
    """Labels when the goal was met for good, a target once more a batch later; infinite where it was not.

    labels, off (L,) of one world.  Between two looks the distance is taken for linear in log labels.
    """
    met = off <= 0
    if not met[-1]:
        return np.inf
    last_not = np.flatnonzero(~met)
    j = int(last_not[-1]) + 1 if len(last_not) else 0
    at = labels[j]
    if j and np.isfinite(off[j - 1]) and goal.threshold is None and off[j - 1] > off[j]:
        share = off[j - 1] / (off[j - 1] - max(off[j], -10.0))
        at = np.exp(np.log(labels[j - 1]) + share * (np.log(labels[j]) - np.log(labels[j - 1])))
    return float(max(at, goal.least_labels) + batch_size * (goal.looks - 1) * (goal.threshold is None))


SIMULATION_CONFIDENCE = 0.95   # of the interval for what more worlds would say
NARROW = 0.10    # error at which enough worlds were played: of the labels, or of the share of worlds


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationError:
    """Where the forecast from endlessly many worlds may lie, given that of K.

    How far a forecast may be off because only so many worlds were played: its Monte Carlo error.

    It says nothing of how plausible the worlds are.  Both statements hold with 95%, for worlds drawn one by
    one.

        K   worlds
    """

    lower: float         # the median of the labels they take; infinite: more than the horizon
    upper: float
    share: float         # half-width of the share of them that met the goal

    @property
    def small(self) -> bool:
        """Whether more worlds would hardly change the forecast: the range of the median is narrow beside
        itself, or, beyond the horizon, the error of the share of worlds is small."""
        if np.isinf(self.lower):                     # more than the horizon: then the share is told
            return self.share <= NARROW
        return bool(self.upper - self.lower <= NARROW * (self.upper + self.lower) < np.inf)


def simulation_error(ordered: Floats) -> SimulationError:
    """From what each world took, in order (K,), infinite where that is more than the horizon.

    The median lies between two of the ordered numbers, by the binomial distribution of how many lie below it
    (David and Nagaraja 2003, Order Statistics, section 7.1).  The share has the interval of Wilson (1927).
    """
    worlds = len(ordered)
    rank = max(
        int(np.ceil(scipy.special.bdtrik((1 - SIMULATION_CONFIDENCE) / 2, worlds, 0.5))), 1
    )  # 1 is the lowest
    z = float(scipy.special.ndtri(0.5 + SIMULATION_CONFIDENCE / 2))
    met = float(np.isfinite(ordered).mean())
    share = z * np.sqrt(met * (1 - met) / worlds + z**2 / (4 * worlds**2)) / (1 + z**2 / worlds)
    return SimulationError(
        lower=float(ordered[rank - 1]), upper=float(ordered[worlds - rank]), share=float(share)
    )


WORLDS = 41   # even quantiles of χ²/df by which the variance is divided
_TRIED_NUMBERS = 60   # numbers of labels that are tried, evenly on a scale of logarithms
_OWN = 0.5    # degrees of freedom that a label brings: labels of one group are alike


def forecasts_by_shape(
    question: Question, state: State, goals: Sequence[Goal], budget: int, batch_size: int
) -> list[Forecast | None]:
    """When each goal will be met, judged from where `state` stands.  Deterministic.

    None before the first label for a verdict, and for any goal of numbers, whose spread nobody guesses.  Of
    several questions a target is met when the last one meets it; a verdict is on the first.

    How many labels an evaluation of any kind of outcome is likely to take.

    The variance of an estimate falls with the labels as that of a stratified mean does,

        V(n) ∝ Σ_c U_c (U_c/a_c + 1) s_c²

    with a_c the labels that the method means for cell c when n are there, U_c the items of it then left, and
    s_c² the guessed spread of a pull.  What it is today is known from the labels so far, and its shape says
    the rest: the half-width after n labels is today's, times √(V(n)/V(today)).  Before any label the guesses
    alone say.

    Nobody knows V exactly, so it is varied: in each of WORLDS worlds it is divided by χ²/df, with as many
    degrees of freedom as the labels so far, and the guesses, are worth.  A world's value lies as far from the
    estimate as its interval says.  docs/measured/forecasts.md has forecasts beside what replays took.

        C   cells;  Q   numbers asked for;  W   worlds;  L   numbers of labels that are tried
    """
    if asks_several(question):
        by_question = [
            forecasts_by_shape(asked_question.question, asked_question.state, goals, budget, batch_size)
            for asked_question in each_question(question, state)
            if asked_question.drives or not asked_question.number
        ]
        return [
            of_goal[0] if goal.threshold is not None else _last(of_goal)
            for goal, *of_goal in zip(goals, *by_question, strict=True)
        ]
    has_basis = state.labels or question.measures.kind.label_model.shared
    return [
        _forecast(question, state, goal, budget, batch_size)
        if has_basis and (goal.threshold is None or state.labels) else None
        for goal in goals
    ]


def _last(forecasts: Sequence[Forecast | None]) -> Forecast | None:
    """The one that takes most labels; None where nothing can be said of one."""
    available = [available_forecast for available_forecast in forecasts if available_forecast is not None]
    if len(available) < len(forecasts):
        return None
    return max(
        available,
        key=lambda available_forecast: (
            available_forecast.labels or np.inf,
            available_forecast.high or np.inf,
        ),
    )


def half_widths(question: Question, state: State, labels: Floats) -> tuple[Floats, Floats]:
    """Half-width and variance (L, Q') of the leading numbers after so many labels (L,)."""
    measures = question.measures.measures
    q = sum(len(measure.parts) for measure, leads in zip(measures, leading(measures), strict=True) if leads)
    ahead = np.stack([_shape(question, state, n)[:q] for n in labels.tolist()])
    t = scipy.special.stdtrit(np.maximum(labels - 1, 3.0), 0.5 + question.confidence / 2)[:, None]
    if not state.labels:
        return (WIDER if state.inner.fits_guesses else 1.0) * t * np.sqrt(ahead), ahead
    present_shape = _shape(question, state, float(state.labels))[:q]
    estimates = question.method.estimate(state.inner, question.confidence)
    half = (estimates.upper - estimates.lower)[0, :q] / 2
    ratio = ahead / np.maximum(present_shape, 1e-300)
    t_now = float(scipy.special.stdtrit(max(state.labels - 1, 3.0), 0.5 + question.confidence / 2))
    return half * np.sqrt(ratio) * t / t_now, estimates.variance[0, :q] * ratio


def _shape(question: Question, state: State, labels: float) -> Floats:
    """(Q,) Σ U (U/a + 1) s² / N² once so many labels are there."""
    inner, cells = state.inner, question.cells
    items = np.maximum((cells.size - inner.excluded[0]) * cells.relevant, 0).astype(np.float64)
    allocated = question.method.allocation(inner, round(labels))[0]
    open_items = items if question.method.asks_anew else np.maximum(items - allocated, 0.0)
    item_factor = np.divide(
        open_items * (open_items + allocated), allocated, out=np.zeros_like(open_items), where=allocated > 0
    )
    spent = spent_on_fit(question.measures, cells) if inner.fits_guesses else 0.0
    return np.asarray(
        item_factor @ cells.spread / items.sum() ** 2 * labels / max(labels - spent, labels / 2)
    )


def _forecast(question: Question, state: State, goal: Goal, budget: int, batch_size: int) -> Forecast:
    anew = question.method.asks_anew     # then no number of answers is all there are
    pool = MOST_FORECAST_LABELS if anew else question.cells.n_items - state.undecided
    horizon = min(
        max(budget, state.labels),
        MOST_FORECAST_LABELS if anew else question.cells.n_items,
        MOST_FORECAST_LABELS,
    )
    fewest = float(min(max(state.labels, goal.least_labels), horizon))
    labels = np.asarray(np.unique(np.round(np.geomspace(fewest, horizon, _TRIED_NUMBERS))), np.float64)
    half, variance = half_widths(question, state, labels)
    share = (np.arange(WORLDS) + 0.5) / WORLDS
    df = GUESSED_SCALE_LABELS + _OWN * state.labels
    scale = np.asarray(df / scipy.special.chdtri(df, share), np.float64)     # (W,)
    met = _met(question, state, goal, half, variance, scale)                # (L, W)
    first_met = np.where(met[-1], np.argmax(np.logical_and.accumulate(met[::-1], axis=0)[::-1], axis=0), -1)
    further_labels = batch_size * (goal.looks - 1) * (goal.threshold is None)
    needed = np.where(first_met >= 0, np.minimum(labels[first_met] + further_labels, pool), np.inf)
    ordered = np.sort(np.where(needed > horizon, np.inf, needed))
    low, middle, high = (
        ordered[int(np.ceil(at * WORLDS)) - 1] for at in ((1 - RANGE) / 2, 0.5, (1 + RANGE) / 2)
    )
    return Forecast(
        goal=goal, labels=_whole(middle), low=_whole(low), high=_whole(high), horizon=horizon,
        share=float(np.isfinite(ordered).mean()), labels_now=state.labels, worlds=WORLDS,
    )


def _met(
    question: Question, state: State, goal: Goal, half: Floats, variance: Floats, scale: Floats
) -> Floats:
    """(L, W) whether the goal is met, by the number that is known least."""
    widest, largest = half.max(axis=1)[:, None] * np.sqrt(scale), variance.max(axis=1)[:, None] * scale
    if goal.half_width is not None:
        return np.asarray(widest <= goal.half_width)
    if goal.variance is not None:
        return np.asarray(largest <= goal.variance)
    estimates = question.method.estimate(state.inner, question.confidence)
    # a world's value: worlds of large and of small variance alike see both sides
    at = scipy.special.ndtri(((np.arange(len(scale)) * 17) % len(scale) + 0.5) / len(scale))
    value = estimates.value[0, 0] + np.sqrt(estimates.variance[0, 0]) * at
    low, high = goal.threshold or (None, None)
    ends = [np.abs(value - end) for end in (low, high) if end is not None]
    return np.asarray(widest <= np.min(ends, axis=0))


def _first_name(question: Question) -> str:
    """The first measure, with the class or setting that it is of."""
    return str(next(iter(question.measures)).full_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Labels to the target, and to a verdict where there is a threshold; what excludes hidden positives.

    budget: what may be bought; before: labels that were there before, which no budget counts and every
    forecast does.
    """

    budget: int
    before: int = 0
    target: Forecast | None
    verdict: Forecast | None = None
    audit: AuditPrice | None = None   # where a wide interval is announced


def outlook(
    question: Question,
    state: State,
    rule: StoppingRule,
    batch_size: int,
    threshold: tuple[float | None, float | None] | None = None,
    played: Played | None = None,
    worlds: int | None = None,
) -> Outlook | None:
    """The forecast from where `state` stands; threshold: (min, max).  Deterministic.

    rule: its budget is of all labels, those that were there before among them.

    played: told of the worlds as they are played, where there are any; worlds: how many, as many as it takes
    unless given.

    None where there is no target and no threshold, no label left to ask, where the label model cannot be
    fitted, or nothing can be said: an evaluation goes on without a forecast.
    """
    if state.exhausted:
        return None
    target = verdict = None
    half_width, variance = rule.of_first(_first_name(question))
    if half_width is not None or variance is not None:   # of the first measure: what others take is not told
        target = Goal(
            half_width=half_width, variance=variance, least_labels=rule.least_labels, looks=rule.looks
        )
    if threshold is not None:
        verdict = Goal(threshold=threshold)
    goals = [goal for goal in (target, verdict) if goal is not None]
    if not goals:
        return None
    forecasts: list[Forecast | None]
    audit = None
    if not question.method.capabilities.forecast_worlds:
        forecasts = forecasts_by_shape(question, state, goals, rule.budget, batch_size)
        if not any(forecasts):
            return None
    else:
        try:
            forecasts = [*forecast(
                question, state, goals, rule.budget, batch_size=batch_size, worlds=worlds, played=played
            )]
            audit = audit_price(question, state)
        except np.linalg.LinAlgError:
            return None
    by_goal = dict(zip(goals, forecasts, strict=True))
    return Outlook(
        budget=rule.budget,
        target=None if target is None else by_goal[target],
        verdict=None if verdict is None else by_goal[verdict],
        audit=audit,
    )
