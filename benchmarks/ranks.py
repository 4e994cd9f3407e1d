"""Ranks of twenty systems: `python -m benchmarks.ranks`.

Writes docs/measured/ranks.md (about ten minutes on one processor).  Whole evaluations of three classes, every
pair compared, 400 labels in batches of 200; families of true accuracies, of which some are very near to each
other.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.ranks import Contest, SystemRanks, system_ranks
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.measure import leading, side_by_side
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.pages import write_page

OUT = Path(__file__).parent.parent / "docs" / "measured" / "ranks.md"
SYSTEMS, ITEMS, LABELS, BATCH = 20, 2_000, 400, 200
RUNS, SEED = 10, 534
MARGIN = 0.05
KIND = Classes(("a", "b", "c"))

Draw = Callable[[np.random.Generator], Floats]    # (K,) the chance of each system to be right
FAMILIES: Mapping[str, Draw] = {
    "evenly apart": lambda rng: np.linspace(0.5, 0.9, SYSTEMS),
    "four groups": lambda rng: np.repeat([0.6, 0.7, 0.8, 0.9], SYSTEMS // 4),
    "one ahead": lambda rng: np.where(np.arange(SYSTEMS) == 0, 0.9, 0.8),
    "nearly alike": lambda rng: 0.8 + 0.01 * rng.standard_normal(SYSTEMS),
    "wide": lambda rng: rng.uniform(0.3, 0.95, SYSTEMS),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """The true accuracies of the pool, and what was said after the last label."""

    truth: Floats
    ranks: SystemRanks

    @property
    def covered(self) -> bool:
        """Whether every true rank lies in its interval; what is equal has one rank."""
        true_rank = 1 + (self.truth[None] > self.truth[:, None] + 1e-12).sum(axis=1)
        return all(
            place.best <= true_rank[int(place.system)] <= place.worst for place in self.ranks.systems
        )

    @property
    def shipped_wrong(self) -> bool:
        """Whether a system was shipped that another beats by more than the margin."""
        ship = self.ranks.ship
        return ship is not None and bool(self.truth.max() > self.truth[int(ship.system)] + MARGIN + 1e-12)


def evaluation(name: str, how: str, *, pairs: bool, number: int) -> Evaluation:
    """One pool of a family, evaluated by a method; prices fall with the accuracy."""
    rng = stream(SEED, f"ranks/{name}/{number}")
    chance, truth = FAMILIES[name](rng), rng.integers(0, 3, ITEMS)
    hard = rng.random(ITEMS)      # systems err on the same items, to a part
    luck = np.where(rng.random((ITEMS, SYSTEMS)) < 0.6, hard[:, None], rng.random((ITEMS, SYSTEMS)))
    predicted = np.where(luck < chance, truth[:, None], (truth[:, None] + 1) % 3)
    items = Items(prediction=predicted.astype(np.float64))
    by_system = [outcome_measure("accuracy", KIND, ITEMS, system=s) for s in range(SYSTEMS)]
    measures = side_by_side([by_system], all_pairs=pairs)
    stack, method = Stack(kind=KIND, measures=measures, drive=leading(measures)), outcome_method(how)
    cut = method.cut(stack, items)
    question = Question(
        method=method, measures=stack, cells=cut.cells, confidence=0.95, seed=number, evaluation="ranks",
        systems=tuple(map(str, range(SYSTEMS))),
    )
    order = np.argsort(cut.cell, kind="stable")
    offset = np.cumsum(cut.cells.size) - cut.cells.size
    state = before_any_label(question)
    while state.labels < LABELS:
        drawn = plan(question, state, BATCH)
        at = order[offset[drawn.cell] + drawn.rank]
        state = observe(question, state, drawn, truth[at].astype(np.float64), items.at(at))
    prices = {str(s): float(p) for s, p in enumerate(1 + 9 * np.argsort(np.argsort(chance)) / SYSTEMS)}
    ranks = system_ranks(
        estimates(question, state), Contest(is_error=False, margin=MARGIN, prices=prices)
    )
    if ranks is None:
        raise ValueError("twenty systems are compared")
    return Evaluation(truth=(predicted == truth[:, None]).mean(axis=0), ranks=ranks)


def row(name: str, how: str, *, pairs: bool, runs: int) -> tuple[str, int]:
    """A line of the table, and in how many evaluations all ranks were covered."""
    found = [evaluation(name, how, pairs=pairs, number=number) for number in range(runs)]
    covered = sum(one.covered for one in found)
    width = np.mean([place.worst - place.best for one in found for place in one.ranks.systems])
    tiers = np.mean([max(place.tier for place in one.ranks.systems) for one in found])
    shipped = np.mean([one.ranks.ship is not None for one in found])
    wrong = sum(one.shipped_wrong for one in found)
    what = "every pair" if pairs else "baseline"
    return (f"| {name} | {how} | {what} | {covered} of {runs} | {width:.1f} | {tiers:.1f} | {shipped:.2f} | "
            f"{wrong} of {runs} |"), covered


def page(runs: int, arms: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """The lines of the page."""
    yield "# Ranks of twenty systems\n"
    yield "Made by `python -m benchmarks.ranks`; do not edit.\n"
    rows = [row(name, how, pairs=pairs, runs=runs) for name in FAMILIES for how, pairs in arms]
    total = sum(covered for _, covered in rows)
    yield (
        f"{SYSTEMS} systems that err on the same items to a part, {ITEMS:,} items of three classes, "
        f"{LABELS} labels, nominal 95% for all ranks at once, seed {SEED}. *Covered*: the true rank of every "
        "system lies in its interval. *Width*: of an interval, 0 where the rank is known. *Shipped*: how "
        "often a system was named as the cheapest that is worse than no other by more than "
        f"{MARGIN:g}; *wrong*: one that was not.\n"
    )
    yield (
        f"All {SYSTEMS} ranks were covered in {total} of {len(rows) * runs} evaluations "
        f"({total / len(rows) / runs:.3f}): intervals by Bonferroni over 190 pairs are wider than needed. "
        "Compared with a baseline alone, ranks are wider still: ask for `pairs: all` where ranks matter.\n"
    )
    yield "| family | method | compared | covered | width | tiers | shipped | wrong |"
    yield "|---|---|---|---|---|---|---|---|"
    for line, _ in rows:
        yield line


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    arms = (("passive", True), ("recalibrated", True), ("recalibrated", False))
    write_page(given.out, "\n".join(page(given.runs, arms)) + "\n")


if __name__ == "__main__":
    main()
