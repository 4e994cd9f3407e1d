"""One question, spelled otherwise: `python -m benchmarks.prices` writes docs/measured/prices.md (minutes).

Each group of spellings means the same question of the same items. Labels to a half-width are by replays of
`auto`, with the same seed; coverage is the least over the looks. Where a spelling costs more it lacks a piece
of information, which the table names.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import expit, logit

import assay
from assay.evalcore.reproducible import stream
from benchmarks.pages import MEASURED, write_page

OUT = MEASURED / "prices.md"
ITEMS, REPEATS, SEED = 3_000, 200, 7
BUDGETS = (*range(25, 401, 25),)
HALF_WIDTHS = (0.10, 0.05)
TWO_CLASSES: Mapping[str, Any] = {"label": "label", "outcome": {"positive": "yes", "negative": "no"}}
CLASSES: Mapping[str, Any] = {"label": "label", "outcome": ["no", "yes"], "prediction": "guess"}
OF_YES = {"class": "yes"}


class Spelling(NamedTuple):
    """One way to ask, with what it does not say."""

    words: str
    arguments: Mapping[str, Any]
    lacks: str = ""


SCORED: Mapping[str, Any] = {**TWO_CLASSES, "prediction": "guess", "measures": ["f1"]}
F1 = (
    Spelling("positive and negative, `probability`", {**SCORED, "probability": "p"}),
    Spelling("the same as a `score` in [0, 1]", {**SCORED, "score": "p"}),
    Spelling("log odds as a `score`", {**SCORED, "score": "odds"}),
    Spelling("a weight of 1 for everybody", {**SCORED, "probability": "p", "weight": "single"}),
    Spelling("a cluster for each item", {**SCORED, "probability": "p", "cluster": "own"}),
)
SURE: Mapping[str, Any] = {"measures": ["accuracy"]}
ACCURACY = (
    Spelling("positive and negative, `probability`", {**SCORED, **SURE, "probability": "p"}),
    Spelling("a list of classes, `probability` of each", {**CLASSES, **SURE, "probability": "p_"}),
    Spelling("a list of classes, predictions alone", {**CLASSES, **SURE}, "how sure the system is"),
)
JUDGED: Mapping[str, Any] = {"label": "hit", "judge": "p", "measures": ["mean"]}
SHARE = (
    Spelling("`rate` of a class, `probability` of each",
             {**CLASSES, "probability": "p_", "measures": [{"name": "rate", **OF_YES}]}),
    Spelling("grades of 0 and 1, a judge in [0, 1]", {**JUDGED, "outcome": {"grades": [0, 1]}}),
    Spelling("a number from 0 to 1, the same judge", {**JUDGED, "outcome": {"number": {"min": 0, "max": 1}}},
             "that nothing lies between 0 and 1"),
)
GROUPS = {"F1": F1, "accuracy": ACCURACY, "the share of positives": SHARE}


def frame(positives: float, slope: float) -> pa.Table:
    """Items of which a share is positive; the steeper the slope, the better the score tells them apart."""
    rng = stream(SEED, f"prices/{positives}/{slope}")
    label = rng.random(ITEMS) < positives
    p = expit(logit(positives) + slope * np.where(label, 1.2, -1.2) + 1.5 * rng.standard_normal(ITEMS))
    return pa.table({
        "label": np.where(label, "yes", "no"), "hit": label.astype(np.int64), "p": p, "odds": logit(p),
        "p_yes": p, "p_no": 1 - p, "guess": np.where(p > 0.5, "yes", "no"), "single": np.ones(ITEMS),
        "own": [f"cluster {at}" for at in range(ITEMS)],
    })


def rows(repeats: int) -> Iterator[str]:
    """A row of the table for each spelling on each pool."""
    for pool, data in (("40% positives", frame(0.4, 1.0)), ("15% positives", frame(0.15, 1.5))):
        for question, spellings in GROUPS.items():
            first: list[float] = []
            for spelling in spellings:
                curve = assay.replay(
                    data, methods=["auto"], budgets=list(BUDGETS), repeats=repeats, seed=SEED,
                    **spelling.arguments,
                ).to_frame()
                labels = [_labels_to(curve, half) for half in HALF_WIDTHS]
                first = first or labels
                cells = [
                    "–" if np.isnan(n) else f"{n:.0f} ({n / base:.2f})"
                    for n, base in zip(labels, first, strict=True)
                ]
                yield (f"| {pool} | {question} | {spelling.words} | {' | '.join(cells)} | "
                       f"{float(np.min(np.asarray(curve['coverage']))):.3f} | {spelling.lacks} |")


def _labels_to(curve: Any, half_width: float) -> float:
    """Labels at which half the mean width comes down to this, between two budgets by a straight line in
    1/width²; NaN where it does not."""
    labels, width = (np.asarray(curve[name], np.float64) for name in ("labels", "width"))
    precision, wanted = 1 / width**2, 1 / (2 * half_width) ** 2
    if precision[-1] < wanted:
        return float("nan")
    return float(np.interp(wanted, precision, labels))


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    repeats = parser.parse_args().repeats
    lines = [
        "# One question, one price", "",
        f"Made by `python -m benchmarks.prices`: `auto`, {ITEMS:,} items, R = {repeats}, looks every 25 "
        "labels up to 400. Labels to a mean half-width, and over the first spelling; coverage is the "
        "least over the looks (nominal 0.95). Where a spelling costs more, the last column says what it does "
        "not tell. `tests/features/test_one_price.py` holds spellings whose draws and intervals are equal to "
        "the last bit.", "",
        "| pool | question | spelling | ±0.10 | ±0.05 | least coverage | what it does not say |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows(repeats):
        print(row, flush=True)
        lines.append(row)
    write_page(OUT, "\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
