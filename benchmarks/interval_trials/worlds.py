"""Worlds drawn from the label model, in which the same labels are asked for again (prepivoting, Beran 1987).

A world is a draw of the rates from the posterior with its heavier tail, every configuration at its posterior
weight, broken ones included.  It keeps the labels found so far and draws those of all other items.  Then each
round is drawn anew: as many items of each cell as there were, with the plan and the weights that it had.  (To
plan anew in every world would cost a hundred times as much.)

    B   worlds;  C   cells
"""

from dataclasses import replace

import numpy as np

from assay.evalcore.design.round import RoundLabels
from assay.evalcore.measures import totals
from assay.evalcore.recalibration.evidence import Evidence
from assay.evalcore.recalibration.label_model import Fit, fit
from assay.evalcore.recalibration.posterior import Posterior
from assay.evalcore.recalibration.sequential import RoundSums
from assay.evalcore.types import Floats, Ints
from benchmarks.interval_trials.label_sets import Look
from benchmarks.interval_trials.view import View, joined, view_of

AT_ONCE = 4          # worlds whose draws are held together
DRAWS = 300          # of a report in a world


def worlds_of(
    look: Look, r: int, e: Evidence, post: Posterior, n_worlds: int, rng: np.random.Generator
) -> tuple[Floats, View]:
    """The truth (B,) of each world, and what repeat r would have said in it.

    e, post: of repeat r alone.
    """
    chosen = rng.choice(post.weight.shape[1], n_worlds, p=post.weight[0])
    found = e.k[0] + rng.binomial(e.left[0].astype(np.int64), post.rate[0, chosen])     # (B, C)
    predicted = e.model.shape.predicted
    by_prediction = totals.by_prediction(found, predicted)
    items = np.broadcast_to(totals.by_prediction(e.n + e.left, predicted), by_prediction.shape)
    measure = look.state.measures[0]
    truth = totals.value(measure, by_prediction[:, 1], by_prediction[:, 0], items)
    again = _labelled_again(look, r, e, found.astype(np.int64), rng)
    parts = [
        view_of(again.rows(slice(at, at + AT_ONCE)), measure, 0, DRAWS, rng, profiled=False)[0]
        for at in range(0, n_worlds, AT_ONCE)
    ]
    return truth, joined(parts)


def _labelled_again(
    look: Look, r: int, e: Evidence, positives: Ints, rng: np.random.Generator
) -> Evidence:
    """The evidence in each world; positives (B, C) in the pool."""
    n_worlds = len(positives)
    cells = look.state.cells
    labelled = np.zeros((n_worlds, cells.n_cells, 2), np.int64)
    sums = RoundSums.none(n_worlds, 1, cells.n_cells)
    nothing = np.zeros((n_worlds, cells.n_cells), np.int64)
    for one in look.rounds:
        drawn = one.labels.new[r].sum(axis=1)
        new = np.zeros_like(labelled)
        for c in np.flatnonzero(drawn):
            good = positives[:, c] - labelled[:, c, 1]
            bad = cells.size[c] - labelled[:, c].sum(axis=1) - good
            new[:, c, 1] = rng.hypergeometric(good, bad, drawn[c])
            new[:, c, 0] = drawn[c] - new[:, c, 1]
        design = replace(
            one.design,
            **{name: getattr(one.design, name)[r : r + 1]
               for name in ("size", "left", "unlabelled", "labelled", "model", "gradient", "census")},
        )
        labels = RoundLabels(new=new, drawn_new=new, drawn_known=np.zeros_like(new))
        sums = sums.add(cells, look.state.measures[:1], labelled, nothing, design, labels, nothing)
        labelled = labelled + new
    n, k = labelled.sum(axis=2).astype(np.float64), labelled[..., 1].astype(np.float64)
    start = np.broadcast_to(e.fit.coefficients, (n_worlds, *e.fit.coefficients.shape[1:]))
    fits = [
        fit(e.model, n[at : at + AT_ONCE], k[at : at + AT_ONCE], start[at : at + AT_ONCE])
        for at in range(0, n_worlds, AT_ONCE)
    ]
    return Evidence(
        model=e.model, fit=Fit.join(fits), n=n, k=k,
        left=np.broadcast_to(e.left, n.shape), sums=sums,
    )
