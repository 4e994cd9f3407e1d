"""What allocations can reach on real pools of classes and tags: `python -m benchmarks.outcome_oracle`.

Prints the variance of unbiased estimates under stratified sampling, over that of the reference: the geometric
mean over 50 to 500 labels, linearised at the truth.  Beside a method's own shares are Neyman's by the *true*
spread in each of its strata, which nobody knows.  With `recalibrated` spreads are those of residuals from the
best mixture of guesses, fitted to all labels.
"""

import numpy as np

from assay.evalcore.design.draws import waterfill
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.state import loss_table
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.types import Floats, Ints
from benchmarks.outcomes import BUDGETS, CASES, GEOMETRIC, Case, _stack

MEASURES = ("accuracy", "macro_f1", "micro_f1")


def pulls(pool: OutcomePool, stack: Stack) -> tuple[Floats, Floats]:
    """(N,) how each item pulls at the measure, and that less what the best mixture of guesses expects."""
    table = loss_table(stack, pool.items, pool.codes)
    weights = pool.kind.label_model.fit(
        table.gram.sum(axis=0)[None], table.cross.sum(axis=0)[None], table.square.sum(axis=0)[None],
        len(pool.codes), pool.kind.first_weights(pool.items),
    )[0, :, 0]
    risk = np.concatenate([table.loss.mean(axis=0), table.known.mean(axis=0)])
    slope = stack.slopes(risk, stack.known_sizes(pool.items))[0]
    return table.loss @ slope, (table.loss - np.einsum("b,nbd->nd", weights, table.guess)) @ slope


def variance(pull: Floats, cell: Ints, share: Floats, labels: int) -> float:
    """Of the stratified mean of pull (N,), with labels by share (C,) of the items of each cell."""
    size = np.bincount(cell)
    mean = np.bincount(cell, pull) / size
    square = np.bincount(cell, (pull - mean[cell]) ** 2) / size
    drawn = waterfill(np.maximum(share, 1e-9)[None], size[None], np.array([labels]))[0] * size
    return float((size**2 * square * np.maximum(1 / drawn - 1 / size, 0)).sum() / len(pull) ** 2)


def columns(case: Case) -> list[Floats]:
    """Variances by labels: the reference, with true shares, `recalibrated`, and it with true shares."""
    stack = _stack(case)
    plain, residual = pulls(case.pool, stack)
    found = []
    for name, pull in ((case.reference, plain), ("recalibrated", residual)):
        method = outcome_method(name)
        cut = method.cut(stack, case.pool.items)
        size = np.bincount(cut.cell)
        mean = np.bincount(cut.cell, pull) / size
        true = np.sqrt(np.bincount(cut.cell, (pull - mean[cut.cell]) ** 2) / size)
        guessed = method.share(method.start(cut.cells, stack, 1))[0]
        budgets = [b for b in BUDGETS if b <= GEOMETRIC]
        for share in (guessed, true):
            found += [np.array([variance(pull, cut.cell, share, b) for b in budgets])]
    return found


def main() -> None:
    """All real pools of classes and tags."""
    print("| pool | measure | reference | with true shares | `recalibrated` | with true shares |")
    print("|---" * 6 + "|")
    for group in ("classes", "tags"):
        for case in CASES[group]():
            if case.measure not in MEASURES:
                continue
            reference, *others = columns(case)
            ratios = [f"{np.exp(np.log(other / reference).mean()):.2f}" for other in others]
            print(f"| {case.title} | {case.measure} | {case.reference} | {' | '.join(ratios)} |", flush=True)


if __name__ == "__main__":
    main()
