"""Is any constant of `recalibrated` critical?  Each one halved and doubled, the others left alone.

    python -m benchmarks.sensitivity --pools abt-buy,balanced --repeats 50 --out docs/measured/sensitivity.md

For every change: the geometric mean over budgets of MSE and of mean width, relative to the defaults on the
same seeds, and the lowest coverage.  A ratio of errors from 50 repeats moves by about a fifth by chance.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.recalibration import interval, label_model, planning, posterior, reporting
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise
from benchmarks.certify import load
from benchmarks.contenders import REPORT_DRAWS
from benchmarks.pages import write_page

BUDGETS = (50, 100, 300)
CONSTANTS: tuple[tuple[ModuleType, str], ...] = (
    (planning, "LEAST_NEYMAN"),
    (planning, "SEARCH_POWER"),
    (planning, "EXPLORE"),
    (posterior, "CUT_SHARE"),
    (posterior, "CUT_RATE"),
    (posterior, "TOTAL_SCALE"),
    (posterior, "LARGEST_EXCESS"),
    (interval, "CORRELATED"),
    (interval, "FEW_LABELS"),
    (interval, "FADING"),
    (interval, "ENOUGH"),
    (interval, "CLEAR_GAP"),
    (reporting, "NARROW"),
    (posterior, "AT_LEAST_ITEMS"),
    (posterior, "AT_LEAST_SHARE"),
    (posterior, "EVEN_DRAWS"),
    (posterior, "RULED_OUT"),
    (label_model, "SMOOTHNESS"),
    (label_model, "EXCESS"),
    (label_model, "BASIS"),
)
SETTINGS = ("n_strata", "planning_draws")
PRIOR_SDS = ("level_sd", "slope_sd", "rough_sd", "density_sd", "speckle_sd")
BROKEN = "BROKEN"        # the prior log weight of the configurations for broken systems


@contextmanager
def changed(module: ModuleType, name: str, factor: float) -> Iterator[None]:
    """One constant multiplied for a while; probabilities stop at 1, contamination moves its median."""
    before = getattr(module, name)
    after: Any
    if isinstance(before, posterior.Contamination):
        after = replace(before, median=before.median * factor)
    elif isinstance(before, int):
        after = max(1, round(before * factor))
    else:
        after = min(before * factor, 1.0) if name.endswith("SHARE") else before * factor
    setattr(module, name, after)
    try:
        yield
    finally:
        setattr(module, name, before)


def scaled(factor: float, field: str) -> Recalibrated:
    """The method with one prior standard deviation multiplied in every configuration."""
    default = Recalibrated()
    several = tuple(replace(c, **{field: getattr(c, field) * factor}) for c in default.configurations)
    return replace(default, configurations=several)


def weighted(factor: float) -> Recalibrated:
    """The method with the log weight of the configurations for broken systems multiplied."""
    default = Recalibrated()
    several = tuple(
        replace(c, log_weight=c.log_weight * factor) if c.anchor in ("flat", "inverted") else c
        for c in default.configurations
    )
    return replace(default, configurations=several)


def measured(method: Recalibrated, pool_name: str, repeats: int) -> tuple[np.ndarray, np.ndarray, float]:
    """MSE and width at each budget, and the lowest coverage."""
    data, f1 = load(pool_name), measure("f1")
    budgets = [b for b in BUDGETS if b < len(data.label)]
    (trace,) = simulate(
        replace(method, report_draws=REPORT_DRAWS), data, [f1], ReplayPlan(budgets=budgets), repeats=repeats
    )
    found = summarise(trace, float(f1.of_confusion(data.confusion())), budgets)
    return (
        np.array([s.mse for s in found]), np.array([s.width for s in found]), min(s.coverage for s in found)
    )


def variants() -> Iterator[tuple[str, float, Callable[[], Any], Recalibrated]]:
    """(name, factor, context, method) of every change."""
    for factor in (0.5, 2.0):
        for module, name in CONSTANTS:
            yield name, factor, lambda m=module, n=name, f=factor: changed(m, n, f), Recalibrated()
        for name in SETTINGS:
            value = round(getattr(Recalibrated(), name) * factor)
            yield name, factor, nullcontext, replace(Recalibrated(), **{name: value})
        for name in PRIOR_SDS:
            yield name, factor, nullcontext, scaled(factor, name)
        yield BROKEN, factor, nullcontext, weighted(factor)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description="Halve and double every constant.")
    parser.add_argument("--pools", default="abt-buy,balanced")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--only", default="", help="names of constants, with commas between; all by default")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows = [
        "# Each constant of `recalibrated` halved and doubled",
        "",
        f"Made by `python -m benchmarks.sensitivity`: F1 at {', '.join(map(str, BUDGETS))} labels, "
        f"R = {given.repeats}. Ratios are to the defaults, as geometric means over budgets. By chance alone "
        "a ratio of errors moves by about a fifth.",
        "",
        "| constant | factor | pool | MSE ratio | width ratio | lowest coverage |",
        "|---|---|---|---|---|---|",
    ]
    for pool_name in given.pools.split(","):
        mse, width, covers = measured(Recalibrated(), pool_name, given.repeats)
        rows.append(f"| (defaults) | 1 | {pool_name} | 1.00 | 1.00 | {covers:.2f} |")
        for name, factor, context, method in variants():
            if given.only and name not in given.only.split(","):
                continue
            with context():
                other, wide, covers = measured(method, pool_name, given.repeats)
            ratio, wider = np.exp(np.mean(np.log(other / mse))), np.exp(np.mean(np.log(wide / width)))
            rows.append(f"| {name} | {factor:g} | {pool_name} | {ratio:.2f} | {wider:.2f} | {covers:.2f} |")
            write_page(given.out, "\n".join(rows) + "\n")
            print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
