"""How often intervals about the population cover: `python -m benchmarks.population [--repeats R]`.

Every run draws a pool from a stated population, evaluates it, and asks whether the interval about the
population holds the population's own value.  Rewrites docs/measured/population.md.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from assay.evalcore.estimators.population import Pulls, apart
from assay.evalcore.evaluation.population import both_estimates, pulls_of_table
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.measure import difference
from assay.evalcore.measures.registry import named, outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import method, outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items, OneShard, pool_weights
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.pages import write_page

OUT = Path(__file__).parent.parent / "docs" / "measured" / "population.md"
ITEMS = (200, 1_000, 4_000)
LABELS = (50, 100, 200)
BATCH = 50
LARGE, LARGE_DRAWS = 400_000, 20   # items and number of the draws whose value is taken for the population's
SLACK = 1e-9


@dataclass(frozen=True, kw_only=True)
class Population:
    """What pools are drawn from."""

    name: str
    says: str
    draw: Callable[[np.random.Generator, int], Any]   # a LabelledPool or an OutcomePool of so many items
    measures: tuple[str, ...]
    versus: bool = False

    def asked(self, pool: Any) -> Any:
        """The measures, for a pool."""
        if isinstance(pool, LabelledPool):
            return tuple(named(name) for name in self.measures)
        n, weights = len(pool.items), None
        if pool.items.weight is not None:
            weights = pool_weights(OneShard(pool.items))
        if not self.versus:
            found = tuple(outcome_measure(name, pool.kind, n, weights=weights) for name in self.measures)
            return Stack(kind=pool.kind, measures=found, weights=weights)
        one, other = (outcome_measure(self.measures[0], pool.kind, n, system=s) for s in (1, 0))
        return Stack(kind=pool.kind, measures=(difference(one, other),))

    @cached_property
    def truth(self) -> tuple[float, ...]:
        """The population's values: the means over large draws."""
        return tuple(np.mean([self._truth_of(draw) for draw in range(LARGE_DRAWS)], axis=0).tolist())

    def _truth_of(self, draw: int) -> list[float]:
        pool = self.draw(stream(1 + draw, f"population/{self.name}"), LARGE)
        asked = self.asked(pool)
        if isinstance(pool, LabelledPool):
            return [float(one.of_confusion(pool.confusion())) for one in asked]
        return list(pool.truth(asked).tolist())


def _scored(rng: np.random.Generator, n: int, positives: float, apart: float, shift: float) -> LabelledPool:
    y = rng.random(n) < positives
    s = rng.normal(np.where(y, apart, -apart), 1.0) + shift
    return LabelledPool(
        score=s, probability=scipy.special.expit(2 * apart * s), prediction=(s > 0).astype(np.int64),
        label=y.astype(np.int64),
    )


def _graded(rng: np.random.Generator, n: int, quality: float) -> OutcomePool:
    q = quality + 0.9 * rng.standard_normal(n)
    y = np.clip(np.round(q + 0.4 * rng.standard_normal(n)), 1, 5)
    judge = np.clip(np.round(0.8 * (q - 3) + 3 + 0.6 * rng.standard_normal((1, n)).T[:, 0]), 1, 5)[:, None]
    return OutcomePool(
        kind=Numbers(1.0, 5.0), codes=y, items=Items(prediction=np.zeros((n, 0)), judge=judge)
    )


def _classes(rng: np.random.Generator, n: int) -> OutcomePool:
    z = np.array([0.0, -0.4, -0.8, -1.4]) + 1.6 * rng.standard_normal((n, 4))
    label = (scipy.special.softmax(1.3 * z, axis=1).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    told = scipy.special.softmax(z, axis=1)
    return OutcomePool(
        kind=Classes(("a", "b", "c", "d")), codes=label.astype(np.float64),
        items=Items(prediction=told.argmax(axis=1).astype(np.float64)[:, None], probability=told),
    )


def _two_systems(rng: np.random.Generator, n: int) -> OutcomePool:
    z = 1.5 * rng.standard_normal((n, 4))
    label = (scipy.special.softmax(2 * z, axis=1).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    shared = z + 0.5 * rng.standard_normal((n, 4))
    systems = np.stack(
        [(shared + s * rng.standard_normal((n, 4))).argmax(axis=1) for s in (0.5, 0.25)], axis=1
    )
    return OutcomePool(
        kind=Classes(("a", "b", "c", "d")), codes=label.astype(np.float64),
        items=Items(prediction=systems.astype(np.float64),
                    probability=scipy.special.softmax(1.5 * shared, axis=1)),
    )


_SHARES, _RIGHT = np.array([0.5, 0.3, 0.2]), np.array([0.98, 0.8, 0.5])


def _in_strata(rng: np.random.Generator, n: int, *, even: bool) -> OutcomePool:
    """So many items of each of three strata: as the population has them, or as many of each, with weights."""
    drawn = np.full(3, 1 / 3) if even else _SHARES
    stratum = np.repeat(np.arange(3), np.diff(np.round(np.append(0.0, drawn.cumsum()) * n).astype(np.int64)))
    y = rng.integers(0, 2, n).astype(np.float64)
    said = np.where(rng.random(n) < _RIGHT[stratum], y, 1 - y)
    weight = (_SHARES / np.bincount(stratum))[stratum]
    return OutcomePool(
        kind=Classes(("no", "yes")), codes=y,
        items=Items(prediction=said[:, None], stratum=stratum[:, None].astype(np.float64),
                    weight=weight[:, None] if even else None),
    )


POPULATIONS = (
    Population(name="scores", measures=("f1", "accuracy"),
               says="two classes, 20% positive, scores N(±1, 1): F1 0.71, accuracy 0.88",
               draw=lambda rng, n: _scored(rng, n, 0.2, 1.0, -0.4)),
    Population(name="nearly right", measures=("f1", "accuracy"),
               says="two classes, 15% positive, scores N(±2.2, 1): F1 0.97, accuracy 0.99",
               draw=lambda rng, n: _scored(rng, n, 0.15, 2.2, -0.2)),
    Population(name="grades", measures=("mean",), says="grades 1 to 5 around 3.4, one judge",
               draw=lambda rng, n: _graded(rng, n, 3.4)),
    Population(name="fives", measures=("mean",), says="grades 1 to 5, nine in ten the best, one judge",
               draw=lambda rng, n: _graded(rng, n, 5.8)),
    Population(name="classes", measures=("macro_f1",), says="four classes, 44% to 9%, with probabilities",
               draw=_classes),
    Population(name="strata", measures=("accuracy",),
               says="half, three and two tenths of it 98%, 80% and 50% right; pools have so many of each",
               draw=lambda rng, n: _in_strata(rng, n, even=False)),
    Population(name="strata, even", measures=("accuracy",),
               says="the same, of which pools have a third of each, weighted (`pool.weight`)",
               draw=lambda rng, n: _in_strata(rng, n, even=True)),
    Population(name="two systems", measures=("accuracy",), versus=True,
               says="difference of the accuracy of two systems, which differ on a fifth", draw=_two_systems),
)


def evaluated(population: Population, by: str, items: int, run: int) -> Iterator[tuple[str, list[Any]]]:
    """The estimates of one pool after 50, 100 and 200 labels; of another, when all are known."""
    pool = population.draw(stream(run, f"population/{population.name}", items), items)
    measures = population.asked(pool)
    if isinstance(pool, LabelledPool):
        chosen: Any = method("recalibrated" if by == "auto" else by)
        cut, cell = build_partition(chosen, pool.score, pool.probability, pool.prediction)
        cells, codes = cut.cells, pool.label.astype(np.float64)
    else:
        chosen = outcome_method(by)
        found = chosen.cut(measures, pool.items)
        cells, cell, codes = found.cells, found.cell, pool.codes
    members = np.split(np.argsort(cell, kind="stable"), np.cumsum(cells.size)[:-1])
    question = Question(
        method=chosen, measures=measures, cells=cells, confidence=0.95, seed=run,
        evaluation=population.name, about="population",
    )

    def after(state: Any, size: int) -> Any:
        drawn = plan(question, state, size)
        at = np.array([members[c][r] for c, r in zip(drawn.cell, drawn.rank, strict=True)], np.int64)
        given = None if isinstance(pool, LabelledPool) else pool.items.at(at)
        return observe(question, state, drawn, codes[at], given)

    state = before_any_label(question)
    for labels in LABELS:
        if labels >= items:
            break
        while state.labels < labels and not state.exhausted:
            state = after(state, BATCH)
        yield f"{labels}", both_estimates(question, state)[0]
    yield "all", both_estimates(question, after(before_any_label(question), items))[0]


# What is counted, kept in blocks of runs: a run that is cut short goes on from its file.

BLOCK = 50
SLOW = 1_000    # runs of what takes a third of a second each: the score model of two classes


def tallies(population: Population, by: str, items: int, block: int) -> list[dict[str, Any]]:
    """By measure and labels: how many of a block's runs covered, and the sum of their widths."""
    truth = population.truth
    found: dict[tuple[int, str], Floats] = {}
    for run in range(block * BLOCK, (block + 1) * BLOCK):
        for labels, rows in evaluated(population, by, items, run + 1):
            for q, one in enumerate(rows):
                lower, upper = float(one.lower[0]), float(one.upper[0])
                covers = bool(np.isfinite(one.value[0])) and lower - SLACK <= truth[q] <= upper + SLACK
                told = np.array([1.0, covers, upper - lower, truth[q] < lower, truth[q] > upper])
                found[q, labels] = found.get((q, labels), np.zeros(5)) + told
    return [
        {"population": population.name, "measure": population.measures[q], "by": by, "items": items,
         "labels": labels, "block": block, "told": told.tolist()}
        for (q, labels), told in found.items()
    ]


def jobs(repeats: int) -> Iterator[tuple[int, Population, str, int]]:
    """Block by block, so that all rows have about as many runs whenever it is cut short."""
    for block in range(repeats // BLOCK):
        for population in POPULATIONS:
            for by in ("auto", "passive"):
                slow = by == "auto" and population.measures[0] == "f1"
                if not slow or block * BLOCK < SLOW:
                    yield from ((block, population, by, items) for items in ITEMS)


def table(rows: Iterator[dict[str, Any]]) -> list[str]:
    """The lines of the page's table."""
    sums: dict[tuple[str, str, str, int], dict[str, Floats]] = {}
    for row in rows:
        key = row["population"], row["measure"], row["by"], row["items"]
        by_labels = sums.setdefault(key, {})
        by_labels[row["labels"]] = by_labels.get(row["labels"], np.zeros(5)) + np.array(row["told"])
    columns = [*map(str, LABELS), "all"]
    lines = ["| population | measure | method | items | runs | " + " | ".join(columns) + " |",
             "|---|---|---|---|---|" + "---|" * len(columns)]
    for (name, measure, by, items), found in sorted(sums.items()):
        cells = [
            f"{found[c][1] / found[c][0]:.3f}, {found[c][2] / found[c][0]:.3g}" if c in found else ""
            for c in columns
        ]
        runs = int(min(one[0] for one in found.values()))
        lines.append(f"| {name} | {measure} | {by} | {items:,} | {runs:,} | " + " | ".join(cells) + " |")
    return lines


# A census by itself needs no evaluation: pools are tables of counts, so many more of them can be drawn.

CENSUSES = 1_000


def census_rows() -> Iterator[str]:
    """A line for each measure: coverage and width when all items are labelled."""
    for population in POPULATIONS:
        large = population.draw(stream(1, f"population/{population.name}"), LARGE)
        for q, name in enumerate(population.measures):
            kinds = _kinds(population, large, name)
            if kinds is not None:
                cells = [_census(population.truth[q], *kinds, items) for items in ITEMS]
                yield f"| {population.name} | {name} | {CENSUSES:,} | " + " | ".join(cells) + " |"


def _kinds(population: Population, large: Any, name: str) -> tuple[Any, Floats] | None:
    """What tells value, pulls and bounds of counts by kind of item; and the shares of the kinds."""
    if isinstance(large, LabelledPool):
        return named(name), large.confusion().ravel() / LARGE
    if name == "macro_f1" or large.items.stratum is not None:
        return None
    right = large.codes
    if population.versus:
        first, second = (large.items.prediction[:, s] == large.codes for s in (0, 1))
        right = second.astype(np.float64) - first
    values, counts = np.unique(right, return_counts=True)
    return (values, (-1.0, 1.0) if population.versus else (1.0, 5.0)), counts / LARGE


def _census(truth: float, what: Any, shares: Floats, items: int) -> str:
    covered, width = 0, 0.0
    for counts in stream(2, "census", items).multinomial(items, shares, CENSUSES):
        if isinstance(what, tuple):
            values, bounds = what
            value = float(counts @ values / items)
            pulls = Pulls(
                z=(values - value)[:, None], items=counts.astype(np.float64), labels=float(items),
                most_down=np.array([value - bounds[0]]), most_up=np.array([bounds[1] - value]),
            )
        else:
            table, bounds = counts.reshape(2, 2).astype(np.float64), what.bounds
            value, pulls = float(what.of_confusion(table)), pulls_of_table(what, table, float(items))
        found = apart(value, (value, value), pulls, 0, bounds, 0.95)
        covered += found.lower - SLACK <= truth <= found.upper + SLACK
        width += found.upper - found.lower
    return f"{covered / CENSUSES:.3f}, {width / CENSUSES:.3g}"


def page(rows: list[dict[str, Any]]) -> str:
    """All of docs/measured/population.md."""
    says = [f"- **{one.name}**: {one.says}" for one in POPULATIONS]
    return "\n".join([
        "# Intervals about the population", "",
        "Made by `python -m benchmarks.population`; do not edit.", "",
        "Every run draws a pool of so many items from a population, and evaluates it.  Each cell: how often",
        "the nominal 95% interval about the population held the population's value, and its mean width,",
        "after 50, 100 and 200 labels and when all items are labelled.  Of 1,000 runs a coverage of 0.95 is",
        "known to ± 0.014, of 200 to ± 0.03, of 50 to ± 0.06.", "", *says, "", *table(iter(rows)), "",
        "All items labelled, pools drawn as tables of counts:", "",
        "| population | measure | runs | " + " | ".join(f"{items:,} items" for items in ITEMS) + " |",
        "|---|---|---|" + "---|" * len(ITEMS), *census_rows(), "",
    ])


def read_kept(files: Sequence[Path]) -> list[dict[str, Any]]:
    """The tallies in these files."""
    return [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]


def main() -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1_000)
    parser.add_argument("--cache", type=Path, nargs="+", default=[Path(".cache/population.jsonl")])
    parser.add_argument("--part", default="0/1", help="this process does every n-th job, as in 0/2")
    parser.add_argument("--write", action="store_true", help="write the page from what is kept, and stop")
    asked = parser.parse_args()
    if not asked.write:
        part, parts = map(int, asked.part.split("/"))
        there = {(r["block"], r["population"], r["by"], r["items"]) for r in read_kept(asked.cache)}
        for i, (block, population, by, items) in enumerate(jobs(asked.repeats)):
            if i % parts == part and (block, population.name, by, items) not in there:
                lines = [json.dumps(row) for row in tallies(population, by, items, block)]
                asked.cache[0].parent.mkdir(parents=True, exist_ok=True)
                with asked.cache[0].open("a") as file:
                    file.write("".join(f"{line}\n" for line in lines))
    write_page(OUT, page(read_kept(asked.cache)))


if __name__ == "__main__":
    main()
