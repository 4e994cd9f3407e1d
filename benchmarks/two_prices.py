"""People at one price, a judge at another; and what two people reach: `python -m benchmarks.two_prices`.

Writes docs/measured/two-prices.md (a few minutes).  Numbers, of which a column that costs nothing and a judge
at a price explain a part.  The pilot of PILOT rows, the split and the estimates are those of the product; the
labels bought after the pilot are drawn evenly, so they are one simple random sample with it.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.evalcore.annotators.ceiling import people_against_each_other
from assay.evalcore.design.two_phase import Prices, split_of_money
from assay.evalcore.evaluation.held_labels import HeldLabels, estimates_from_held_labels, left_by_guesses
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints
from assay.evalcore.weighted.sample import NO_GROUP, WeightedSample
from benchmarks.pages import write_page

OUT = Path(__file__).parent.parent / "docs" / "measured" / "two-prices.md"
ITEMS, MONEY, PILOT, RUNS, SEED = 3_000, 250.0, 50, 200, 536
KIND, CONFIDENCE = Numbers(), 0.95
FREE = (0.0, 0.5)            # ρ² of the column that costs nothing
PARTIAL = (0.0, 0.3, 0.7)    # squared partial correlation with the judge
JUDGE = (0.01, 0.1)          # price of a judgement, of a label 1
PEOPLE_ITEMS, PEOPLE_LABELS = 5_000, (50, 100, 200)
WRONG, POSITIVE = (0.05, 0.2), 0.3     # errors of each of two people, and share of positive items


def _stack() -> Stack:
    return Stack(kind=KIND, measures=(outcome_measure("mean", KIND, ITEMS, options={}),))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Rows of a pool: numbers (N,), and what the free column and the judge say (N, 2)."""

    value: Floats
    said: Floats

    def interval(self, judged: Ints, labels: int, *, by_judge: bool) -> tuple[float, float]:
        """Of the mean, where these rows are judged and the first of them labelled."""
        at = judged if len(judged) < len(self.value) or not by_judge else np.arange(len(self.value))
        place = np.searchsorted(np.sort(at), np.sort(judged[:labels]))
        rows = np.sort(at)
        items = Items(prediction=np.zeros((len(rows), 0)), judge=self.said[rows][:, : 1 + by_judge])
        (row,) = estimates_from_held_labels(
            HeldLabels(items=items, labelled=place, codes=self.value[rows][place]), _stack(), (), CONFIDENCE,
            "pool" if len(rows) == len(self.value) else "population",
        ).rows
        return row.lower or -np.inf, row.upper or np.inf


def _rows(rng: np.random.Generator, free: float, partial: float) -> Rows:
    column, own, noise = rng.normal(size=(3, ITEMS))
    rest = 1 - free
    value = np.sqrt(free) * column + np.sqrt(rest * partial) * own + np.sqrt(rest * (1 - partial)) * noise
    judge = np.sqrt(free) * column + np.sqrt(rest) * own
    return Rows(value=value, said=np.stack([column, judge], axis=1))


def _explained_in_pilot(rows: Rows, pilot: Ints) -> tuple[float, float]:
    """By the free column and the judge together, and by the column alone."""
    explained, free = (
        1 - left_by_guesses(
            _stack(), Items(prediction=np.zeros((len(pilot), 0)), judge=rows.said[pilot][:, :columns]),
            rows.value[pilot],
        )
        for columns in (2, 1)
    )
    return explained, free


def _one(rng: np.random.Generator, free: float, partial: float, prices: Prices) -> list[float]:
    """Whether the interval holds; its width over that of the split by the true part, and over that of labels
    alone; and the share of rows that were judged."""
    rows, order = _rows(rng, free, partial), rng.permutation(ITEMS)
    every, truth = np.arange(ITEMS), float(rows.value.mean())

    def of_split(explained: float, of_free: float) -> tuple[float, float, int]:
        split = split_of_money(MONEY, prices, explained, ITEMS, of_free)
        judged = max(split.judged, PILOT)
        labels = int((MONEY - prices.judge * judged) / prices.label)
        lower, upper = rows.interval(order[:judged], labels, by_judge=True) if split.judged else \
            rows.interval(order, labels, by_judge=False)
        return lower, upper, split.judged

    lower, upper, judged = of_split(*_explained_in_pilot(rows, order[:PILOT]))
    known_lower, known_upper, _ = of_split(free + (1 - free) * partial, free)
    alone_lower, alone_upper = rows.interval(every[order], int(MONEY / prices.label), by_judge=False)
    return [
        float(lower <= truth <= upper), (upper - lower) / (known_upper - known_lower),
        (upper - lower) / (alone_upper - alone_lower), judged / ITEMS,
    ]


def _of_prices(runs: int) -> Iterator[str]:
    yield ("| free column explains | judge, of the rest | a judgement | covered | over the best split | over "
           "labels alone | judged |")
    yield "|---" * 7 + "|"
    for free in FREE:
        for partial in PARTIAL:
            for judge in JUDGE:
                rng = stream(SEED, f"two prices {free} {partial} {judge}")
                prices = Prices(label=1.0, judge=judge)
                held, best, alone, judged = np.mean(
                    [_one(rng, free, partial, prices) for _ in range(runs)], axis=0)
                yield (f"| {free:g} | {partial:g} | {judge:g} | {held:.3f} | {best:.2f} | {alone:.2f} "
                       f"| {judged:.0%} |")


def _of_people(runs: int) -> Iterator[str]:
    """Intervals for what two people reach against each other."""
    kind = Classes(("no", "yes"), positive="yes")
    measures = [outcome_measure("f1", kind, PEOPLE_ITEMS, options={"class": "yes"}),
                outcome_measure("accuracy", kind, PEOPLE_ITEMS, options={})]
    yield "| each errs on | labels | F1 | covered | width | accuracy | covered | width |"
    yield "|---" * 8 + "|"
    for wrong in WRONG:
        said = POSITIVE * (1 - wrong) + (1 - POSITIVE) * wrong
        truth = ((POSITIVE * (1 - wrong) ** 2 + (1 - POSITIVE) * wrong**2) / said,
                 (1 - wrong) ** 2 + wrong**2)
        for labels in PEOPLE_LABELS:
            rng, covered, width = stream(SEED, f"two people {wrong} {labels}"), np.zeros(2), np.zeros(2)
            for _ in range(runs):
                positive = rng.random(labels) < POSITIVE
                answers = positive[:, None] ^ (rng.random((labels, 2)) < wrong)
                rows = people_against_each_other(
                    kind, measures, _random_sample(labels), answers.astype(np.float64).tolist(), CONFIDENCE)
                for at, row in enumerate(rows):
                    lower, upper = row.lower or 0.0, 1.0 if row.upper is None else row.upper
                    covered[at] += lower <= truth[at] <= upper
                    width[at] += upper - lower
            cells = [f"{truth[at]:.3f} | {covered[at] / runs:.3f} | {width[at] / runs:.3f}" for at in (0, 1)]
            yield f"| {wrong:.0%} | {labels} | {' | '.join(cells)} |"


def _random_sample(labels: int) -> WeightedSample:
    weight = np.full(labels, PEOPLE_ITEMS / labels)
    return WeightedSample(
        cell=np.zeros(labels, np.int64), rank=np.arange(labels), round=np.ones(labels, np.int64),
        draw=np.arange(labels), label=np.zeros(labels), probability=1 / weight, weight=weight,
        factor=weight**2 * (1 - labels / PEOPLE_ITEMS), group=np.full(labels, NO_GROUP),
        reached=np.ones(1, np.bool_), exact=False,
    )


def page(runs: int) -> Iterator[str]:
    """The lines of the page."""
    yield "# Two prices, and two people\n"
    yield "Made by `python -m benchmarks.two_prices`; do not edit.\n"
    yield (
        f"A mean over {ITEMS:,} rows, {MONEY:g} to spend, a label at 1, {runs} runs each. A pilot of {PILOT} "
        "rows tells what the judge explains beyond a free column. *Over the best split*: the interval's "
        "width over that of the split by what is true; *over labels alone*: over that of labels for all the "
        "money.\n"
    )
    yield from _of_prices(runs)
    yield "\n## What two people reach against each other\n"
    yield f"{POSITIVE:.0%} of the items are positive; the interval is over items, {runs} runs a row.\n"
    yield from _of_people(runs)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    write_page(given.out, "\n".join(page(given.runs)) + "\n")


if __name__ == "__main__":
    main()
