"""What `model-assisted` claims of a random sample with judges: coverage, width, and that judges cannot harm.

Each coverage is over RUNS samples; an interval that covers 95% falls below FEWEST once in 10,000 times.
"""

import numpy as np
import pytest
from doubles.studies import in_a_study
from scipy.stats import binom

from assay.evalcore.evaluation.held_labels import HeldLabels, estimates_from_held_labels
from assay.evalcore.measures.measure import difference
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items, OneShard, pool_weights
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream

RUNS, SIZE, LABELS = 300, 2_000, 60
FEWEST = int(binom.ppf(1e-4, RUNS, 0.94))     # bars are a coverage of 0.94
FEWER = 40                                    # runs of what is estimated one after the other


def numbers() -> OutcomePool:
    """A number, a good judge, a poor one, and one that says nothing of it."""
    rng = stream(1, "model assisted numbers")
    value = rng.normal(3, 1, SIZE)
    judges = [value + rng.normal(0, 0.7, SIZE), 0.3 * value + rng.normal(0, 1, SIZE), rng.normal(0, 1, SIZE)]
    items = Items(prediction=np.zeros((SIZE, 0)), judge=np.stack(judges, axis=1))
    return OutcomePool(kind=Numbers(), codes=value, items=items)


def classes() -> OutcomePool:
    """Two classes, the predictions of two systems, and a probability that is right."""
    rng = stream(1, "model assisted classes")
    chance = rng.beta(0.7, 1.2, SIZE)
    label = (rng.random(SIZE) < chance).astype(np.float64)
    calls = np.stack([chance > 0.5, rng.random(SIZE) < 0.2 + 0.6 * chance], axis=1).astype(np.float64)
    return OutcomePool(
        kind=Classes(("ham", "spam"), positive="spam"), codes=label,
        items=Items(prediction=calls, probability=np.stack([1 - chance, chance], axis=1)),
    )


def measured(pool: OutcomePool, names: list[str], labels: int = LABELS) -> list[tuple[int, float, float]]:
    """Of each measure: runs that cover, mean width, and root mean squared error."""
    measures = tuple(outcome_measure(name, pool.kind, SIZE) for name in names)
    stack = Stack(kind=pool.kind, measures=measures)
    plan = ReplayPlan(budgets=(labels,), batch_size=labels)
    traces = simulate(outcome_method("model-assisted"), pool, stack, plan, repeats=RUNS)
    return [
        (int(((trace.lower <= truth + 1e-9) & (truth <= trace.upper + 1e-9)).sum()),
         float((trace.upper - trace.lower).mean()), float(np.sqrt(((trace.value - truth) ** 2).mean())))
        for trace, truth in zip(traces, pool.truth(stack), strict=True)
    ]


def test_a_mean_is_covered_and_as_narrow_as_its_judges_allow():
    pool = numbers()
    ((covers, width, error),) = measured(pool, ["mean"])
    assert covers >= FEWEST
    left = np.var(pool.codes) * (1 - np.corrcoef(pool.codes, pool.items.judge[:, 0])[0, 1] ** 2)
    best = 2 * 1.96 * np.sqrt(left * (1 / LABELS - 1 / SIZE))
    assert width < 1.35 * best
    assert error < 0.8 * np.sqrt(np.var(pool.codes) * (1 / LABELS - 1 / SIZE))


def test_shares_and_ratios_are_covered():
    for covers, *_ in measured(classes(), ["accuracy", "rate", "f1", "recall"]):
        assert covers >= FEWEST


def test_a_useless_judge_costs_next_to_nothing():
    pool = numbers()
    noise = stream(2, "model assisted noise").normal(0, 1, (SIZE, 1))
    items = Items(prediction=np.zeros((SIZE, 0)), judge=noise)
    ((covers, width, _),) = measured(OutcomePool(kind=pool.kind, codes=pool.codes, items=items), ["mean"])
    assert covers >= FEWEST
    assert width < 1.06 * 2 * 2.0 * np.sqrt(np.var(pool.codes) * (1 / LABELS - 1 / SIZE))


@pytest.mark.parametrize("rate", [0.02, in_a_study(0.05)])
def test_rare_errors_that_a_judge_mostly_foresees(rate):
    rng = stream(3, "model assisted rare", round=int(1000 * rate))
    wrong = (rng.permutation(SIZE) < rate * SIZE).astype(np.float64)
    judge = np.where(wrong > 0, rng.random(SIZE) < 0.9, rng.random(SIZE) < 0.03).astype(np.float64)
    pool = OutcomePool(
        kind=Classes(("right", "wrong"), positive="wrong"), codes=wrong,
        items=Items(prediction=np.zeros((SIZE, 0)), judge=judge[:, None]),
    )
    ((covers, *_),) = measured(pool, ["rate"], 100)
    assert covers >= int(binom.ppf(1e-4, RUNS, 0.93))


def test_items_with_chances_of_their_own_and_a_difference_of_systems():
    pool = classes()
    first, other = (outcome_measure("accuracy", pool.kind, SIZE, system=system) for system in (0, 1))
    stack = Stack(kind=pool.kind, measures=(difference(other, first), first))
    truth, rng = pool.truth(stack), stream(4, "model assisted chances")
    chance = np.where(np.abs(pool.items.probability[:, 1] - 0.5) < 0.25, 0.08, 0.03)
    covers: np.ndarray = np.zeros(2, np.int64)
    for _ in range(FEWER):
        labelled = np.flatnonzero(rng.random(SIZE) < chance)
        held = HeldLabels(
            items=pool.items, labelled=labelled, codes=pool.codes[labelled], inclusion=chance[labelled]
        )
        rows = estimates_from_held_labels(held, stack, ("a", "b"), 0.95, "pool").rows
        covers += [row.lower <= exact <= row.upper for row, exact in zip(rows, truth, strict=True)]
    assert (covers >= int(binom.ppf(1e-4, FEWER, 0.94))).all()


def test_a_share_is_covered_where_the_stratum_with_few_labels_is_the_uncertain_one():
    rng, widths = stream(6, "model assisted strata"), []
    stratum = (np.arange(SIZE) >= SIZE // 2).astype(np.int64)
    kind = Classes(("no", "yes"), positive="yes")
    stack = Stack(kind=kind, measures=(outcome_measure("rate", kind, SIZE),))
    for _ in range(FEWER):
        codes = (rng.random(SIZE) < np.where(stratum == 0, 0.5, 0.99)).astype(np.float64)
        drawn = [rng.permutation(np.flatnonzero(stratum == h))[:n] for h, n in ((0, 20), (1, 180))]
        labelled = np.sort(np.concatenate(drawn))
        held = HeldLabels(
            items=Items(prediction=np.zeros((SIZE, 0))), labelled=labelled, codes=codes[labelled],
            inclusion=np.where(stratum == 0, 0.02, 0.18)[labelled], stratum=stratum[labelled],
        )
        (row,) = estimates_from_held_labels(held, stack, (), 0.95, "pool").rows
        widths.append(row.upper - row.lower)
    # the error is known: Σ N_h² (1 - n_h/N_h) p_h (1 - p_h)/n_h; by Kish's number of labels alone 0.75 of it
    error = np.sqrt((0.98 * 0.25 / 20 + 0.82 * 0.0099 / 180) / 4)
    assert np.mean(widths) > 0.95 * 2 * 1.96 * error


def test_the_population_is_covered_and_wider():
    rng, covers, wider = stream(5, "model assisted population"), 0, 0
    for _ in range(FEWER):
        value = rng.normal(0, 1, 150)
        items = Items(prediction=np.zeros((150, 0)), judge=(value + rng.normal(0, 0.5, 150))[:, None])
        labelled = np.sort(rng.permutation(150)[:50])
        held = HeldLabels(items=items, labelled=labelled, codes=value[labelled])
        stack = Stack(kind=Numbers(), measures=(outcome_measure("mean", Numbers(), 150),))
        (row,) = estimates_from_held_labels(held, stack, (), 0.95, "population").rows
        covers += row.lower <= 0 <= row.upper
        wider += row.upper - row.lower > row.also.upper - row.also.lower
    assert covers >= int(binom.ppf(1e-4, FEWER, 0.94))
    assert wider == FEWER


def test_everything_labelled_is_exact():
    pool = classes()
    stack = Stack(kind=pool.kind, measures=(outcome_measure("accuracy", pool.kind, SIZE),))
    held = HeldLabels(items=pool.items, labelled=np.arange(SIZE), codes=pool.codes)
    (row,) = estimates_from_held_labels(held, stack, ("a", "b"), 0.95, "pool").rows
    assert (row.interval, row.value) == ("exact", pytest.approx(float(pool.truth(stack)[0])))


def test_shares_of_weighted_items_are_covered_where_judges_explain_most_labels():
    """Thirty labels, of which the judges explain nearly all by luck: intervals by the residuals alone covered
    0.85. 200 runs; 0.90 is 3.2 standard errors below 0.95."""
    kind, items, covered = Classes(("a", "b", "c")), 1_000, 0
    for run in range(200):
        rng = stream(6, "weighted share", run)
        weight = rng.integers(1, 6, items).astype(np.float64)
        code = rng.choice(3, items, p=[0.6, 0.3, 0.1]).astype(np.float64)
        guess = [
            np.where(rng.random(items) < right, code, rng.integers(0, 3, items)) for right in (0.85, 0.9)
        ]
        pool = Items(prediction=guess[0][:, None], judge=guess[1][:, None], weight=weight[:, None])
        weights = pool_weights(OneShard(pool))
        accuracy = outcome_measure("accuracy", kind, items, options={}, weights=weights)
        at = np.sort(rng.choice(items, 30, replace=False))
        held = HeldLabels(items=pool, labelled=at, codes=code[at])
        stack = Stack(kind=kind, measures=(accuracy,), weights=weights)
        (row,) = estimates_from_held_labels(held, stack, (), 0.95, "pool").rows
        truth = float(weight @ (code == guess[0]) / weight.sum())
        covered += row.lower <= truth <= row.upper
    assert covered / 200 >= 0.90
