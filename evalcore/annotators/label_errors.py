"""From how often people err to how often labels do, by the rule that made the labels from the answers.

    e = (e_0, e_1)   one answer's chances of a false positive and of a miss, of whoever happens to answer
    k                people per item
    asked again      an answer y that is surprising for its cell goes to a second person; a tie to a third

Under a majority of k answers, with m ~ Binomial(k, e) of them wrong and a tie decided by one person more,

    wrong = P(m > k/2) + P(m = k/2) e

When k = 1 and the answer "positive" is asked again (the other way round, exchange 0 and 1),

    truth 0   wrong = e_0 (e_0 + (1 − e_0) e_0)         the first and one of two more
    truth 1   wrong = e_1 + (1 − e_1) e_1²              a miss is not asked again; a hit may be outvoted

Dawid-Skene weighs people: for every set of people who answered together, all patterns of their answers are
decided as the fitted model would, and the chances of those decided wrongly are added up.
"""

from itertools import product

import numpy as np
from scipy.stats import binom

from evalcore.annotators.dawid_skene import DawidSkene
from evalcore.types import Bools, Floats

MOST_PEOPLE = 10   # sets of more people than this are decided by majority here: 2^10 patterns


def majority_error(e: Floats, k: int) -> Floats:
    """Chance (...) that a majority of k is wrong, each answer wrong with chance e (...)."""
    more = binom.sf(k // 2, k, e)
    if k % 2:
        return np.asarray(more)
    return np.asarray(more + binom.pmf(k // 2, k, e) * e)


def again_error(e: Floats, surprising: Bools) -> Floats:
    """Chances (..., 2) by truth for k = 1, where the answers marked (2,) are asked again; e (..., 2)."""
    wrong = np.empty_like(e)
    for truth in (0, 1):
        p = e[..., truth]
        first = p * (p + (1 - p) * p) if surprising[1 - truth] else p
        outvoted = (1 - p) * p**2 if surprising[truth] else 0.0
        wrong[..., truth] = first + outvoted
    return wrong


def weighed_error(e: Floats, people: list[int], fitted: DawidSkene) -> Floats:
    """Chances (S, 2) by truth that Dawid-Skene decides wrongly among these people; e (S, J, 2).

    A tie, which one person more decides, is taken as half wrong.
    """
    if len(people) > MOST_PEOPLE:
        return majority_error(e[:, people].mean(axis=1), len(people))
    log_share = np.log(np.maximum(fitted.prevalence, 1e-300))
    wrong = np.zeros((len(e), 2))
    for pattern in product((0, 1), repeat=len(people)):
        said = np.array(pattern)
        with np.errstate(divide="ignore"):
            score = log_share + np.log(fitted.confusion[people, :, said]).sum(axis=0)
        gap = score[1] - score[0]
        for truth in (0, 1):
            missed = 0.5 if abs(gap) < 1e-6 else float((gap > 0) != bool(truth))
            if missed:
                error = e[:, people, truth]
                wrong[:, truth] += missed * np.where(said == truth, 1 - error, error).prod(axis=1)
    return wrong
