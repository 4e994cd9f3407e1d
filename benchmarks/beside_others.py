"""Assay beside public packages: same pools, same budgets, same number of runs.

`python -m benchmarks.beside_others --python PYTHON3.12` writes docs/measured/beside-others.md (minutes).  The
packages go into an environment of their own in a temporary folder; glide needs Python 3.12.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.pages import write_page
from benchmarks.real_pools import real_pool

OUT = Path(__file__).parent.parent / "docs" / "measured" / "beside-others.md"
PACKAGES = ("ppi-python", "glide-py")
POOLS, BUDGETS = ("employment", "governors"), (50, 100, 200, 500)
MOST, HALF_WIDTH = 10_000, 0.05
METHODS = ("recalibrated", "active-inference", "active-inference:robust=true", "lure", "stratified-neyman",
           "passive", "passive:guaranteed=true")

# run by the other environment: `correct` and `expected` are 0 or 1 and a probability, of every item
OTHERS = '''
import json, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
data, runs, budgets = np.load(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
y, f = data["correct"], data["expected"]
found = {}
def active(n, seed):
    from glide.estimators.asi import ASIMeanEstimator
    from glide.samplers.active import ActiveSampler
    unsure = np.maximum(np.sqrt(f * (1 - f)), 1e-2)
    pi, drawn = ActiveSampler().sample(unsure, n, random_seed=seed)
    seen = np.where(drawn > 0, y, np.nan)
    result = ASIMeanEstimator().estimate(seen, f, pi)
    ends = result.confidence_interval
    return result.mean, ends.lower_bound, ends.upper_bound
def even(n, seed):
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    order = np.random.default_rng(seed).permutation(len(y))
    one, rest = order[:n], order[n:]
    value = ppi_mean_pointestimate(y[one], f[one], f[rest])
    ends = ppi_mean_ci(y[one], f[one], f[rest], alpha=0.05)
    return float(value[0]), float(ends[0][0]), float(ends[1][0])
for name, run in (("glide: active sampler, ASI", active), ("ppi_py: PPI++ of even draws", even)):
    try:
        began = time.time()
        rows = [[list(map(float, run(n, 1000 * n + r))) for n in budgets] for r in range(runs)]
        found[name] = {"rows": rows, "seconds": (time.time() - began) / runs}
    except Exception as error:
        found[name] = {"error": f"{type(error).__name__}: {error}"}
print(json.dumps(found))
'''


def drawn_pool(name: str) -> OutcomePool:
    """At most MOST items of a real pool, as two classes of equal standing."""
    one: LabelledPool = real_pool(name)
    some = stream(1, f"beside/{name}").permutation(len(one.label))[:MOST]
    p = one.probability[some]
    return OutcomePool(
        kind=Classes(("no", "yes")), codes=one.label[some].astype(np.float64),
        items=Items(prediction=one.prediction[some][:, None].astype(np.float64),
                    probability=np.stack([1 - p, p], axis=1)),
    )


def rows_of(name: str, runs: int, python: Path, folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Of each contender: values, lower and upper ends (runs, budgets), and seconds a run."""
    pool = drawn_pool(name)
    n, prediction = len(pool.codes), pool.items.prediction[:, 0].astype(np.int64)
    stack = Stack(kind=pool.kind, measures=(outcome_measure("accuracy", pool.kind, n),))
    for written in METHODS:
        began = time.time()
        one = simulate(outcome_method(written), pool, stack, ReplayPlan(budgets=BUDGETS), repeats=runs)[0]
        seconds = (time.time() - began) / runs
        yield f"Assay `{written}`", {"ends": (one.value, one.lower, one.upper), "seconds": seconds}
    chance = pool.items.probability
    data = folder / f"{name}.npz"
    np.savez(data, correct=(pool.codes == prediction).astype(np.float64),
             expected=np.zeros(n) if chance is None else chance[np.arange(n), prediction])
    ran = subprocess.run([python, "-c", OTHERS, data, str(runs), json.dumps(BUDGETS)], capture_output=True,
                         text=True, check=False)
    told = json.loads(ran.stdout) if ran.returncode == 0 else {"glide, ppi_py": {"error": ran.stderr[-200:]}}
    for other, found in told.items():
        if "rows" in found:
            ends = np.moveaxis(np.array(found["rows"]), 2, 0)
            yield other, {"ends": tuple(ends), "seconds": found["seconds"]}
        else:
            yield other, found


def line(name: str, found: Mapping[str, Any], truth: float) -> str:
    """A row of the table."""
    if "ends" not in found:
        return f"| {name} | could not be run: {found['error']} | | | | |"
    value, lower, upper = found["ends"]
    error: Floats = ((np.nan_to_num(value) - truth) ** 2).mean(axis=0)
    inside: Floats = ((lower <= truth + 1e-9) & (truth <= upper + 1e-9)).mean(axis=0)
    width: Floats = (upper - lower).mean(axis=0)
    met = [n for n, w in zip(BUDGETS, width, strict=True) if w <= 2 * HALF_WIDTH]
    columns = (
        " / ".join(f"{e:.1e}" for e in error), " / ".join(f"{c:.2f}" for c in inside),
        " / ".join(f"{w:.3f}" for w in width), str(met[0]) if met else f"> {BUDGETS[-1]}",
        f"{found['seconds']:.3f}",
    )
    return f"| {name} | {' | '.join(columns)} |"


_INTRODUCTION = f"""\
Accuracy of real classifiers, RUNS runs at {', '.join(map(str, BUDGETS))} labels. Made by
`python -m benchmarks.beside_others --python PYTHON3.12`. All rows have the same pool, the same supplied
probabilities and the same budgets; pools beyond {MOST:,} items are drawn down to so many. *Error*: mean
squared. *Labels*: the least of the budgets whose mean half-width is at most {HALF_WIDTH}. *Seconds*: of a
run at all budgets; those of Assay are of runs side by side. glide's sampler takes a random number of labels,
at
most the budget; its uncertainty is the deviation that the probabilities tell. With 50 runs an error is known
to about a fifth, and a coverage of 0.95 to 0.06 either way."""
_NOT_HERE = """\
Not here: activeeval, which is not on the package index (its figures are among [the methods](methods.md));
cje, which answers another question (policies from logged data); fewhumans/truescore and ProEval, which were
not tried. `predict-then-debias` was checked against its authors' code (PTDBoot; here resamples keep the
number of labels), `stratified-ppi` against what others say of theirs; its labels are proportional."""


def page(runs: int, python: Path, folder: Path) -> Iterator[str]:
    """The lines of the page."""
    yield "# Assay beside the others"
    yield ""
    yield _INTRODUCTION.replace("RUNS", str(runs))
    for name in POOLS:
        pool = drawn_pool(name)
        truth = float((pool.codes == pool.items.prediction[:, 0]).mean())
        yield from ("", f"## {name}: {len(pool.codes):,} items, accuracy {truth:.4f}", "",
                    "| | error | coverage of 95% | width | labels | seconds |", "|---|---|---|---|---|---|")
        for other, found in rows_of(name, runs, python, folder):
            print(name, other, flush=True)
            yield line(other, found, truth)
    yield ""
    yield _NOT_HERE


def main() -> None:
    """Make the environment, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--runs", type=int, default=50)
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        subprocess.run([said.python, "-m", "venv", made], check=True)
        python = Path(made) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        write_page(OUT, "\n".join(page(said.runs, python, Path(made))) + "\n")


if __name__ == "__main__":
    main()
