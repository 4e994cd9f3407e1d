"""How one simulated person errs."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from assay.evalcore.annotators.answers import AnswerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedErrors:
    """By truth where that is said, else all of one size."""

    size: float = 0.0   # see AnswerKind.erring
    # truth -> wrong answer -> its chance
    by_truth: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def says(answers: AnswerKind, errors: SimulatedErrors, truth: str, rng: np.random.Generator) -> str:
    """What this person answers."""
    if truth not in errors.by_truth:
        return answers.erring(truth, errors.size, rng)
    wrong = errors.by_truth[truth]
    place = bisect_right(list(accumulate(wrong.values())), rng.random())
    return [*wrong, truth][place]
