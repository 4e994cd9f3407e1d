"""What more labels, spread evenly, would do to the wide interval: the price of excluding hidden positives.

The wide interval of `recalibrated` allows for positives that score like any negative (the belief WIDE of
`evalcore.recalibration.posterior`).  An audit is labels drawn evenly from the M unlabelled items that
positives may hide among.  m of them without a hidden positive exclude, with confidence 1 − α,

    more than log(α) / log(1 − m/M) hidden ones            the rule of three: about 3 M/m at 95%

whatever the model believes, and draws of the posterior say what is left of the wide interval: each is weighed
by the likelihood of m/M more labels of every cell, positive at the rate that the model without hidden
positives expects,

    log w_s += Σ_c m_c [p̄_c log r_cs + (1 − p̄_c) log(1 − r_cs)],    m_c = m left_c / M

r_cs the rate of cell c in draw s, hidden positives included.  It is a forecast for the case that nothing
hides; if a hidden positive turns up among the labels, the interval moves instead.

    C   cells;  S   draws;  one repeat throughout
"""

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil, expm1, floor, log, log1p

import numpy as np

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.measures import two_classes
from assay.evalcore.measures.by_group import of_predictions
from assay.evalcore.measures.two_classes import Measure, by_prediction
from assay.evalcore.recalibration.interval import Ends, quantiles
from assay.evalcore.recalibration.planning import audited_cells
from assay.evalcore.recalibration.posterior import WIDE, Posterior, finite_counts, noise, posteriors
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats

FIRST, AUDIT_GROWTH = 50, 1.5   # labels of the smallest audit that is priced, and how the next ones grow
AUDIT_DRAWS = 2000   # of the posterior, from which what hides in the pool is drawn
LEAST_RATE = 1e-12   # a rate of 0 or 1 has no finite logarithm
SETTLED_SHARE = 0.02   # of the interval's width: what the wide one may add to it and count as the same


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditStep:
    """What an audit of one size would do if no positive hides: the wide interval that so many further labels
    would leave, the number of hidden positives they would exclude, and the chance to find one."""

    labels: int          # more than now, spread evenly
    lower: float         # the wide interval they would leave
    upper: float
    excludes: int        # hidden positives: more would have shown, with the confidence of the interval
    chance_found: float  # of a hidden positive among the labels, by the wide belief


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPrice:
    """The price of bringing the wide interval down to the interval."""

    measure: str
    confidence: float
    lower: float         # the wide interval as it is
    upper: float
    items: int           # unlabelled items that positives may hide among
    steps: tuple[AuditStep, ...]   # of growing size, up to the one that settles it
    settled_by: int | None         # labels that bring it down to today's interval; None: only all items do


def audit_price(question: Question, state: State) -> AuditPrice | None:
    """The price for the first measure from where `state` stands.  Deterministic.

    None where the method takes no audit, and where no wide interval is announced.
    """
    if not question.method.capabilities.audits:
        return None
    if not state.labels or state.exhausted:
        return None
    present = estimates(question, state)[0]
    if not present.diagnostics.get("wide_announced") or present.lower is None or present.upper is None:
        return None
    drawn = _drawn(question, state)
    items = round(float(drawn.audited.sum()))
    if not items:
        return None
    before = _ends(drawn, present.confidence, 0)
    steps: list[AuditStep] = []
    size = min(FIRST, items)
    while True:
        step, settled = _step(drawn, present, before, size)
        steps.append(step)
        if settled or size >= items:
            break
        size = min(round(size * AUDIT_GROWTH), items)
    return AuditPrice(
        measure=present.measure,
        confidence=present.confidence,
        lower=float(present.diagnostics["wide_lower"] or 0.0),
        upper=float(present.diagnostics["wide_upper"] or 0.0),
        items=items,
        steps=tuple(steps),
        settled_by=steps[-1].labels if settled and steps[-1].labels < items else None,
    )


def excluded(labels: int, items: int, confidence: float) -> int:
    """The most positives that `labels` even draws from `items` all miss with a chance over 1 − confidence.

    A simple random sample misses all h positives with a chance of at most (1 − labels/items)^h.
    """
    if labels >= items:
        return 0
    return min(floor(log(1 - confidence) / log1p(-labels / items)), items)


def labels_to_exclude(positives: int, items: int, confidence: float) -> int:
    """How many even draws from `items` miss all of `positives` with a chance of at most 1 − confidence. It is
    rounded up, and never more than there are items; no positives are taken as one."""
    return min(ceil(items * -expm1(log(1 - confidence) / max(positives, 1))), items)


def hidden_that_move(measure: Measure, counts: Floats, by: float) -> int | None:
    """How many negatives, predicted so, would have to be positive for the measure to move by so much.

    counts (2, 2) by [prediction, label].  None where not even all of them would move it so far.
    """
    counts = np.round(counts)
    present, n_negatives = float(measure.of_confusion(counts)), int(counts[0, 0])

    def moves(hidden: int) -> bool:
        moved = counts + np.array([[-hidden, hidden], [0, 0]])
        return bool(abs(float(measure.of_confusion(moved)) - present) >= by)

    fewest = bisect_left(range(n_negatives + 1), True, key=moves)
    return fewest if fewest <= n_negatives else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Drawn:
    """Draws of the posterior that allow for hidden positives, and what more labels are expected to show."""

    measure: Measure
    predicted: Floats    # (C,)
    n: Floats            # (1, C)
    k: Floats
    left: Floats
    audited: Floats      # (1, C) the part of `left` that an audit is about
    expected: Floats     # (1, C) rate of positives if none hides, p̄
    wide: Posterior
    log_found: Floats    # (S, C) log r
    log_clear: Floats    # (S, C) log(1 − r)
    hidden: Floats       # (S,) share of the audited items that hide a positive
    seed: int            # what the finite pools are drawn from, the same for every size of audit


def _drawn(question: Question, state: State) -> _Drawn:
    e = question.method.evidence(state.inner)
    rng = stream(question.seed, question.evaluation, state.round, "audit")
    none, wide = posteriors(e.model, e.fit, e.n, e.k, e.left, noise(e.model, AUDIT_DRAWS, rng), (None, WIDE))
    predicted = e.model.shape.predicted
    rate = np.clip(wide.rate[0], LEAST_RATE, 1 - LEAST_RATE)
    shown = np.maximum(1 - none.rate[0], LEAST_RATE)
    return _Drawn(
        measure=question.measures[0],
        predicted=predicted,
        n=e.n,
        k=e.k,
        left=e.left,
        audited=e.left * audited_cells(of_predictions(question.measures, predicted), predicted),
        expected=none.mean,
        wide=wide,
        log_found=np.log(rate),
        log_clear=np.log1p(-rate),
        hidden=((wide.rate[0] - none.rate[0]) / shown).max(axis=1),
        seed=int(rng.integers(2**63)),
    )


def _step(drawn: _Drawn, present: MeasureEstimate, before: Ends, size: int) -> tuple[AuditStep, bool]:
    """An audit of this size, and whether it brings the wide interval down; before: `_ends` of none."""
    after, main = (
        _ends(drawn, present.confidence, size),
        (np.array([present.lower]), np.array([present.upper])),
    )
    # the interval as reported, its ends moved as far as those of the posterior, inwards alone
    lower = float(present.diagnostics["wide_lower"] or 0.0) + np.maximum(after[0] - before[0], 0.0)
    upper = float(present.diagnostics["wide_upper"] or 0.0) + np.minimum(after[1] - before[1], 0.0)
    wide = np.fmin(lower, main[0]), np.fmax(upper, main[1])
    beyond = main[0] - wide[0] + wide[1] - main[1]
    return AuditStep(
        labels=size,
        lower=float(wide[0][0]),
        upper=float(wide[1][0]),
        excludes=excluded(size, round(float(drawn.audited.sum())), present.confidence),
        chance_found=float((drawn.wide.weight[0] * -np.expm1(size * np.log1p(-drawn.hidden))).sum()),
    ), bool(beyond[0] <= SETTLED_SHARE * (main[1] - main[0])[0])


def _ends(drawn: _Drawn, confidence: float, size: int) -> Ends:
    """Ends (1,) of the posterior that allows for hidden positives, after an audit of this size."""
    audited_items = size * drawn.audited / float(drawn.audited.sum())                  # (1, C)
    new_positives = audited_items * drawn.expected
    known_positives = by_prediction(drawn.k + new_positives, drawn.predicted)
    rng = stream(drawn.seed, "audit")
    groups = np.stack([1 - drawn.predicted, drawn.predicted])
    positives = known_positives[:, None] + finite_counts(drawn.wide, drawn.left - audited_items, groups, rng)
    missed, hits = positives[..., 0], positives[..., 1]
    items = by_prediction(drawn.n + drawn.left, drawn.predicted)
    value = two_classes.of_totals(drawn.measure, hits, missed, items)
    log_weight = drawn.log_found @ new_positives[0] + drawn.log_clear @ (audited_items - new_positives)[0]
    weight = drawn.wide.weight[0] * np.exp(log_weight - log_weight.max())
    labels = drawn.n.sum(axis=1) + size
    return quantiles(value, np.asarray(weight / weight.sum())[None], labels, confidence).early
