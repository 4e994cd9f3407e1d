"""Closed rounds of a pool small enough to work by hand: four items in two cells."""

import numpy as np

from assay.evalcore.design.round import CountedDesign, RoundPlan
from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.strata import Cells

SEGMENTS = {"region": {"north": 2, "south": 2}}


def four_items():
    """Two items predicted negative, then two predicted positive."""
    return Cells(
        stratum=np.array([0, 1]), prediction=np.array([0, 1]), size=np.array([2, 2]),
        mean_score=np.array([-1.0, 1.0]), mean_probability=np.array([0.2, 0.8]),
        log_density=np.zeros(2), n_slots=2,
    )


def a_question(name="dirichlet-tree", measures=("accuracy",), by_segment=None):
    """Of the four items."""
    return Question(
        method=method(name), cells=four_items(), measures=tuple(map(measure, measures)), confidence=0.95,
        seed=1, evaluation="by hand", by_segment=by_segment or {},
    )


def nothing_labelled(question):
    """The state before the first round."""
    return before_any_label(question)


def a_round(
    cell, label, probability=0.25, *, replacement=True, census=False, region=None, new=None, unlabelled=None,
    one_at_a_time=False,
):
    """One closed round; probability: one for all draws, or one for each; region: 0 north, 1 south."""
    cell = np.array(cell)
    chances = np.full(2, 0.25) if unlabelled is None else np.array(unlabelled)
    design = CountedDesign(
        replacement=replacement, size=np.array([[2, 2]]), left=np.array([[2, 2]]), unlabelled=chances[None],
        labelled=np.zeros((1, 2, 2)), model=np.full((1, 2), 0.5), gradient=np.ones((1, 2)),
        census=np.array([census]), stands_for=np.ones((1, 2)) if one_at_a_time else None,
    )
    n = len(cell)
    plan = RoundPlan(
        cell=cell, rank=np.arange(n), ask=np.ones(n, np.bool_),
        probability=np.broadcast_to(np.asarray(probability, np.float64), n), census=census, design=design,
    )
    return LabelledRound(
        plan=plan, items=Items(prediction=cell[:, None].astype(float)), code=np.array(label, float),
        new=np.ones(n, np.bool_) if new is None else np.array(new),
        segment={"region": np.zeros(n, np.int64) if region is None else np.array(region)},
    )
