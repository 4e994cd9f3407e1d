"""Any outcome: labels to a half-width, and coverage at every look: `python -m benchmarks.any_outcome`.

Pools are drawn by lot from stated families: methods were chosen on the lots `choose`, and judged on the lots
`judge` and, with `--real`, on pools in ASSAY_POOLS.  Every question runs the methods below at the same looks.
Rewrites docs/measured/any-outcome.md from docs/measured/any-outcome.csv, which it adds to: a run that is cut
short goes on from there (`--write` only writes the page).
"""

import argparse
import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

from assay.evalcore.measures.measure import difference
from assay.evalcore.measures.registry import needs_grid, outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.score_strata import meaning_of_rows
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items, OneShard, pool_weights
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from assay.tasks.replay.outcome_pool import OutcomeColumns, read_outcome_pool
from benchmarks.outcomes import pool_path
from benchmarks.pages import write_page

DOCS = Path(__file__).parent.parent / "docs" / "measured"
PAGE, DATA = DOCS / "any-outcome.md", DOCS / "any-outcome.csv"
METHODS = ("auto", "passive", "stratified", "stratified-neyman", "active-inference", "model-assisted")
LOOKS = (50, 75, 100, 150, 200, 300, 400)
LOTS = {"choose": range(1, 4), "judge": range(101, 104)}
HALF_WIDTHS = (0.10, 0.05)
HONEST = 0.92            # coverage at every look of a method that others are compared with
COLUMNS = ("lot", "pool", "measure", "method", "runs", "labels", "rmse", "bias", "coverage", "width", "range")


@dataclass(frozen=True, kw_only=True, eq=False)
class PoolQuestion:
    """One measure of one pool."""

    pool_name: str
    pool: OutcomePool
    measure: str
    options: tuple[tuple[str, str], ...] = ()
    versus: bool = False     # the second system's less the first's

    @property
    def stack(self) -> Stack:
        """The measure, for the pool."""
        n, options, items = len(self.pool.items), dict(self.options), self.pool.items
        weights = pool_weights(OneShard(items))
        made = [
            outcome_measure(
                self.measure, self.pool.kind, n, system=s, options=options, weights=weights,
                grids=grids(self.pool.kind, items) if needs_grid(self.pool.kind, self.measure) else None,
            )
            for s in ((1, 0) if self.versus else (0,))
        ]
        return Stack(
            kind=self.pool.kind, measures=(difference(*made) if self.versus else made[0],), weights=weights,
            clustered=items.cluster is not None,
        )

    @property
    def unit(self) -> float:
        """Of half-widths: 1, the spread of numbers, which have no bounds, or half the range of grades."""
        low, high = self.stack.measures[0].bounds
        if not np.isfinite(high - low):
            return float(np.std(self.pool.codes))
        return (high - low) / 2 if self.pool.kind.name == "number" else 1.0

    def meant(self, method: str) -> str:
        """What `auto` means for the question."""
        return meaning_of_rows(method, self.stack, self.pool.items)


# Families of pools, drawn by lot: each from a generator.

def _softmax(z: Floats) -> Floats:
    return np.asarray(scipy.special.softmax(z, axis=1))


def _drawn(rng: np.random.Generator, p: Floats) -> Floats:
    """A class (n,) for each row of chances."""
    return np.asarray((p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1), np.float64)


def _classes(
    rng: np.random.Generator, k: int, *, supplied: bool = True, weighted: bool = False
) -> OutcomePool:
    """Skew, sharpness and temperature by lot; a classifier that sees the scores through noise."""
    n = int(rng.integers(1_500, 8_000))
    z = -rng.uniform(0, 0.8) * np.arange(k) + rng.uniform(1, 3) * rng.standard_normal((n, k))
    told = _softmax(rng.uniform(0.7, 2.0) * (z + rng.uniform(0, 1) * rng.standard_normal((n, k))))
    codes = _drawn(rng, _softmax(z))
    items = Items(
        prediction=told.argmax(axis=1).astype(np.float64)[:, None], probability=told if supplied else None,
        weight=rng.lognormal(0, 1, n)[:, None] if weighted else None,
    )
    return OutcomePool(kind=_kind(k), codes=codes, items=items)


def _kind(k: int) -> Classes:
    return Classes(tuple(f"class {i}" for i in range(k)))


def _rare_errors(rng: np.random.Generator) -> OutcomePool:
    """From 1% to 5% wrong, half of them where the classifier is sure."""
    pool = _classes(rng, 3)
    n, said = len(pool.codes), pool.items.prediction[:, 0]
    assert pool.items.probability is not None
    unsure = 1 - pool.items.probability.max(axis=1)
    chance = rng.uniform(0.01, 0.05) * (0.5 + 0.5 * unsure / unsure.mean())
    codes = np.where(rng.random(n) < chance, (said + 1) % 3, said)
    return OutcomePool(kind=pool.kind, codes=codes, items=pool.items)


def _numbers(rng: np.random.Generator) -> OutcomePool:
    """Errors in proportion to the prediction, with heavy tails."""
    n = int(rng.integers(2_000, 8_000))
    f = rng.gamma(2.0, 2.0, n)
    y = f * (1 + rng.uniform(0.05, 0.3) * rng.standard_t(rng.uniform(4, 10), n))
    y = y + 0.3 * rng.standard_normal(n)
    return OutcomePool(kind=Numbers(), codes=y, items=Items(prediction=f[:, None]))


def _judged(rng: np.random.Generator) -> OutcomePool:
    """Grades from 1 to 5, and judges of several worths."""
    n = int(rng.integers(1_000, 4_000))
    quality = rng.uniform(2.8, 4.4) + 0.9 * rng.standard_normal(n)
    y = np.clip(np.round(quality + 0.4 * rng.standard_normal(n)), 1, 5)
    judge = rng.uniform(0.1, 1.0, 3) * (quality[:, None] - 3) + 3 + 0.8 * rng.standard_normal((n, 3))
    items = Items(prediction=np.zeros((n, 0)), judge=np.clip(np.round(judge), 1, 5))
    return OutcomePool(kind=Numbers(1.0, 5.0), codes=y, items=items)


def _tags(rng: np.random.Generator) -> OutcomePool:
    """Eight tags, from common to rare, seen through noise."""
    n, k = int(rng.integers(2_000, 6_000)), 8
    odds = np.linspace(-1.0, rng.uniform(-6, -3), k) + 2.0 * rng.standard_normal((n, k))
    bits = rng.random((n, k)) < scipy.special.expit(odds)
    told = scipy.special.expit(rng.uniform(0.8, 1.6) * (odds + 0.7 * rng.standard_normal((n, k))))
    powers = 2.0 ** np.arange(k)
    items = Items(prediction=((told > 0.4) @ powers)[:, None], probability=told)
    return OutcomePool(kind=Tags(tuple(f"tag {i}" for i in range(k))), codes=bits @ powers, items=items)


def _two_systems(rng: np.random.Generator) -> OutcomePool:
    """Two systems that agree on most items."""
    n, k = int(rng.integers(2_000, 6_000)), 4
    z = 1.5 * rng.standard_normal((n, k))
    shared = z + 0.5 * rng.standard_normal((n, k))
    answers = [(shared + s * rng.standard_normal((n, k))).argmax(axis=1) for s in rng.uniform(0.2, 0.8, 2)]
    items = Items(prediction=np.stack(answers, axis=1).astype(np.float64), probability=_softmax(1.5 * shared))
    return OutcomePool(kind=_kind(k), codes=_drawn(rng, _softmax(2 * z)), items=items)


def _one_class(
    rng: np.random.Generator, rate: float, *, systems: int = 1, weighted: bool = False, clusters: bool = False
) -> OutcomePool:
    """Two classes, seen through noise; heavy items may be wrong more often, and clusters differ."""
    n = int(rng.integers(2_000, 6_000))
    odds = np.log(rate / (1 - rate)) + rng.uniform(1.5, 2.5) * rng.standard_normal(n)
    group = rng.integers(0, n // 10, n)
    if clusters:
        odds = odds + rng.uniform(0.3, 1.0) * rng.standard_normal(n // 10)[group]
    scores = odds[:, None] + rng.uniform(0.4, 1.0) * rng.standard_normal((n, systems))
    weight = rng.lognormal(0, 1, n)
    label = rng.random(n) < scipy.special.expit(odds)
    if weighted:
        label ^= rng.random(n) < rng.uniform(0.0, 0.15) * (weight > 2)
    p = scipy.special.expit(scores[:, 0])
    return OutcomePool(
        kind=Classes(("no", "yes"), positive="yes"), codes=label.astype(np.float64), items=Items(
            prediction=(scores > 0).astype(np.float64), score=scores[:, :1],
            probability=np.stack([1 - p, p], axis=1), weight=weight[:, None] if weighted else None,
            cluster=group[:, None].astype(np.float64) if clusters else None,
        ),
    )


# name, how a pool is drawn, its measures, their options, whether systems are compared
FAMILIES: tuple[tuple[str, Callable[[np.random.Generator], OutcomePool], tuple[str, ...], bool], ...] = (
    ("3 classes", lambda rng: _classes(rng, 3), ("accuracy", "macro_f1"), False),
    ("8 classes", lambda rng: _classes(rng, 8), ("accuracy", "macro_f1"), False),
    ("20 classes", lambda rng: _classes(rng, 20), ("macro_f1",), False),
    ("4 classes, predictions alone", lambda rng: _classes(rng, 4, supplied=False), ("accuracy", "macro_f1"),
     False),
    ("4 classes, weights", lambda rng: _classes(rng, 4, weighted=True), ("macro_f1",), False),
    ("rare errors", _rare_errors, ("accuracy", "macro_f1"), False),
    ("numbers", _numbers, ("mae",), False),
    ("judged", _judged, ("mean",), False),
    ("tags", _tags, ("micro_f1", "macro_f1"), False),
    ("two systems", _two_systems, ("accuracy",), True),
    ("one class", lambda rng: _one_class(rng, 0.3), ("f1", "roc_auc", "average_precision"), False),
    ("rare class", lambda rng: _one_class(rng, 0.03), ("f1", "roc_auc"), False),
    ("one class, weights", lambda rng: _one_class(rng, 0.3, weighted=True), ("f1", "accuracy"), False),
    ("rare class, weights", lambda rng: _one_class(rng, 0.03, weighted=True), ("f1",), False),
    ("one class, clusters", lambda rng: _one_class(rng, 0.3, clusters=True), ("f1", "accuracy"), False),
    ("one class, two systems", lambda rng: _one_class(rng, 0.3, systems=2), ("f1",), True),
)


def by_lot(lot: str, pools: int) -> Iterator[PoolQuestion]:
    """The questions of a lot, the pools drawn with its first seeds, so many of each family."""
    for name, draw, measures, versus in FAMILIES:
        for seed in LOTS[lot][:pools]:
            pool = draw(stream(seed, f"any outcome/{name}"))
            for measure in measures:
                yield PoolQuestion(pool_name=f"{name} {seed}", pool=pool, measure=measure, versus=versus)


def real() -> Iterator[PoolQuestion]:
    """Pools that nothing was chosen on."""
    for name, outcome, prefix, measures in (
        ("goemotions-classes", "classes", "p_", ("accuracy", "macro_f1")),
        ("card-choice-multiclass", "classes", "probability_", ("accuracy", "macro_f1")),
        ("goemotions-tags", "tags", "p_", ("micro_f1", "macro_f1")),
        ("governors-regression", "number", None, ("mae",)),
    ):
        pool = read_outcome_pool(pool_path(name), OutcomeColumns(outcome=outcome, probability=prefix))
        for measure in measures:
            yield PoolQuestion(pool_name=name, pool=pool, measure=measure)


def measured(asked: PoolQuestion, method: str, repeats: int, seed: int) -> Iterator[dict[str, float]]:
    """How a method did at each look."""
    stack = asked.stack
    (truth,) = asked.pool.truth(stack)
    looks = [look for look in LOOKS if look < len(asked.pool.codes)]
    plan = ReplayPlan(budgets=looks, batch_size=25, seed=seed)
    chosen = outcome_method(asked.meant(method), asked.pool.kind)
    (trace,) = simulate(chosen, asked.pool, stack, plan, repeats=repeats)
    unit = asked.unit
    for j, look in enumerate(looks):
        value, lower, upper = trace.value[:, j], trace.lower[:, j], trace.upper[:, j]
        there = np.isfinite(value)
        error = np.where(there, value, 0.0) - truth
        covers = there & (lower - 1e-9 <= truth) & (truth <= upper + 1e-9)
        yield {
            "runs": repeats, "labels": look, "rmse": float(np.sqrt((error**2).mean())) / unit,
            "bias": float(error.mean()) / unit, "coverage": float(covers.mean()),
            "width": float(np.fmin(upper - lower, 10 * unit).mean()) / unit,
            "range": unit,
        }


# The page.

def labels_to(rows: Sequence[dict[str, str]], half_width: float) -> float:
    """Labels at which the mean half-width comes down to this, on the line between looks in logarithms.

    Infinite beyond the last look; the first look where it is there already.
    """
    n = np.array([float(row["labels"]) for row in rows])
    half = np.array([float(row["width"]) / 2 for row in rows])
    below = np.flatnonzero(half <= half_width)
    if not len(below):
        return float("inf")
    j = int(below[0])
    if j == 0:
        return float(n[0])
    slope = np.log(half_width / half[j - 1]) / np.log(half[j] / half[j - 1])
    return float(n[j - 1] * (n[j] / n[j - 1]) ** slope)


def page(rows: Sequence[dict[str, str]]) -> str:
    """All of the page."""
    by_question: dict[tuple[str, str, str], dict[str, list[dict[str, str]]]] = {}
    for row in rows:
        key = row["lot"], row["pool"], row["measure"]
        by_question.setdefault(key, {}).setdefault(row["method"], []).append(row)
    lines = [
        "# Any outcome: labels to a half-width", "",
        "Made by `python -m benchmarks.any_outcome`; do not edit.  Data: `any-outcome.csv`.", "",
        "Each cell: labels to a mean half-width of ±0.10 / ±0.05 (50: at the first look already; –: beyond",
        "the last look, 400), the least coverage over the looks (nominal 0.95), and the mean width over 3.92",
        "times the error at 200 labels.  Numbers are in units of the standard deviation of the outcomes,",
        "grades in half their range.  Pools of `choose` were looked at while methods were made, those",
        "of `judge` and the real ones were not.  The last column: labels of `auto` over the fewest of the",
        f"others whose coverage is at least {HONEST} at every look.", "",
        "| lot | pool | measure | runs | " + " | ".join(METHODS) + " | auto over the best |",
        "|---|---|---|---|" + "---|" * (len(METHODS) + 1),
    ]
    for (lot, pool, measure), found in by_question.items():
        cells = [_cell(found[m]) if m in found else "" for m in METHODS]
        runs = next(iter(found.values()))[0]["runs"]
        lines.append("| " + " | ".join([lot, pool, measure, runs, *cells, _ratios(found)]) + " |")
    return "\n".join([*lines, ""])


def _cell(rows: Sequence[dict[str, str]]) -> str:
    labels = " / ".join(_whole(labels_to(rows, h)) for h in HALF_WIDTHS)
    at = next((row for row in rows if int(row["labels"]) >= 200), rows[-1])
    ratio = float(at["width"]) / (3.92 * max(float(at["rmse"]), 1e-12))
    return f"{labels}, {least_coverage(rows):.2f}, {ratio:.2f}"


def least_coverage(rows: Sequence[dict[str, str]]) -> float:
    """Over the looks."""
    return min(float(row["coverage"]) for row in rows)


def _whole(labels: float) -> str:
    return f"{labels:.0f}" if np.isfinite(labels) else "–"


def _ratios(found: dict[str, list[dict[str, str]]]) -> str:
    told = []
    for half_width in HALF_WIDTHS:
        others = [
            labels_to(rows, half_width) for m, rows in found.items()
            if m != "auto" and least_coverage(rows) >= HONEST
        ]
        best, own = min(others, default=float("inf")), labels_to(found.get("auto", []), half_width)
        told.append(f"{own / best:.2f}" if np.isfinite(best) and np.isfinite(own) else "–")
    return " / ".join(told)


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--pools", type=int, default=3, help="of each family")
    parser.add_argument("--lot", default="judge", choices=[*LOTS])
    parser.add_argument("--real", action="store_true", help="the real pools instead of a lot")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--only", default="", help="pools whose name has this in it")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write", action="store_true", help="write the page from the data, and stop")
    asked = parser.parse_args()
    kept: list[dict[str, str]] = []
    if asked.data.exists():
        with asked.data.open(encoding="utf-8", newline="") as file:
            kept = list(csv.DictReader(file))
    there = {(row["lot"], row["pool"], row["measure"], row["method"]) for row in kept}
    lot = "real" if asked.real else asked.lot
    questions = () if asked.write else real() if asked.real else by_lot(asked.lot, asked.pools)
    for question in questions:
        for method in asked.methods.split(","):
            key = lot, question.pool_name, question.measure, method
            if asked.only not in question.pool_name or key in there:
                continue
            if question.versus and method == "active-inference":
                continue      # its coins run out of items on which the systems differ
            found = [
                {name: f"{value:.6g}" for name, value in row.items()}
                for row in measured(question, method, asked.repeats, 1)
            ]
            rows = [dict(zip(COLUMNS, [*key, *row.values()], strict=True)) for row in found]
            kept += rows
            new = not asked.data.exists()
            with asked.data.open("a", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerows(rows)
            print(*key, _cell(rows), flush=True)
    if asked.data == DATA:
        write_page(PAGE, page(kept))


if __name__ == "__main__":
    main()
