"""How often the intervals of `recalibrated` cover on generated pools.

`python -m benchmarks.outcome_coverage` rewrites the tables of docs/measured/outcome-coverage.md between its
lines START and END; with `--regions` the table of joint regions alone.  The families are
`replay.families`: rare classes, wrong predictions, constant judges and heavy tails are among them.  A value
that is undefined counts as not covered.
"""

import argparse
from pathlib import Path

import numpy as np
import scipy

from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.families import OUTCOME_FAMILIES as FAMILIES
from assay.evalcore.replay.families import outcome_family_pool as pool
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, prepared, simulate, simulate_rounds
from assay.evalcore.reproducible import stream
from assay.evalcore.weighted.estimate import Labelled, weighted_estimates
from assay.evalcore.weighted.sample import weighted_sample
from benchmarks.pages import read_page, write_page

START = "<!-- coverage: made by python -m benchmarks.outcome_coverage -->"
END = "<!-- end of coverage -->"
REGIONS = "<!-- joint regions: made by python -m benchmarks.outcome_coverage --regions -->"
END_OF_REGIONS = "<!-- end of joint regions -->"
OUT = Path(__file__).parent.parent / "docs" / "measured" / "outcome-coverage.md"
BUDGETS = (50, 100, 200, 500, 1000)
# measures of many classes or tags take long
SLOW = ("macro_f1", "micro_f1")
# family, share of the pool that is in the segment, labels of the whole pool
SEGMENTS = (("calibrated", 0.25, 300), ("over-confident", 0.25, 300), ("rare", 0.5, 500))

# of 4 classes: how much the probabilities that the pool supplies are sharpened, and rolled to another class
FOUR = {
    "probabilities right": (1.0, 0), "log odds doubled": (2.0, 0),
    "each predicted as its neighbour": (1.0, 1),
}
PAIRS = (("macro_f1", "accuracy"), ("accuracy", "cohen_kappa"))


def four_classes(says: str) -> OutcomePool:
    """5,000 items of 4 classes of unequal size."""
    rng, (sharpened, rolled) = stream(1, f"four classes/{says}"), FOUR[says]
    z = -0.5 * np.arange(4) + 2.0 * rng.standard_normal((5_000, 4))
    label = (scipy.special.softmax(z, axis=1).cumsum(axis=1) > rng.random((5_000, 1))).argmax(axis=1)
    told = np.roll(scipy.special.softmax(z * sharpened, axis=1), rolled, axis=1)
    return OutcomePool(
        kind=Classes(names=("a", "b", "c", "d")), codes=label.astype(np.float64),
        items=Items(prediction=told.argmax(axis=1).astype(np.float64)[:, None], probability=told),
    )


def region_row(says: str, pair: tuple[str, str], repeats: int) -> str:
    """How often the joint 95% region of the Dirichlet tree of several classes holds both true values."""
    drawn, method = four_classes(says), outcome_method("dirichlet-tree")
    stack = Stack(kind=drawn.kind, measures=tuple(
        outcome_measure(name, drawn.kind, len(drawn.items)) for name in pair
    ))
    truth, ready = drawn.truth(stack), prepared(method, drawn, stack, 1)
    runs = (
        simulate_rounds(method, ready, (100, 200, 500), repeats=1, batch_size=50, seed=seed)
        for seed in range(repeats)
    )
    held = [[bool(method.region(state, 0.95).contains(truth)) for _, state in run] for run in runs]
    cells = [f"{share:.3f}" for share in np.mean(held, axis=0)]
    return f"| {says} | {' and '.join(pair)} | {repeats:,} | " + " | ".join(cells) + " |"


def row(family: str, measure: str, repeats: int) -> str:
    """One line of the table."""
    drawn = pool(family)
    stack = Stack(kind=drawn.kind, measures=(outcome_measure(measure, drawn.kind, len(drawn.items)),))
    truth = float(drawn.truth(stack)[0])
    budgets = [b for b in BUDGETS if b < len(drawn.items)]
    (found,) = simulate(
        outcome_method("recalibrated"), drawn, stack, ReplayPlan(budgets=budgets, batch_size=50),
        repeats=repeats
    )
    value, lower, upper = found.value, found.lower, found.upper
    slack = 1e-9 * max(abs(truth), 1.0)
    covers = (lower - slack <= truth) & (truth <= upper + slack) & np.isfinite(value)
    cells = [f"{share:.3f}" for share in covers.mean(axis=0)]
    missing = float((~np.isfinite(value)).mean())
    first = f"| {FAMILIES[family].says} | {measure} | {repeats:,} | "
    return first + " | ".join(cells) + f" | {missing:.3f} |"


def segment_row(family: str, share: float, labels: int, repeats: int) -> str:
    """Macro F1 of a segment, this share of a family's pool at random; labels are drawn for accuracy."""
    drawn = pool(family)
    n = len(drawn.items)
    inside = stream(1, "segment").random(n) < share
    asked, macro = (outcome_measure(name, drawn.kind, n) for name in ("accuracy", "macro_f1"))
    part = OutcomePool(kind=drawn.kind, codes=drawn.codes[inside], items=drawn.items.at(inside))
    truth = float(part.truth(Stack(kind=drawn.kind, measures=(macro,)))[0])
    stack = Stack(kind=drawn.kind, measures=(asked,))
    method = outcome_method("recalibrated")
    cut = method.cut(stack, drawn.items)
    members = [np.flatnonzero(cut.cell == c) for c in range(cut.cells.n_cells)]
    there, covers = 0, 0
    for seed in range(repeats):
        question = Question(method=method, measures=stack, cells=cut.cells, confidence=0.95, seed=seed,
                            evaluation="segment")
        state, rounds, rows = before_any_label(question), [], []
        while state.labels < labels:
            planned = plan(question, state, 50)
            at = np.array([members[c][r] for c, r in zip(planned.cell, planned.rank, strict=True)])
            state = observe(question, state, planned, drawn.codes[at], drawn.items.at(at))
            rounds.append(LabelledRound(
                plan=planned, code=drawn.codes[at], items=drawn.items.at(at), new=planned.ask, segment={},
            ))
            rows.append(at)
        where = np.concatenate(rows)
        labelled = Labelled(items=drawn.items.at(where), among=inside[where])
        sample = weighted_sample(question, state, rounds)
        (found,) = weighted_estimates(drawn.kind, [macro], sample, labelled, 0.95)
        if found.value is not None and found.lower is not None and found.upper is not None:
            there += 1
            covers += found.lower <= truth <= found.upper
    covered = f"{covers / there:.3f}" if there else "–"
    first = f"| {FAMILIES[family].says} | {share:g} | {labels} | {repeats} | "
    return first + f"{there / repeats:.2f} | {covered} |"


def main() -> None:
    """All families and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--slow-repeats", type=int, default=300, help="of macro and micro averages")
    parser.add_argument("--segment-repeats", type=int, default=40)
    parser.add_argument("--regions", action="store_true", help="the table of joint regions alone")
    given = parser.parse_args()
    if given.regions:
        table = ["| pool of 4 classes | measures | runs | 100 | 200 | 500 |", "|---" * 6 + "|"]
        table += [region_row(says, pair, min(given.repeats, 400)) for says in FOUR for pair in PAIRS]
        put(table, REGIONS, END_OF_REGIONS)
        return
    lines = [
        "| pool | measure | runs | " + " | ".join(f"{b:,}" for b in BUDGETS) + " | undefined |",
        "|---" * (len(BUDGETS) + 4) + "|",
    ]
    for family in FAMILIES.values():
        for measure in family.measures:
            repeats = given.slow_repeats if measure in SLOW else given.repeats
            lines.append(row(family.name, measure, repeats))
            print(lines[-1], flush=True)
    lines += ["", "Macro F1 of a segment: the share of runs with a value, and how many of those covered:", "",
              "| pool | segment | labels | runs | with a value | covered |", "|---" * 6 + "|"]
    for name, share, labels in SEGMENTS:
        lines.append(segment_row(name, share, labels, given.segment_repeats))
        print(lines[-1], flush=True)
    put(lines, START, END)


def put(lines: list[str], start: str, end: str) -> None:
    """Write the table between its two marks of the page."""
    before, rest = read_page(OUT).split(start)
    write_page(OUT, before + start + "\n\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
