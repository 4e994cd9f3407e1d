"""How often intervals cover where items have weights, and what it saves to draw by them.

`python -m benchmarks.weights` rewrites the table of docs/measured/weights.md between START and END.
Weights are lognormal with sigma 1: the heaviest twentieth of the items has a quarter of all weight.  In some
pools errors are likelier among heavy items, which no column of the pool says.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.score_strata import meaning_of_rows
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items, OneShard, pool_weights
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.pages import rewrite

START = "<!-- weights: made by python -m benchmarks.weights -->"
END = "<!-- end of weights -->"
OUT = Path(__file__).parent.parent / "docs" / "measured" / "weights.md"
BUDGETS = (50, 100, 200, 500, 1000)
SIZE = 4_000
METHODS = ("auto", "passive")


def _weights(rng: np.random.Generator) -> Floats:
    return rng.lognormal(0.0, 1.0, SIZE)


def _binary(rng: np.random.Generator, rate: float, tilt: float) -> OutcomePool:
    """Two classes; `tilt` makes a wrong prediction of an item likelier with each e-fold of its weight."""
    weight = _weights(rng)
    odds = rng.normal(np.log(rate / (1 - rate)), 2.0, SIZE)
    supplied = 1 / (1 + np.exp(-odds))
    said = (supplied > 0.5).astype(np.float64)
    wrong = np.where(said == 1, 1 - supplied, supplied)
    bent = np.log(np.clip(wrong, 1e-9, 1 - 1e-9) / np.clip(1 - wrong, 1e-9, 1)) + tilt * np.log(weight)
    codes = np.where(rng.random(SIZE) < 1 / (1 + np.exp(-bent)), 1 - said, said)
    kind = Classes(("negative", "positive"), positive="positive")
    return OutcomePool(kind=kind, codes=codes, items=Items(
        prediction=said[:, None], probability=np.stack([1 - supplied, supplied], axis=1),
        score=odds[:, None], weight=weight[:, None],
    ))


def _grades(rng: np.random.Generator, tilt: float) -> OutcomePool:
    """Grades from 1 to 5 and a judge that is one off in half of the cases, and lower for heavy items."""
    weight = _weights(rng)
    true = np.clip(np.round(rng.normal(3.4, 1.1, SIZE) - tilt * np.log(weight)), 1, 5) - 1
    judge = np.clip(true + rng.choice([-1, 0, 0, 1], SIZE), 0, 4)
    kind = Classes(tuple("12345"), values=(1.0, 2.0, 3.0, 4.0, 5.0))
    return OutcomePool(kind=kind, codes=true, items=Items(
        prediction=np.zeros((SIZE, 0)), judge=judge[:, None], weight=weight[:, None],
    ))


def _numbers(rng: np.random.Generator, tilt: float) -> OutcomePool:
    """Numbers whose errors grow with the number, and with weight."""
    weight = _weights(rng)
    said = rng.gamma(4.0, 2.5, SIZE)
    error = rng.normal(0, 1, SIZE) * (0.5 + said / 10) * np.exp(tilt * np.log(weight) / 2)
    return OutcomePool(kind=Numbers(), codes=said + error, items=Items(
        prediction=said[:, None], weight=weight[:, None],
    ))


# what a pool is, the measure, and how it is drawn
POOLS: Mapping[str, tuple[str, Callable[[np.random.Generator], OutcomePool]]] = {
    "two classes, accuracy": ("accuracy", lambda rng: _binary(rng, 0.3, 0.0)),
    "two classes, accuracy, heavy items wrong": ("accuracy", lambda rng: _binary(rng, 0.3, 0.5)),
    "two classes, F1": ("f1", lambda rng: _binary(rng, 0.3, 0.0)),
    "two classes, F1, heavy items wrong": ("f1", lambda rng: _binary(rng, 0.3, 0.5)),
    "4% positives, F1": ("f1", lambda rng: _binary(rng, 0.005, 0.0)),
    "grades, mean": ("mean", lambda rng: _grades(rng, 0.0)),
    "grades, mean, heavy items lower": ("mean", lambda rng: _grades(rng, 0.4)),
    "numbers, MAE": ("mae", lambda rng: _numbers(rng, 0.0)),
    "numbers, MAE, heavy items worse": ("mae", lambda rng: _numbers(rng, 0.5)),
}


def weighted_stack(kind: OutcomeKind, measure: str, items: Items) -> Stack:
    """The question of one measure of the weighted pool."""
    weights = pool_weights(OneShard(items))
    one = outcome_measure(measure, kind, len(items), weights=weights)
    return Stack(kind=kind, measures=(one,), weights=weights)


def row(name: str, method: str, repeats: int) -> str:
    """One line of the table: coverage at each budget, and the width and bias at the middle one."""
    measure, make = POOLS[name]
    pool = make(stream(1, "benchmarks", 0, f"weights {name}"))
    stack = weighted_stack(pool.kind, measure, pool.items)
    truth = float(pool.truth(stack)[0])
    (trace,) = simulate(
        outcome_method(meaning_of_rows(method, stack, pool.items)), pool, stack,
        ReplayPlan(budgets=BUDGETS, batch_size=50), repeats=repeats
    )
    found = summarise(trace, truth, BUDGETS)
    cells = " | ".join(f"{one.coverage:.3f}" for one in found)
    at = found[2]
    error, off = at.mse**0.5, at.bias / max((at.mse / repeats) ** 0.5, 1e-12)
    return f"| {name} | {method} | {truth:.3f} | {cells} | {error:.4f} | {at.width / 2:.4f} | {off:+.1f} |"


def main() -> None:
    """All pools and methods."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--only", default="")
    parser.add_argument("--print", action="store_true", help="write no page")
    given = parser.parse_args()
    lines = [
        "| pool | method | truth | " + " | ".join(f"{b:,}" for b in BUDGETS)
        + " | error at 200 | half-width | bias, in its standard errors |",
        "|---" * (len(BUDGETS) + 6) + "|",
    ]
    for name in POOLS:
        for method in METHODS if given.only in name else ():
            lines.append(row(name, method, given.repeats))
            print(lines[-1], flush=True)
    if given.print:
        return
    rewrite(OUT, "\n".join(lines), START, END)


if __name__ == "__main__":
    main()
