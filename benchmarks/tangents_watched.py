"""False breaches and delay of measures that a tangent stands for: `python -m benchmarks.tangents_watched`.

Two systems of three classes, about 0.85 right each; 100 labels a window of 2,000 items, with the plans of a
live evaluation.  The floor (of log loss the ceiling) lies exactly at the true value; then the second system
gets worse by 0.1.  "Lean": what the draws say on average, less the truth; "fair": the mean factor of the
smallest bets, 1 if the evidence is fair.  Streams are put together from the simulated windows at random.
"""

import argparse

import numpy as np

from assay.evalcore.measures.measure import leading, side_by_side
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.monitoring.betting import EFFECTS
from assay.evalcore.monitoring.verdicts import HORIZON_WINDOWS, Promise
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.monitoring import ERROR_RATE, LONGEST, RUNS, STREAMS, first_alarm
from benchmarks.two_systems_watched import ITEMS, KIND, pool, simulated_windows

CASES = {   # measure, its options, systems
    "macro F1": ("macro_f1", {}, 1), "macro recall": ("macro_recall", {}, 1), "MCC": ("mcc", {}, 1),
    "F1 of a class": ("f1", {"class": "owl"}, 1),
    "difference of F1 of a class": ("f1", {"class": "owl"}, 2), "difference of macro F1": ("macro_f1", {}, 2),
}


def of_case(case: str, drop: float) -> tuple[Items, Floats, Stack]:
    """Items, their outcomes and what is asked of them."""
    name, options, systems = CASES[case]
    items, truth = pool(drop)
    prediction = items.prediction if systems == 2 else items.prediction[:, 1:]
    said = KIND.phi(prediction[:, 0])
    luck = 0.4 + 0.55 * stream(4, "probabilities").random((ITEMS, 1))
    items = Items(prediction=prediction, probability=luck * said + (1 - luck) * (1 - said) / 2)
    by_system = [outcome_measure(name, KIND, ITEMS, system=s, options=options) for s in range(systems)]
    measures = side_by_side([by_system])
    return items, truth, Stack(kind=KIND, measures=measures, drive=leading(measures))


def windows(
    case: str, how: str, drop: float, floor: float | None, count: int
) -> tuple[Floats, Floats, float]:
    """(count, G) log factors, (count,) what the draws say, and the true value."""
    items, truth, stack = of_case(case, drop)
    value = float(stack.measures[0].of_pool(items, KIND.phi(truth))[0])
    limit, factors, said = np.array([value if floor is None else floor]), [], []
    side = "above" if stack.measures[0].is_error else "below"
    for sample in simulated_windows((stack, items, truth), how, case, count):
        factors.append(sample.from_draws(limit, side, None)[0])
        own = sample._where_balanced(value, None)
        said.append(np.nan if own is None else own.value)
    return np.array(factors).reshape(-1, len(EFFECTS)), np.array(said), value


def main() -> None:
    """Print a row of the table for each."""
    parser = argparse.ArgumentParser(description="Measures that a tangent stands for.")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--methods", nargs="+", default=["passive", "recalibrated"])
    parser.add_argument("--stable", type=int, default=400)
    parser.add_argument("--after", type=int, default=100)
    given = parser.parse_args()
    promise = Promise(error_rate=ERROR_RATE, test="e-detector", horizon=HORIZON_WINDOWS)
    print("| measure | method | truth | lean | false breach | fair | delay |\n|---|---|---|---|---|---|---|")
    for case in given.cases:
        for how in given.methods:
            stable, said, truth = windows(case, how, 0.0, None, given.stable)
            after, _, now = windows(case, how, 0.1, truth, given.after)
            rng = stream(3, f"tangents/{case}/{how}")
            alarms = first_alarm(
                promise, stable[rng.integers(len(stable), size=(STREAMS, HORIZON_WINDOWS))]
            )
            before = stable[rng.integers(len(stable), size=(RUNS, 20))]
            then = after[rng.integers(len(after), size=(RUNS, LONGEST))]
            late = first_alarm(promise, np.concatenate([before, then], axis=1), 20)
            wealth = np.exp(stable[:, 0])
            spread = wealth.std() / np.sqrt(len(stable))
            lean, chance = np.nanmean(said) - truth, np.nanstd(said) / np.sqrt(len(said))
            print(f"| {case} | {how} | {truth:.3f}, then {now:.3f} | {lean:+.4f} ± {chance:.4f} | "
                  f"{(alarms <= HORIZON_WINDOWS).mean():.3f} | {wealth.mean():.3f} ± {spread:.3f} | "
                  f"{np.minimum(late, LONGEST + 1).mean():.1f} |", flush=True)


if __name__ == "__main__":
    main()
