"""Trials of a method on a pool: its estimates and variances at 10, 30, 70, 150 and 310 labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label, observe, plan
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.acis import Acis
from assay.evalcore.methods.two_classes.base import CountingMethod
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.replay.pool import LabelledPool, prepared_cells
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Array, Floats, Ints
from assay.evalcore.weighted.other_models import shared_estimates
from benchmarks.reproduce.low_shot.data import F1, Named

BUDGETS = (10, 30, 70, 150, 310)
CERTAIN = ("topk", "gmm", "herding")   # hardly anything is left to chance: two trials tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a method said in R trials, at each budget."""

    value: Floats      # (R, budgets), 0 where undefined
    variance: Floats   # (R, budgets)


def trials(names: Sequence[str], one: Named, repeats: int) -> dict[str, Found]:
    """Every method of these names; those that differ in the estimate alone share their draws.

    A name ends in `:last=...` or `:together=...` where it differs so.
    """
    by_draws: dict[str, list[str]] = {}
    for name in names:
        by_draws.setdefault(name.partition(":last")[0].partition(":together")[0], []).append(name)
    found: dict[str, Found] = {}
    for base, alike in by_draws.items():
        how, several = method(base), {name: method(name) for name in alike}
        found |= _run(how, several, one, 2 if base in CERTAIN else repeats)
    return found


def _run(
    how: CountingMethod, several: Mapping[str, CountingMethod], one: Named, repeats: int
) -> dict[str, Found]:
    cells, by_label = prepared_cells(how, one.pool)
    rng = stream(1, f"benchmarks/low-shot/{one.name}/{how.name}")
    state, looks = how.start(cells, (F1,), repeats), {name: ([], []) for name in several}
    for before, budget in zip((0, *BUDGETS), BUDGETS, strict=False):
        missing = np.full(repeats, budget - before)
        while missing.any():
            size = how.round_size(state, missing)
            design, draws = how.next_round(state, size, rng)
            labels = simulate_labels(draws, by_label - state.labelled, rng)
            state, missing = how.observe(state, design, labels, np.zeros_like(state.excluded)), missing - size
        for name, reading in several.items():
            (e,) = reading.estimate(state, 0.95, rng)
            looks[name][0].append(np.nan_to_num(e.value))
            looks[name][1].append(e.variance)
    return {
        name: Found(value=np.stack(value, axis=1), variance=np.stack(variance, axis=1))
        for name, (value, variance) in looks.items()
    }


def _predicted(prediction: Array) -> Items:
    return Items(prediction=prediction[:, None].astype(np.float64))


def shared_values(own: LabelledPool, others: Mapping[str, Ints], name: str, seed: int) -> dict[str, Floats]:
    """What labels that ACIS bought for one model say of others (budgets,); others: their predictions (N,)."""
    how = method("acis")
    assert isinstance(how, Acis)
    partition, cell = build_partition(how, own.score, own.probability, own.prediction)
    order, cells = np.argsort(cell, kind="stable"), partition.cells
    offset = np.cumsum(cells.size) - cells.size
    asked = Question(method=how, cells=cells, measures=(F1,), confidence=0.95, seed=seed, evaluation=name)
    state, rounds, seen = before_any_label(asked), [], set()
    found: dict[str, list[float]] = {other: [] for other in others}
    for budget in BUDGETS:
        while state.labels < budget and not state.exhausted:
            p = plan(asked, state, budget - state.labels)
            rows = order[offset[p.cell] + p.rank]
            new = np.array([row not in seen for row in rows.tolist()])
            seen |= set(rows.tolist())
            state = observe(asked, state, p, own.label[rows])
            rounds.append((rows, LabelledRound(
                plan=p, items=_predicted(own.prediction[rows]), code=own.label[rows].astype(float), new=new,
                segment={},
            )))
        for other, prediction in others.items():
            as_other = [replace(one, items=_predicted(prediction[rows])) for rows, one in rounds]
            found[other].append(shared_estimates([F1], how, [F1], cells, as_other)[0][0])
    return {other: np.nan_to_num(np.array(values)) for other, values in found.items()}
