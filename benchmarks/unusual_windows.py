"""Signals in ordinary windows of real streams, and around a change: for `benchmarks.signals`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri, expit, logit, ndtri

from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.calendar import at, seasons
from assay.evalcore.monitoring.profile import Traffic, expected_measure, profile_of
from assay.evalcore.monitoring.signals import MATTERS, Watched, is_quiet, largest_gap, signals, stability
from assay.evalcore.reproducible import stream as random_stream
from assay.evalcore.types import Array
from benchmarks.window_sizes import columns, day

RATE, FEWEST = 0.01, 5
ACCURACY = measure("accuracy")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """Windows in order of time, the window in which something changed, and their seasons."""

    name: str
    windows: Sequence[Traffic]
    changes: int | None
    kind: str = "week"


def traffic(p: Array, prediction: Array, here: Array, **more: Any) -> Traffic:
    """Of the items of one window."""
    p = np.clip(p[here].astype(float), 1e-6, 1 - 1e-6)
    return Traffic(score=logit(p), probability=p, prediction=prediction[here].astype(int), **more)


def employment(*, shuffled: bool) -> Stream:
    """Each of the four years in thirteen parts, as they stand in the file or in random order."""
    c = columns("employment-ma", "year", "probability", "prediction", "age", "schooling", "marital", "sex")
    rng = random_stream(1, "employment parts", 0)
    years = [np.flatnonzero(c["year"] == year) for year in np.unique(c["year"])]
    parts = [
        part for year in years
        for part in np.array_split(rng.permutation(year) if shuffled else year, 13)
    ]
    order = "in random order" if shuffled else "in the order of the file"
    return Stream(name=f"employment, 52 parts of 5,300 {order}", changes=None, windows=[
        traffic(
            c["probability"], c["prediction"], part,
            features={name: c[name][part].astype(float) for name in ("age", "schooling")},
            segments={name: dict(Counter(c[name][part].astype(str).tolist())) for name in ("marital", "sex")},
        ) for part in parts
    ])


def cards(days: int, name: str) -> Stream:
    """One class against the rest; quality drops from 1 November 2020 on, the 62nd day."""
    label = "prepaid_card"
    c = columns("card-choice-multiclass", "timestamp", "prediction", f"probability_{label}")
    date = np.array([str(text)[:10] for text in c["timestamp"]], "datetime64[D]")
    number = (date - date.min()).astype(int) // days
    return Stream(
        name=name, changes=61 // days, kind="day" if days == 1 else "week",
        windows=[traffic(c[f"probability_{label}"], c["prediction"] == label, number == w)
                 for w in range(int(number.max()))],
    )


def governors() -> Stream:
    """The same 267 candidates day after day, 52 days up to the election."""
    c = columns("governors-regression", "forecast_date", "probability_win")
    p = c["probability_win"]
    return Stream(name="governors by day, 267 each", changes=None, kind="day", windows=[
        traffic(p, p > 0.5, c["forecast_date"] == date) for date in np.unique(c["forecast_date"])
    ])


def weekends() -> Stream:
    """Simulated: other scores on Saturdays and Sundays, nothing else."""
    rng = random_stream(1, "weekends", 0)
    windows = []
    for d in range(120):
        p = expit(2 * (rng.standard_normal(1000) + (1.0 if day(d).weekday() > 4 else 0.0)))
        windows.append(traffic(p, p > 0.5, np.arange(1000)))
    return Stream(name="simulated days with weekends, 1,000 each", changes=None, kind="day", windows=windows)


def raised_now(stream: Stream) -> list[bool]:
    """By today's rule, for every window."""
    first = profile_of(stream.windows[0], ACCURACY)
    watched = [
        Watched(profile=profile_of(one, ACCURACY, first),
                seasons=seasons(at(day(i), "day")) if stream.kind == "day" else ())
        for i, one in enumerate(stream.windows)
    ]
    return [not is_quiet(signals(watched[:k + 1], rate=RATE, fewest=FEWEST)) for k in range(len(watched))]


def raised_before(stream: Stream) -> list[bool]:
    """By the rule there was: against the first window, beyond chance at 0.001 and large enough to matter."""
    first, level = stream.windows[0], 0.001
    edges = np.quantile(first.score, np.arange(1, 50) / 50)
    told = []
    for one in stream.windows:
        n, m = len(one.score), len(first.score)
        sizes = 1 / n + 1 / m
        ours, theirs = (
            np.bincount(np.searchsorted(edges, x.score, side="right"), minlength=50) for x in (one, first)
        )
        share = [float(x.prediction.mean()) for x in (one, first)]
        both = (n * share[0] + m * share[1]) / (n + m)
        expected = [expected_measure(x, ACCURACY) or 0.0 for x in (one, first)]
        spread = np.hypot(*(
            np.maximum(x.probability, 1 - x.probability).std() / np.sqrt(len(x.score)) for x in (one, first)
        ))
        z = float(ndtri(1 - level / 2))
        found = {
            "psi": (stability(ours, theirs), float(chdtri(9, level)) * sizes),
            "ks": (largest_gap(ours, theirs), float(np.sqrt(-np.log(level / 2) / 2 * sizes))),
            "predictions": (abs(share[0] - share[1]), z * float(np.sqrt(both * (1 - both) * sizes))),
            "expected": (abs(expected[0] - expected[1]), z * float(spread)),
        }
        told.append(any(value > max(chance, MATTERS[name]) for name, (value, chance) in found.items()))
    return told


def signals_table() -> str:
    """False alarms in ordinary windows, and how soon a change is seen."""
    streams = (
        employment(shuffled=False), employment(shuffled=True), cards(7, "card choice by week, 3,400 each"),
        cards(1, "card choice by day, 490 each"), governors(), weekends(),
    )
    lines = [
        "| stream | ordinary windows | raised before | raised now | the change, before | the change, now |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in streams:
        ordinary = range(FEWEST, one.changes or len(one.windows))
        cells = []
        for raised in (raised_before(one), raised_now(one)):
            alarms = sum(raised[k] for k in ordinary)
            seen = next((k - one.changes for k in range(one.changes, len(raised)) if raised[k]), None) \
                if one.changes is not None else None
            late = "no change" if one.changes is None else \
                "not seen" if seen is None else f"window {seen + 1} of it"
            cells.append((f"{alarms} ({alarms / len(ordinary):.0%})", late))
        (a, late_a), (b, late_b) = cells
        lines.append(f"| {one.name} | {len(ordinary)} | {a} | {b} | {late_a} | {late_b} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


