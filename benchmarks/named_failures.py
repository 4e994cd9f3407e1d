"""Intervals that failed once, each under its name: `python -m benchmarks.named_failures`.

Writes docs/measured/named-failures.md (ten minutes on one processor); with `--areas` areas under curves too,
which take several times as long.  A row is a pool, or a family that pools are drawn from by lot, a measure,
and the methods that were found wanting there.  `At a stop` follows the rule of evaluations: looks every 25
labels, 100 labels at least, and the target met at two in a row.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from assay.evalcore.measures.measure import difference
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.method import LOOKS_IN_A_ROW, MIN_LABELS
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes, preferences
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, Trace, join, simulate
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Bools, Floats
from benchmarks.pages import read_page, write_page
from benchmarks.rare_errors import FAMILIES
from benchmarks.stopping import stops

OUT = Path(__file__).parent.parent / "docs" / "measured" / "named-failures.md"
RUNS, EACH = 200, 50     # evaluations of a row, and of each pool of a family
AREAS = 50               # evaluations of areas under curves
EVERY = 25
LAST_LOOK = 600          # of those that wait for a stop
BOTH = ("auto", "passive")

Draw = Callable[[np.random.Generator], OutcomePool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What failed, and where."""

    says: str
    was: str                      # what was measured then
    draw: Draw
    measure: str
    budgets: tuple[int, ...] = ()
    stop: tuple[float, ...] = ()  # half-widths to stop at
    methods: tuple[str, ...] = BOTH
    options: Mapping[str, str] = field(default_factory=dict)
    beside: bool = False          # of two systems: the accuracy of one is asked for too, so all items matter
    pools: int | None = None      # how many are drawn; EACH evaluations of each unless said
    runs: int | None = None       # fewer evaluations than elsewhere: areas take long


# What is drawn.

def wrong_classes(wrong: int, n: int) -> Draw:
    """So many of n predictions of ten classes are wrong; no probabilities."""
    return lambda rng: FAMILIES["classes"].draw(rng, n, wrong / n)


def fives(share: float, n: int = 2_000) -> Draw:
    """Grades; this share is not a five.  The judge is of no use."""
    return lambda rng: FAMILIES["fives"].draw(rng, n, share)


def _numbers(prediction: Floats, error: Floats) -> OutcomePool:
    return OutcomePool(kind=Numbers(), items=Items(prediction=prediction[:, None]), codes=prediction + error)


def _heavy(rng: np.random.Generator) -> OutcomePool:
    f = rng.gamma(2.0, 2.0, 5_000)
    return _numbers(f, rng.standard_t(2.2, 5_000))


def _flights(rng: np.random.Generator) -> OutcomePool:
    """Delays in minutes: most flights are a little early, one in five is late by a log-normal time."""
    n = 8_000
    late, hour = rng.random(n) < 0.2, rng.uniform(0, 1, n)
    delay = rng.normal(-5, 9, n) + late * np.exp(rng.normal(3.3, 1.1, n) + 0.5 * hour)
    return _numbers(2 + 8 * hour + rng.normal(0, 3, n), delay - (2 + 8 * hour))


def _ranked(share: float, apart: float, rng: np.random.Generator) -> OutcomePool:
    """One class of two that this share of the items is of, by a score that its mean is so far apart in."""
    n = 4_000
    there = rng.random(n) < share
    score = rng.standard_normal(n) + apart * there
    p = 1 / (1 + np.exp(-(apart * score - apart**2 / 2 + np.log(share / (1 - share)))))
    return OutcomePool(
        kind=Classes(("no", "yes")), codes=there.astype(np.float64), items=Items(
            prediction=(p > 0.5).astype(np.float64)[:, None], probability=np.stack([1 - p, p], axis=1)
        ),
    )


def over_confident(rng: np.random.Generator) -> OutcomePool:
    """Six classes, 3 to 4% of the predictions wrong, probabilities that say less."""
    n, k = 4_000, 6
    prediction, odds = rng.integers(0, k, n), rng.gamma(0.5, 1.0, n)
    chance = np.clip(odds / odds.mean() * rng.uniform(0.03, 0.04), 0, 0.9)
    wrong, told = rng.random(n) < chance, np.clip(chance**1.7, 1e-6, 0.8)
    probability = np.repeat(told[:, None] / (k - 1), k, axis=1)
    probability[np.arange(n), prediction] = 1 - told
    codes = np.where(wrong, (prediction + rng.integers(1, k, n)) % k, prediction)
    return OutcomePool(
        kind=Classes(tuple("abcdef")), codes=codes.astype(np.float64),
        items=Items(prediction=prediction[:, None].astype(np.float64), probability=probability),
    )


def two_systems(wrong: tuple[float, float], shared: float, rng: np.random.Generator) -> OutcomePool:
    """Two systems of four classes: a share is wrong of both alike, others of one alone."""
    n, k = 5_000, 4
    label, both = rng.integers(0, k, n), rng.random(n) < shared
    alike = (label + 1 + rng.integers(0, k - 1, n)) % k
    said = []
    for rate in wrong:
        own = (rng.random(n) < rate) & ~both
        said.append(np.where(both, alike, np.where(own, (label + rng.integers(1, k, n)) % k, label)))
    return OutcomePool(
        kind=Classes(tuple("abcd")), codes=label.astype(np.float64),
        items=Items(prediction=np.stack(said, axis=1).astype(np.float64)),
    )


def _preferred(rng: np.random.Generator) -> OutcomePool:
    """60 comparisons; new wins all but one or two."""
    lost = rng.choice(60, int(rng.integers(1, 3)), replace=False)
    codes = np.zeros(60)
    codes[lost] = 1.0
    return OutcomePool(
        kind=preferences("new", "old", "tie"), codes=codes, items=Items(prediction=np.zeros((60, 0)))
    )


def _alike(rng: np.random.Generator) -> OutcomePool:
    """60 grades; all but one or two are a two."""
    codes = np.ones(60)
    codes[rng.choice(60, int(rng.integers(1, 3)), replace=False)] = rng.integers(2, 5)
    kind = Classes(tuple("12345"), values=(1.0, 2.0, 3.0, 4.0, 5.0))
    return OutcomePool(kind=kind, codes=codes, items=Items(prediction=np.zeros((60, 0))))


def _exact_but_few(rng: np.random.Generator) -> OutcomePool:
    return FAMILIES["numbers"].draw(rng, 5_000, 0.02)


SYSTEMS = "accuracy"
ROWS = (
    Row(says="accuracy of classes, 50 of 10,000 wrong", was="auto 0.63, passive 0.54 at 200",
        measure="accuracy", draw=wrong_classes(50, 10_000), budgets=(25, 50, 100, 200, 500)),
    Row(says="accuracy of classes, 20 of 10,000 wrong", was="passive 0.33 at 200, auto 0.68 at 500",
        measure="accuracy", draw=wrong_classes(20, 10_000), budgets=(25, 50, 100, 200, 500)),
    Row(says="accuracy of classes, 100 of 10,000 wrong", was="0.61 at 100, 0.85 at 200", measure="accuracy",
        draw=wrong_classes(100, 10_000), budgets=(25, 50, 100, 200, 500), stop=(0.02, 0.005)),
    Row(says="accuracy of classes, 5 of 1,000 wrong", was="0.63 at 200", measure="accuracy",
        draw=wrong_classes(5, 1_000), budgets=(25, 50, 100, 200, 500)),
    Row(says="accuracy of classes, 2 of 100 wrong", was="0.75 at 50", measure="accuracy",
        draw=wrong_classes(2, 100), budgets=(25, 50)),
    Row(says="mean grade, 98.5% fives", was="0.41 at a stop", measure="mean", draw=fives(0.015),
        budgets=(25, 50, 100, 200, 500), stop=(0.1, 0.05)),
    Row(says="mean grade, 1% not a five, a useless judge", was="0.465, 0.645, 0.87 at 50, 100, 200",
        measure="mean", draw=fives(0.01), budgets=(25, 50, 100, 200, 500)),
    Row(says="MAE, 98% exact, exponential errors", was="0.08 to 0.31 at a stop", measure="mae",
        draw=_exact_but_few, budgets=(25, 50, 100, 200, 500), stop=(0.05, 0.02)),
    Row(says="MAE, errors t with 2.2 degrees of freedom", was="0.83; 0.84 at a stop", measure="mae",
        draw=_heavy, budgets=(25, 50, 100, 200, 500), stop=(0.2, 0.15)),
    Row(says="RMSE of flight delays", was="0.915 to 0.925 at 50 to 200; 0.82, 0.89 at a stop", measure="rmse",
        draw=_flights, budgets=(25, 50, 100, 200, 500), stop=(16.0, 8.0)),
    Row(says="ROC AUC, 3.3% positives", was="0.92, 0.86, 0.88 at 300, 500, 1,000", measure="roc_auc",
        draw=partial(_ranked, 0.033, 1.5), options={"class": "yes"}, budgets=(300, 500, 1000), runs=AREAS),
    Row(says="ROC AUC, 1% positives, told apart well", was="0.89 at 300", measure="roc_auc",
        draw=partial(_ranked, 0.01, 2.5), options={"class": "yes"}, budgets=(300, 500, 1000), runs=AREAS),
    Row(says="accuracy, over-confident probabilities, 3 to 4% wrong", was="0.927 at 50", measure="accuracy",
        draw=over_confident, budgets=(25, 50, 100, 200, 500),
        methods=("auto", "passive", "stratified-neyman")),
    Row(says="60 grades, all but one or two alike", was="2.000000 (1.999999 to 2.000001) at 30",
        measure="mean", draw=_alike, budgets=(30,)),
    Row(says="60 preferences, all but one or two for new", was="0.981 to 1 at 30", measure="win_rate",
        draw=_preferred, budgets=(30,)),
    Row(says="two systems, 20% and 15% wrong, half of it alike", was="0.78 at 25, 0.90 at 50",
        measure=SYSTEMS, draw=partial(two_systems, (0.12, 0.07), 0.08), budgets=(25, 50, 100, 200, 500)),
    Row(says="two systems, 5% and 2% wrong alone", was="0.78 at 25, 0.90 at 50",
        measure=SYSTEMS, draw=partial(two_systems, (0.05, 0.02), 0.1), budgets=(25, 50, 100, 200, 500)),
    *(Row(says=f"two systems that differ on {rate:.1%} of the items, beside the accuracy of one",
          was="passive 0.12 to 0.80", measure=SYSTEMS, budgets=(25, 50, 100, 200, 500), beside=True,
          draw=partial(two_systems, (0.7 * rate, 0.3 * rate), 0.1)) for rate in (0.002, 0.005, 0.01, 0.017)),
)


# How intervals did.

def stack_of(row: Row, pool: OutcomePool) -> Stack:
    """The measure; of two systems the difference of the second from the first."""
    n = len(pool.items)
    made = grids(pool.kind, pool.items) if row.measure in ("roc_auc", "average_precision") else None
    first, *others = (
        outcome_measure(row.measure, pool.kind, n, system=s, options=row.options, grids=made)
        for s in range(max(pool.items.systems, 1))
    )
    apart = [difference(others[0], first)] if others else []
    return Stack(kind=pool.kind, measures=(*apart, *([first] if row.beside or not others else [])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The looks of all evaluations of one method."""

    looks: tuple[int, ...]
    covers: Bools        # (R, looks)
    width: Floats
    error: Floats

    def at(self, budget: int) -> str:
        """Coverage, mean width over 3.92 times the error."""
        j = self.looks.index(budget)
        root = float(np.sqrt((self.error[:, j] ** 2).mean()))
        wide = f"{self.width[:, j].mean() / (3.92 * root):.2f}" if root > 0 else "–"
        return f"{self.covers[:, j].mean():.3f} · {self.width[:, j].mean():.3g} · {wide}"

    def at_stop(self, target: float) -> str:
        """How many intervals cover at the stop, or at the last look without one; how many stop, and when."""
        late = [j for j, n in enumerate(self.looks) if n >= MIN_LABELS and n % EVERY == 0]
        at = stops(self.width[:, late] / 2, target)
        last = np.where(at < 0, len(late) - 1, at)
        covers, labels = self.covers[:, late][np.arange(len(at)), last], np.array(self.looks)[late][last]
        return f"±{target:g}: {covers.mean():.3f}, {(at >= 0).mean():.0%} at {labels.mean():.0f}"


def found_by(row: Row, method: str, runs: int) -> Found:
    """What a method's intervals did at each look."""
    runs = row.runs or runs
    looks = set(row.budgets) | (set(range(EVERY, LAST_LOOK + 1, EVERY)) if row.stop else set())
    pools = row.pools or runs // EACH
    parts: list[Trace] = []
    truths: list[Floats] = []
    for number in range(pools):
        pool = row.draw(stream(number, f"named/{row.says}"))
        stack, when = stack_of(row, pool), sorted(n for n in looks if n < len(pool.items))
        each = runs // pools
        parts.append(simulate(
            outcome_method(method), pool, stack, ReplayPlan(budgets=when, seed=number), repeats=each
        )[0])
        truths.append(np.full(each, pool.truth(stack)[0]))
    trace, truth = join(parts), np.concatenate(truths)[:, None]
    value = np.where(np.isfinite(trace.value), trace.value, 0.0)
    slack = 1e-9 * np.maximum(np.abs(truth), 1.0)
    return Found(
        looks=tuple(when), width=trace.upper - trace.lower, error=value - truth,
        covers=(trace.lower - slack <= truth) & (truth <= trace.upper + slack),
    )


def lines(row: Row, runs: int, budgets: Sequence[int]) -> Iterator[str]:
    """The lines of a row; budgets: those of all rows, a column each."""
    few = f"; {row.runs} evaluations" if row.runs else ""
    for method in row.methods:
        found = found_by(row, method, runs)
        cells = [found.at(b) if b in row.budgets else "" for b in budgets]
        cells.append("; ".join(found.at_stop(target) for target in row.stop))
        yield f"| {row.says} | {row.was}{few} | {method} | " + " | ".join(cells) + " |"


def page(runs: int, rows: Sequence[Row]) -> Iterator[str]:
    """The lines of the page."""
    yield "# Intervals that failed once\n"
    yield "Made by `python -m benchmarks.named_failures`; do not edit.\n"
    yield (f"Nominal 95%, {runs} evaluations of each row, {EACH} of each pool by lot (standard error of a "
           f"coverage of 0.95: {np.sqrt(0.0475 / runs):.3f}). Cells: coverage · mean width · mean width "
           f"over 3.92 times the root mean squared error. At a stop: looks every {EVERY} labels up to "
           f"{LAST_LOOK}, at least {MIN_LABELS}, the target met at {LOOKS_IN_A_ROW} looks in a row; "
           "coverage of all evaluations there or at the last look, how many stop on the target, and their "
           "mean labels. *Then* is the coverage once measured.\n")
    budgets = sorted({budget for row in rows for budget in row.budgets})
    yield "| what failed | then | method | " + " | ".join(f"{b:,}" for b in budgets) + " | at a stop |"
    yield "| --- " * (4 + len(budgets)) + "|"
    for row in rows:
        yield from lines(row, runs, budgets)


def main() -> None:
    """Write the page; of some rows alone, print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--areas", action="store_true", help="areas under curves too, which take long")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    chosen = [row for row in ROWS if asked.only in row.says and (asked.areas or row.runs is None)]
    if asked.only:
        for line in page(asked.runs, chosen):
            print(line, flush=True)
        return
    with asked.out.open("w", encoding="utf-8") as out:
        for line in page(asked.runs, chosen):
            print(line, file=out, flush=True)
    write_page(asked.out, read_page(asked.out))


if __name__ == "__main__":
    main()
