"""How often labels are wrong, from how often people err and the rule that made labels of their answers.

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

from collections.abc import Mapping
from itertools import product

import numpy as np

from assay.evalcore.annotators.dawid_skene import DawidSkene
from assay.evalcore.types import Bools, Floats, Ints

MOST_PEOPLE = 10   # sets of more people than this are decided by majority here: 2^10 patterns


def majority_error(e: Floats, k: int) -> Floats:
    """Chance (...) that a majority of k is wrong, each answer wrong with chance e (...)."""
    from scipy.stats import binom  # most of a second to import, and few evaluations need it

    more = binom.sf(k // 2, k, e)
    if k % 2:
        return np.asarray(more)
    return np.asarray(more + binom.pmf(k // 2, k, e) * e)


def again_error(e: Floats, surprising: Bools) -> Floats:
    """Chances (..., 2) by truth for k = 1; surprising (2,): which answers are asked again; e (..., 2) by
    truth."""
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


def label_errors(
    rates: Floats, share: Floats, *, annotators: int, teams: Mapping[tuple[int, ...], int] | None = None,
    fitted: DawidSkene | None = None, again: Floats | None = None,
) -> Floats:
    """Draws (S, 2, 2) of ε[prediction, truth], the chance that a label is wrong.

    rates (S, J, 2)    error rates of the annotators        share (J,)  their shares of the answers
    teams, fitted      sets of people -> items they answered together: the rule is Dawid-Skene
    again (2, 2, 4)    [prediction, truth]: shares of the pool where no answer, "negative", "positive" or both
                       are asked again; with k = 1
    """
    e = np.einsum("sjt,j->st", rates, share / share.sum())
    if fitted is not None and teams:
        weighed = [n * weighed_error(rates, list(team), fitted) for team, n in teams.items()]
        e = np.sum(weighed, axis=0) / sum(teams.values())
    elif annotators > 1:
        e = majority_error(e, annotators)
    elif again is not None:
        patterns = np.array([[False, False], [True, False], [False, True], [True, True]])
        each = np.stack([again_error(e, pattern) for pattern in patterns], axis=-1)   # (S, truth, 4)
        return np.asarray(np.einsum("ftp,stp->sft", again, each))
    return np.asarray(np.repeat(e[:, None, :], 2, axis=1))


def shares_asked_again(
    prediction: Ints, positive: Floats, weight: Floats, again: Bools
) -> Floats:
    """(2, 2, 4) for `label_errors`, from the draws that asked somebody.

    prediction (T,) · positive (T,) the label model's chance of a positive · weight (T,) items it stands for ·
    again (T, 2) the answers that are asked again
    """
    table = np.zeros((2, 2, 4))
    pattern = again[:, 0] + 2 * again[:, 1]
    for truth, chance in ((0, 1 - positive), (1, positive)):
        np.add.at(table[:, truth], (prediction, pattern), weight * chance)
    total = table.sum(axis=2, keepdims=True)
    table[..., 0] += np.where(total[..., 0] > 0, 0.0, 1.0)   # nothing was asked there: nothing asked again
    return np.asarray(table / np.where(total > 0, total, 1.0))
