"""How often the intervals of `recalibrated` cover on generated pools.

`python -m benchmarks.outcome_coverage` rewrites the tables of docs/measured/outcome-coverage.md between its
lines START and END.  The families are `replay.families`: rare classes, wrong predictions, constant judges and
heavy tails are among them.  A value that is undefined counts as not covered.
"""

import argparse
from pathlib import Path

import numpy as np

from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.replay.families import OUTCOME_FAMILIES as FAMILIES
from assay.evalcore.replay.families import outcome_family_pool as pool
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream
from assay.evalcore.weighted.estimate import Labelled, weighted_estimates
from assay.evalcore.weighted.sample import weighted_sample

START = "<!-- coverage: made by python -m benchmarks.outcome_coverage -->"
END = "<!-- end of coverage -->"
OUT = Path(__file__).parent.parent / "docs" / "measured" / "outcome-coverage.md"
BUDGETS = (50, 100, 200, 500, 1000)
# measures of many classes or tags take long
SLOW = ("macro_f1", "micro_f1")
# family, share of the pool that is in the segment, labels of the whole pool
SEGMENTS = (("calibrated", 0.25, 300), ("over-confident", 0.25, 300), ("rare", 0.5, 500))


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
    given = parser.parse_args()
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
    before, rest = OUT.read_text(encoding="utf-8").split(START)
    OUT.write_text(before + START + "\n\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1],
                   encoding="utf-8")


if __name__ == "__main__":
    main()
