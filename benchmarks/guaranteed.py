"""What a guaranteed interval costs, and that it holds: beside the usual interval of the same draws.

`python -m benchmarks.guaranteed` writes docs/measured/guaranteed.md (twenty minutes on one processor).
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit

from assay.evalcore.measures.measure import side_by_side
from assay.evalcore.measures.rates import MEASURES
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import method, outcome_method
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.pages import write_page
from benchmarks.rare_errors import FAMILIES as OUTCOMES

OUT = Path(__file__).parent.parent / "docs" / "measured" / "guaranteed.md"
BUDGETS = (25, 50, 100, 200, 400)
RUNS = 200
NOMINAL = 0.95
HALF = 1e-9

Draw = Callable[[np.random.Generator], LabelledPool | OutcomePool]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteedFamily:
    """Pools by lot, and what is asked of them."""

    says: str
    draw: Draw
    measures: tuple[str, ...]
    methods: tuple[str, ...] = ("passive", "stratified", "stratified-neyman")


def _outcome(name: str, rate: float) -> Draw:
    return lambda rng: OUTCOMES[name].draw(rng, 5_000, rate)


def _two_classes(log_odds: float) -> Draw:
    """Scores whose probabilities are too sure by half."""
    def drawn(rng: np.random.Generator) -> LabelledPool:
        score = rng.normal(log_odds, 2.0, 5_000)
        label = (rng.random(5_000) < expit(score)).astype(np.int64)
        return LabelledPool(
            score=score, probability=expit(1.5 * score), prediction=(score > 0).astype(np.int64), label=label
        )
    return drawn


_OF_TWO = ("passive", "stratified", "stratified-neyman", "stratified-online")
FAMILIES = {
    "wrong 0.5%": GuaranteedFamily(says="10 classes, one in 200 wrong", draw=_outcome("classes", 0.005),
                                   measures=("accuracy",)),
    "wrong 25%": GuaranteedFamily(says="10 classes, a quarter wrong; F1 of one class",
                                  draw=_outcome("classes", 0.25), measures=("accuracy", "f1"),
                                  methods=("passive",)),
    "fives": GuaranteedFamily(says="grades, 1% not a five; mean", draw=_outcome("fives", 0.01),
                              measures=("mean",)),
    "grades": GuaranteedFamily(says="predicted grades, 10% off by anything", draw=_outcome("grades", 0.1),
                               measures=("mae",)),
    "systems": GuaranteedFamily(says="two systems, 5% wrong of each; the difference",
                                draw=_outcome("systems", 0.05), measures=("accuracy",)),
    "two classes": GuaranteedFamily(says="half positive, probabilities too sure", draw=_two_classes(0.0),
                                    measures=("accuracy", "f1", "precision", "recall"), methods=_OF_TWO),
    "two classes, 3%": GuaranteedFamily(says="3% positive, probabilities too sure", draw=_two_classes(-6.0),
                                        measures=("accuracy", "f1"), methods=_OF_TWO),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteedCell:
    """Coverage and width at each budget, and the share of runs that are covered at all of them."""

    coverage: Floats
    width: Floats
    together: float


def cell(
    family: GuaranteedFamily, measure: str, written: str, *, runs: int = RUNS,
    budgets: Sequence[int] = BUDGETS, pools: int = 4
) -> GuaranteedCell:
    """Of runs on so many pools by lot.  An interval without a value beside it counts as it is.

    Raises BadInput for a measure that has no guaranteed interval.
    """
    inside, width = [], []
    for number in range(pools):
        pool = family.draw(stream(number, f"guaranteed/{family.says}"))
        truth, asked = _asked(pool, measure)
        how = method(written) if isinstance(pool, LabelledPool) else outcome_method(written)
        found = simulate(how, pool, asked, ReplayPlan(budgets=budgets, seed=number), repeats=runs // pools)[0]
        inside.append((found.lower <= truth + HALF) & (truth <= found.upper + HALF))
        width.append(found.upper - found.lower)
    covered = np.concatenate(inside)
    return GuaranteedCell(
        coverage=covered.mean(axis=0), width=np.concatenate(width).mean(axis=0),
        together=float(covered.all(axis=1).mean()),
    )


def _asked(pool: LabelledPool | OutcomePool, name: str) -> tuple[float, tuple[object, ...] | Stack]:
    if isinstance(pool, LabelledPool):
        one = next(one for one in MEASURES if one.name == name)
        return float(one.of_confusion(pool.confusion(0))), (one,)
    options = {"class": pool.kind.parts[0]} if name == "f1" else {}
    n = len(pool.codes)
    systems = [
        outcome_measure(name, pool.kind, n, system=s, options=options)
        for s in range(max(pool.items.systems, 1))
    ]
    stack = Stack(kind=pool.kind, measures=side_by_side([systems]))
    return float(stack.measures[0].of_pool(pool.items, pool.kind.phi(pool.codes))[0]), stack


_INTRODUCTION = """\
`interval: guaranteed` beside the usual interval of the same method, at a nominal 95%. Made by `python -m
benchmarks.guaranteed`: RUNS runs a row, on four pools of 5,000 items drawn by lot from a stated family;
labels come 25 at a time. *All looks*: the share of runs whose intervals at 25, 50, 100, 200 and 400 labels
all hold the truth; *least coverage* is of one look. *Price*: how many times the labels the usual interval
would need for the same width (the square of the ratio of widths). Below 1 the usual interval is the wider
one: it is as wide as what no label has shown may reach ([rare errors](rare-errors.md)). Means of any outcome
are bet on label by label (`evalcore.estimators.guaranteed`), two classes by their counts."""


def page(runs: int) -> Iterator[str]:
    """The lines of the page."""
    yield "# Guaranteed intervals"
    yield ""
    yield _INTRODUCTION.replace("RUNS", str(runs))
    yield ""
    yield ("| pool | measure | method | all looks: usual | guaranteed | least coverage: usual | guaranteed | "
           "width at 50, 100, 200, 400: usual | guaranteed | price at 100 | 400 |")
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for name, family in FAMILIES.items():
        for measure in family.measures:
            for how in family.methods:
                usual, sure = (
                    cell(family, measure, how + rest, runs=runs) for rest in ("", ":guaranteed=true")
                )
                ratio = (sure.width / usual.width) ** 2
                both = [", ".join(f"{w:.3f}" for w in one.width[1:]) for one in (usual, sure)]
                yield (f"| {name} | {measure} | `{how}` | {usual.together:.3f} | {sure.together:.3f} | "
                       f"{usual.coverage.min():.3f} | {sure.coverage.min():.3f} | {both[0]} | {both[1]} | "
                       f"{ratio[2]:.1f} | {ratio[4]:.1f} |")
                print(f"{name}, {measure}, {how}: {sure.together:.3f}", flush=True)
    yield ""
    yield ("Families: " + "; ".join(f"*{name}*: {family.says}" for name, family in FAMILIES.items()) + ".")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    write_page(OUT, "\n".join(page(parser.parse_args().runs)) + "\n")


if __name__ == "__main__":
    main()
