"""False breaches of a monitor of two systems, and its delay: `python -m benchmarks.two_systems_watched`.

Two systems of three classes, whose accuracy is about 0.85 each; 100 labels a window of 2,000 items, with
the plans of a live evaluation.  The floor lies exactly at the true difference.  Then the second one gets
worse by 0.05.
Streams are put together from the simulated windows at random, with replacement, as in
`benchmarks.monitoring`.
"""

from collections.abc import Iterator

import numpy as np

from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label, observe, plan
from assay.evalcore.measures.measure import leading, side_by_side
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method, with_single_draws
from assay.evalcore.monitoring.betting import EFFECTS
from assay.evalcore.monitoring.evidence import WatchedStack, WindowSample
from assay.evalcore.monitoring.verdicts import HORIZON_WINDOWS, Promise
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.monitoring import ERROR_RATE, LONGEST, RUNS, STREAMS, first_alarm

KIND = Classes(names=("cat", "dog", "owl"))
ITEMS, ROUNDS, BATCH = 2_000, 4, 25
STABLE, AFTER = 2_000, 200    # windows
METHODS = ("passive", "recalibrated")


def pool(drop: float) -> tuple[Items, Floats]:
    """The predictions of both systems, and the truth; the second one is worse by `drop`."""
    rng = stream(4, "two systems")
    truth = rng.choice(3, ITEMS, p=[0.5, 0.3, 0.2]).astype(float)
    old = np.where(rng.random(ITEMS) < 0.85, truth, (truth + 1) % 3)
    apart, luck = rng.random(ITEMS) < 0.2, rng.random(ITEMS)
    new = np.where(apart, np.where(luck < 0.85, truth, (truth + 2) % 3), old)
    right = np.flatnonzero(new == truth)
    turned = rng.permutation(right)[: round(drop * ITEMS)]
    new[turned] = (truth[turned] + 2) % 3
    return Items(prediction=np.stack([old, new], axis=1)), truth


def simulated_windows(
    asked: tuple[Stack, Items, Floats], how: str, evaluation: str, count: int
) -> Iterator[WindowSample]:
    """What so many windows have labelled; asked: the measures, the items and their outcomes."""
    stack, items, truth = asked
    method = outcome_method(with_single_draws(how, KIND))
    cut = method.cut(stack, items)
    order = np.argsort(cut.cell, kind="stable")
    start = np.cumsum([0, *cut.cells.size])
    for w in range(count):
        question = Question(
            method=method, measures=stack, cells=cut.cells, confidence=0.95, seed=w, evaluation=evaluation,
            systems=("old", "new")[: items.systems],
        )
        state, rounds = before_any_label(question), []
        for _ in range(ROUNDS):
            planned = plan(question, state, BATCH)
            at = order[start[planned.cell] + planned.rank]
            rounds.append(LabelledRound(
                before=state.inner, plan=planned, code=truth[at], items=items.at(at), segment={},
                new=planned.ask,
            ))
            state = observe(question, state, planned, truth[at], items.at(at))
        yield WindowSample(
            measured_by=WatchedStack(question=question), confidence=0.95, estimates=[], segments={},
            rounds=rounds,
        )


def factors(name: str, drop: float, floor: float | None, count: int) -> tuple[Floats, float]:
    """(count, G) the log factors of windows against a floor, and the true difference, which is the floor
    unless another one is given."""
    items, truth = pool(drop)
    by_system = [outcome_measure("accuracy", KIND, ITEMS, system=s) for s in (0, 1)]
    measures = side_by_side([by_system])
    stack = Stack(kind=KIND, measures=measures, drive=leading(measures))
    value = float(measures[0].of_pool(items, KIND.phi(truth))[0])
    limit = np.array([value if floor is None else floor])
    found = np.zeros((count, len(EFFECTS)))
    for w, sample in enumerate(simulated_windows((stack, items, truth), name, "two systems", count)):
        found[w] = sample.from_draws(limit, "below", None)[0]
    return found, value


def main() -> None:
    """Print a row of the table for each method."""
    promise = Promise(error_rate=ERROR_RATE, test="e-detector", horizon=HORIZON_WINDOWS)
    for name in METHODS:
        stable, truth = factors(name, 0.0, None, STABLE)
        after, _ = factors(name, 0.05, truth, AFTER)
        rng = stream(3, f"two systems/{name}")
        alarms = first_alarm(promise, stable[rng.integers(STABLE, size=(STREAMS, HORIZON_WINDOWS))])
        before = stable[rng.integers(STABLE, size=(RUNS, 20))]
        then = after[rng.integers(AFTER, size=(RUNS, LONGEST))]
        late = first_alarm(promise, np.concatenate([before, then], axis=1), 20)
        wealth = np.exp(stable[:, 0])   # of the smallest bets; 1 on average
        spread = wealth.std() / np.sqrt(STABLE)
        false, delay = (alarms <= HORIZON_WINDOWS).mean(), np.minimum(late, LONGEST + 1).mean()
        print(f"| {name} | {truth:.3f} | {false:.3f} | {wealth.mean():.3f} ± {spread:.3f} | {delay:.1f} |",
              flush=True)


if __name__ == "__main__":
    main()
