"""Weights of the labelled items of an evaluation of any kind of outcome: those of its method's own design."""

from collections.abc import Sequence

import numpy as np

from assay.evalcore.outcome_evaluation.state import Question, RoundPlan, State
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.codes import is_outcome
from assay.evalcore.types import Floats
from assay.evalcore.weighted.sample import WeightedSample


def weighted_outcomes(
    question: Question, state: State, rounds: Sequence[tuple[RoundPlan, Floats]]
) -> WeightedSample:
    """The labelled items of the closed rounds, each with its plan and the codes (T,) of its items.

    state: after these rounds, with a label at least.
    """
    draws = [np.flatnonzero(is_outcome(codes)) for _, codes in rounds]
    plans = [plan for plan, _ in rounds]
    found = question.method.weights(state.inner)
    return WeightedSample(
        cell=np.concatenate([plan.cell[at] for plan, at in zip(plans, draws, strict=True)]),
        rank=np.concatenate([plan.rank[at] for plan, at in zip(plans, draws, strict=True)]),
        round=np.concatenate([np.full(len(at), r) for r, at in enumerate(draws, start=1)]),
        draw=np.concatenate(draws),
        label=np.concatenate([codes[at] for (_, codes), at in zip(rounds, draws, strict=True)]),
        probability=np.concatenate([plan.probability[at] for plan, at in zip(plans, draws, strict=True)]),
        weight=found.weight, factor=found.factor, group=found.group,
        reached=question.cells.relevant, exact=state.exhausted,
    )


def every_code(kind: OutcomeKind) -> Floats:
    """(K,) the codes of all classes; one code where outcomes are no classes."""
    return np.arange(max(len(kind.parts), 1), dtype=np.float64)
