"""Errors, divergences and coverage of the paper's methods on its pools."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.replay.run import BudgetSummary, ReplayPlan, simulate, summarise
from assay.tasks.replay.labelled_pool import read_labelled_pool
from benchmarks.reproduce.needle.curves import THRESHOLDS, Look, adaptive, binned, static, stratified
from benchmarks.reproduce.pools import pool_file

POOLS = {"abt-buy": (53_753, 1075, 0.595), "restaurant": (149_747, 3328, 0.899)}   # as Table 3 prints them
METHODS = {
    "Passive": "passive-with-replacement", "Stratified": "stratified", "IS": "static-is", "OASIS": "oasis",
    "Ours-1": "dirichlet-flat", "Ours-8": "dirichlet-tree",
}
BUDGETS, REPEATS, BATCH = (50, 100, 200, 500, 1000, 2000), 200, 25
CURVE_BUDGETS, CURVE_REPEATS, CURVE_BATCH = (100, 500, 1000, 2000, 5000), 1000, 50
TREE_REPEATS = 1000    # of the adaptive methods: six minutes of an idle core

Drawn: TypeAlias = Mapping[str, Sequence[Look]]   # of the whole curve, by method and budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """One panel: every method at every budget."""

    pool: str
    measure: str
    by_method: Mapping[str, Sequence[BudgetSummary]]

    def error(self, name: str, labels: int) -> float:
        """The mean squared error of a method."""
        return next(at.mse for at in self.by_method[name] if at.labels == labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    """What the page is made of, by pool."""

    repeats: int
    pools: Mapping[str, LabelledPool]
    f1: Mapping[str, Convergence]
    accuracy: Mapping[str, Convergence]
    curves: Drawn                             # of abt-buy
    covered: Mapping[str, Sequence[float]]    # with the variance as printed


def run(repeats: int = REPEATS) -> Everything:
    """All of it."""
    pools = {name: read(name) for name in POOLS}
    without = [name for name in METHODS if name != "OASIS"]
    return Everything(
        repeats=repeats,
        pools=pools,
        f1={name: convergence(name, pool, "f1", METHODS, BUDGETS, repeats) for name, pool in pools.items()},
        accuracy={
            name: convergence(name, pool, "accuracy", without, BUDGETS, repeats)
            for name, pool in pools.items()
        },
        curves=curves(pools["abt-buy"]),
        covered={name: printed_coverage(pool, BUDGETS, repeats) for name, pool in pools.items()},
    )


def read(pool: str) -> LabelledPool:
    """One of the pools.  Raises BadInput where the folder in ASSAY_POOLS lacks its file."""
    return read_labelled_pool(str(pool_file(pool)))


def convergence(
    name: str, pool: LabelledPool, of: str, names: Iterable[str], budgets: Sequence[int], repeats: int
) -> Convergence:
    """The errors and divergences of these methods."""
    chosen = measure(of)
    truth = float(chosen.of_confusion(pool.confusion()))
    found = {}
    for called in names:
        (trace,) = simulate(
            method(METHODS[called]), pool, [chosen], ReplayPlan(
                budgets=budgets, batch_size=BATCH, seed=1, divergences=True
            ), repeats=repeats,
        )
        found[called] = summarise(trace, truth, budgets)
    return Convergence(pool=name, measure=of, by_method=found)


def curves(
    pool: LabelledPool, budgets: Sequence[int] = CURVE_BUDGETS, repeats: int = CURVE_REPEATS,
    tree_repeats: int = TREE_REPEATS, thresholds: int = THRESHOLDS,
) -> Drawn:
    """The methods of figures 4 and 8 on the paper's grid of thresholds, as printed.

    repeats: of the methods with one proposal; tree_repeats: of those that adapt it.
    """
    on_grid = binned(pool, thresholds)
    return {
        "Passive": static(on_grid, budgets=budgets, repeats=repeats, even=True),
        "Stratified": stratified(on_grid, budgets=budgets, repeats=repeats),
        "IS": static(on_grid, budgets=budgets, repeats=repeats, even=False),
        **{
            name: adaptive(on_grid, flat=flat, budgets=budgets, batch=CURVE_BATCH, repeats=tree_repeats)
            for name, flat in (("Ours-1", True), ("Ours-8", False))
        },
    }


def printed_coverage(pool: LabelledPool, budgets: Sequence[int], repeats: int) -> list[float]:
    """How often the interval of F1 covers with the variance as printed."""
    f1, chosen = measure("f1"), method("dirichlet-tree:variance=printed")
    (trace,) = simulate(
        chosen, pool, [f1], ReplayPlan(budgets=budgets, batch_size=BATCH, seed=1), repeats=repeats
    )
    truth = float(f1.of_confusion(pool.confusion()))
    return [at.coverage for at in summarise(trace, truth, budgets)]


def agreement(found: Convergence, labels: int) -> float:
    """Spearman's correlation over methods of divergence and error at a budget."""
    at = [
        (one.divergence, one.mse) for several in found.by_method.values() for one in several
        if one.labels == labels and one.divergence is not None
    ]
    ranks = np.argsort(np.argsort(np.array(at), axis=0), axis=0)
    return float(np.corrcoef(ranks.T)[0, 1])
