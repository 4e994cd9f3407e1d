"""Repeated answers: `python -m benchmarks.repeats` writes docs/measured/repeats.md (about four minutes).

Items drawn from families of how likely their answers are to be right; what is estimated is the mean over the
whole family, of which four million items tell the truth.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from assay.evalcore.repeats import AnsweredItems, repeated_answers
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats

OUT = Path(__file__).parent.parent / "docs" / "measured" / "repeats.md"
SEED, RUNS, K = 535, 200, 4
MANY = 4_000_000
ITEMS = (30, 100, 300)

Draw = Callable[[np.random.Generator, int], Floats]     # the chance of a right answer of so many items
FAMILIES: Mapping[str, Draw] = {
    "all alike, 1/2": lambda rng, n: np.full(n, 0.5),
    "all alike, 0.98": lambda rng, n: np.full(n, 0.98),
    "uniform": lambda rng, n: rng.random(n),
    "all or nothing": lambda rng, n: rng.beta(0.2, 0.2, n),
    "hard": lambda rng, n: rng.beta(1, 9, n),
    "easy": lambda rng, n: rng.beta(9, 1, n),
    "hard, a few known by heart": lambda rng, n: np.where(rng.random(n) < 0.05, 0.98, 0.05),
    "fair, a few hopeless": lambda rng, n: np.where(rng.random(n) < 0.05, 0.0, 0.6),
}


def truth_of(name: str) -> dict[str, float]:
    """Of every measure, by the chances of many items."""
    p = FAMILIES[name](stream(SEED, f"repeats/{name}/truth"), MANY)
    every, none = p**K, (1 - p) ** K
    of_items = {
        "pass@1": p, f"pass@{K}": 1 - none, f"pass^{K}": every, f"alike@{K}": every + none,
        "within": p * (1 - p),
    }
    return {measure: float(values.mean()) for measure, values in of_items.items()}


def covered(name: str, items: int, runs: int) -> dict[str, tuple[float, float]]:
    """Coverage and mean width of every measure; half of the runs have 4 answers an item, others 4 to 8."""
    truth, held, width = truth_of(name), dict[str, int](), dict[str, float]()
    for number in range(runs):
        rng = stream(SEED, f"repeats/{name}/{items}/{number}")
        chance = FAMILIES[name](rng, items)
        n = np.full(items, K) if number % 2 else rng.integers(K, 9, items)
        found = repeated_answers(AnsweredItems(right=rng.binomial(n, chance), answers=n), (1, K))
        for row in found.measures:
            inside = row.lower - 1e-9 <= truth[row.measure] <= row.upper + 1e-9
            held[row.measure] = held.get(row.measure, 0) + inside
            width[row.measure] = width.get(row.measure, 0.0) + row.upper - row.lower
    return {measure: (count / runs, width[measure] / runs) for measure, count in held.items()}


def page(runs: int) -> Iterator[str]:
    """The lines of the page."""
    yield "# Repeated answers\n"
    yield "Made by `python -m benchmarks.repeats`; do not edit.\n"
    found = {(name, items): covered(name, items, runs) for name in FAMILIES for items in ITEMS}
    coverage = {(*at, m): c for at, by_measure in found.items() for m, (c, _) in by_measure.items()}
    least = min(coverage, key=coverage.__getitem__)
    measures = list(next(iter(found.values())))
    by_measure = "; ".join(
        f"{m} {np.mean([c for at, c in coverage.items() if at[2] == m]):.3f}" for m in measures
    )
    yield (
        f"Coverage · mean width of intervals for the items that these are a sample of, nominal 95%, {runs} "
        f"evaluations each (standard error {np.sqrt(0.95 * 0.05 / runs):.3f}), seed {SEED}. In the mean: "
        f"{by_measure}; least {coverage[least]:.3f}, {least[2]} of {least[0]} with {least[1]} items.\n"
    )
    yield "| family | items | " + " | ".join(measures) + " |"
    yield "|---" * (2 + len(measures)) + "|"
    for (name, items), of_measure in found.items():
        cells = " | ".join(f"{c:.3f} · {w:.2f}" for c, w in of_measure.values())
        yield f"| {name} | {items} | {cells} |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    given.out.write_text("\n".join(page(given.runs)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
