"""Follow-ups, sizes and means of windows, played with the core's own rules: for `benchmarks.signals`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.special import ndtri

from assay.evalcore.evaluation.stopping import confidence_after, labels_to_decide, widening
from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring import betting
from assay.evalcore.monitoring.earlier_windows import recent_mean
from assay.evalcore.monitoring.sizing import labels_to_alarm, size_of
from assay.evalcore.monitoring.verdicts import (
    Measured,
    PlaceVerdict,
    Promise,
    WatchedLimit,
    evidence_by_window,
    verdict_of,
)
from assay.evalcore.reproducible import stream as random_stream
from assay.evalcore.types import Array, Floats

POOLS = Path(os.environ.get("ASSAY_POOLS", "../shared/pools"))
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
ORDINARY, WORSE = 6, 20             # windows before the change, and after it
ITEMS, BUDGET, QUIET = 5000, 200, 50
FLOOR = WatchedLimit(side="below", value=0.78, name="floor")
ERROR_RATE, RECENT, FOLLOW_UPS = 0.05, 4, 2
EXPECTED = 0.8   # what a label model thinks of the accuracy
PROMISE = Promise(error_rate=ERROR_RATE, test="e-detector")
TURNED = {0.1: "0.76", 0.15: "0.73", 0.3: "0.63"}   # share of labels turned round -> accuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is bought."""

    name: str
    sized: bool        # by what would decide; else QUIET
    across: bool       # follow-ups where the interval lies across the limit
    beyond: bool       # and where it lies beyond it


RULES = (
    Rule(name="50 labels, no follow-ups", sized=False, across=False, beyond=False),
    Rule(name="50 labels, follow-ups across the limit (before)", sized=False, across=True, beyond=False),
    Rule(name="50 labels, follow-ups across and beyond", sized=False, across=True, beyond=True),
    Rule(name="sized, no follow-ups", sized=True, across=False, beyond=False),
    Rule(name="sized, follow-ups across and beyond (now)", sized=True, across=True, beyond=True),
)


_CACHE: dict[tuple[str, ...], dict[str, Array]] = {}


def columns(name: str, *wanted: str) -> dict[str, Array]:
    """Of a pool of record; read once."""
    if (name, *wanted) not in _CACHE:
        table = pq.read_table(POOLS / f"{name}.parquet", columns=list(wanted))
        _CACHE[name, *wanted] = {column: np.array(table.column(column)) for column in wanted}
    return _CACHE[name, *wanted]


def day(number: int) -> datetime:
    """Of the streams, from 0."""
    return FIRST + timedelta(days=number)


def log_factors(n: int, errors: int) -> Floats:
    """(G,) the evidence of n random labels of a window, so many of them errors, in any order."""
    form = measure("accuracy").margin(FLOOR.value)
    if form is None:
        raise AssertionError("accuracy is a mean")
    constant, table = form
    wrong, right = constant + table[1, 0], constant + table[1, 1]
    worth = np.where(np.random.default_rng([n, errors]).permutation(n) < errors, wrong, right)
    account = betting.bet_on_round(
        betting.Account.new(1), betting.expected(np.array([[[wrong, right]]]), np.array([[EXPECTED]])),
        np.ones((1, 1)), np.array([[ITEMS]]), np.zeros((1, n), np.int64), worth[None],
    )
    return account.factors[0]


def judged(samples: Sequence[tuple[int, int]], lives: Sequence[Floats]) -> tuple[PlaceVerdict, Floats]:
    """The verdict on a window of which batches of so many labels had so many errors; and its log factors.

    Intervals are normal, with two right and two wrong labels added to the variance, and wider after each
    follow-up, as those of an evaluation that is extended.
    """
    factors = sum(log_factors(n, k) for n, k in samples)
    life = evidence_by_window(PROMISE, [*lives, np.asarray(factors)])[-1]
    n, k = (sum(counts) for counts in zip(*samples, strict=True))
    p, confidence = (k + 2) / (n + 4), confidence_after(0.95, len(samples) - 1)
    half = float(ndtri(0.5 + confidence / 2) * np.sqrt(p * (1 - p) / n * (1 - n / ITEMS)))
    value = 1 - k / n
    m = Measured(value=value, lower=value - half, upper=value + half, confidence=confidence, labels=n)
    return PlaceVerdict(
        segment=None, measured=m, limits=(FLOOR,), factors=(), evidence=(life.evidence,),
        needed=float(-np.log(ERROR_RATE)), verdict=verdict_of(m, [FLOOR], life.alarm),
    ), np.asarray(factors)


def play(rule: Rule, right: Array, rng: np.random.Generator) -> list[PlaceVerdict]:
    """The windows right (W, N), one after the other, up to the first breach."""
    told: dict[str, PlaceVerdict] = {}
    lives: list[Floats] = []
    for w, items in enumerate(right):
        last = dict(list(told.items())[-RECENT:])
        sizing = size_of(
            last, promise=PROMISE, verdicts=len(told), smallest=QUIET, largest=BUDGET,
        ) if rule.sized else None
        n = BUDGET if w == 0 else QUIET if sizing is None else sizing.labels
        samples: list[tuple[int, int]] = []
        while True:
            drawn = rng.choice(items, n, replace=False)
            samples.append((n, int((~drawn).sum())))
            place, factors = judged(samples, lives)
            m = place.measured
            across = labels_to_decide(
                m.value, m.lower, m.upper, edges=[FLOOR.value], labels=m.labels, pool=ITEMS,
                widening=widening(0.95, len(samples) - 1),
            )
            more = across if rule.across else None
            if rule.beyond and across is None:
                more = labels_to_alarm(place, ITEMS)
            if place.verdict != "inconclusive" or more is None or len(samples) > FOLLOW_UPS:
                break
            n = min(more, BUDGET)
        told[f"{w:03d}"] = place
        lives.append(factors)
        if place.verdict == "breach":
            break
    return list(told.values())


def buying_table(repeats: int) -> tuple[str, str]:
    """Windows and labels until a breach is called, by what is bought; and the means over the last windows."""
    c = columns("employment-ma", "prediction", "label")
    pool = c["prediction"] == c["label"]
    calls = " | ".join(f"accuracy {x}: windows until called, labels of each" for x in TURNED.values())
    lines = [
        f"| what is bought | labels of an ordinary window | ordinary windows that were ok | {calls} |",
        "| --- | --- | --- |" + " --- |" * len(TURNED),
    ]
    means: list[tuple[float, float, bool, bool]] = []
    for rule in RULES:
        ordinary: list[PlaceVerdict] = []
        cells = []
        for turned in TURNED:
            until, labels = [], []
            for repeat in range(repeats):
                rng = random_stream(repeat, f"window sizes {turned}", 0)
                right = rng.choice(pool, (ORDINARY + WORSE, ITEMS))
                right[ORDINARY:] ^= rng.random((WORSE, ITEMS)) < turned
                told = play(rule, right, rng)
                ordinary += told[1:ORDINARY]
                means += _of_means(told, right) if rule is RULES[-1] else []
                after = told[ORDINARY:]
                if after:   # not called before the change
                    until.append(len(after) + (after[-1].verdict != "breach"))
                    labels.append(float(np.mean([place.measured.labels for place in after])))
            cells.append(f"{np.mean(until):.1f}, {np.mean(labels):.0f}")
        bought = np.mean([place.measured.labels for place in ordinary])
        ok = np.mean([place.verdict == "ok" for place in ordinary])
        lines.append(f"| {rule.name} | {bought:.0f} | {ok:.0%} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    half, wide, alone, covers = np.array(means, float).mean(axis=0)
    said = (
        f"in {len(means)} windows after the first, the interval of the mean over the last {RECENT} windows "
        f"was ±{wide:.3f} on average, that of the window alone ±{half:.3f}. It covered the mean of the true "
        f"values, weighted alike, in {covers:.1%} of windows; the window's own interval covered its value in "
        f"{alone:.1%}."
    )
    print(said, flush=True)
    return "\n".join(lines), said


def _of_means(told: Sequence[PlaceVerdict], right: Array) -> list[tuple[float, float, bool, bool]]:
    """Of every window: half-widths of its interval and of the mean's, and whether each covers the truth."""
    found = []
    truth = right.mean(axis=1)
    for w in range(1, len(told)):
        last = {str(i): told[i].measured for i in range(max(w - RECENT + 1, 0), w + 1)}
        m, mean = told[w].measured, recent_mean(None, last, "independent")
        if mean is None or m.lower is None or m.upper is None:
            continue
        of_all = sum(one.labels * truth[int(i)] for i, one in last.items()) / mean.labels
        found.append((
            (m.upper - m.lower) / 2, (mean.upper - mean.lower) / 2,
            bool(m.lower <= truth[w] <= m.upper), bool(mean.lower <= of_all <= mean.upper),
        ))
    return found
