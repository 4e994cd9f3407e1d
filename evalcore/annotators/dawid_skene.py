"""Dawid-Skene: the truth of each item and the confusion of each annotator, each from the other.

Dawid and Skene (1979), maximum likelihood by EM, with

    T_iy   chance that item i is of class y           p_y   share of class y among the items
    π_jyl  chance that annotator j answers l when the truth is y      K  classes

    (2.3)  π_jyl ∝ Σ_i T_iy [j said l of i] + prior_yl       (2.4)  p_y = Σ_i T_iy / I
    (2.5)  T_iy  ∝ p_y Π_j π_jy,l(i,j)

T begins as each item's shares of votes. Items whose truth is known (gold) keep it. To the paper's equations
a prior is added, by which an annotator of whom little is known is more often right than wrong. Without it,
somebody with three answers about a rare class would be estimated to err always or never, and would decide
other items accordingly. In simulations the prior made 0 to 4 fewer of 100 labels wrong, and never more than
0.1 more. The pseudo-answers that are wrong are shared by the K − 1 other classes.

EM runs until it converges, from one start, on arrays in the order of names: the same votes give the same
result on every machine to within rounding. Written here and not taken from a package: the usual one,
crowd-kit 1.4.2, needs half a gigabyte of libraries for language models and nine seconds to be imported, and
has no prior. Without the prior both agree (docs/annotators.md).
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.annotators.votes import UNKNOWN, Votes
from assay.evalcore.types import Floats, Ints

RIGHT, WRONG = 4.0, 1.0   # pseudo-answers of every annotator, for each true class
TIE = 1e-6                # posterior chances nearer than this decide nothing
_STEPS, _CLOSE = 2000, 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DawidSkene:
    """The result of EM."""

    truth: Floats       # (I, K) T
    prevalence: Floats  # (K,) p
    confusion: Floats   # (J, K, K) π[annotator, truth, answer]

    def decided(self) -> Ints:
        """(I,) the class each item most likely has; -1 where that is a tie."""
        second, first = np.sort(self.truth, axis=1)[:, -2:].T
        return np.where(first - second < TIE, -1, self.truth.argmax(axis=1))


def dawid_skene(
    votes: Votes, known: Ints | None = None, *, right: float = RIGHT, wrong: float = WRONG
) -> DawidSkene:
    """Fit the model.

    known (I,)    the truth of gold items, UNKNOWN for the others
    right, wrong  the prior; 0 and 0 are the paper's equations

    Items that are gold do not count in p: how many were mixed in was our choice.
    """
    n_items, n_people = len(votes.items), len(votes.annotators)
    known = np.full(n_items, UNKNOWN, np.int64) if known is None else known
    k = votes.n_classes
    prior = np.where(np.eye(k) > 0, right, wrong / (k - 1))
    gold = known != UNKNOWN
    counts = votes.counts
    truth = np.where(gold[:, None], np.eye(k)[np.maximum(known, 0)], counts / counts.sum(axis=1)[:, None])
    prevalence, confusion = np.full(k, 1 / k), np.tile(np.eye(k), (n_people, 1, 1))
    for _ in range(_STEPS):
        said = np.zeros((n_people, k, k))
        np.add.at(said.transpose(0, 2, 1), (votes.annotator, votes.label), truth[votes.item])
        said += prior
        # somebody who never met a class is as likely to call it one thing as the other
        confusion = np.where(said.sum(axis=2, keepdims=True) > 0, said, 1 / k)
        confusion = confusion / confusion.sum(axis=2, keepdims=True)
        prevalence = truth[~gold].mean(axis=0) if (~gold).any() else np.full(k, 1 / k)
        with np.errstate(divide="ignore"):
            log_truth = np.tile(np.log(prevalence), (n_items, 1))
            np.add.at(log_truth, votes.item, np.log(confusion[votes.annotator, :, votes.label]))
        log_truth -= log_truth.max(axis=1, keepdims=True)
        moved = np.exp(log_truth)
        moved /= moved.sum(axis=1, keepdims=True)
        moved[gold] = truth[gold]
        step = float(np.abs(moved - truth).max(initial=0.0))
        truth = moved
        if step < _CLOSE:
            break
    return DawidSkene(truth=truth, prevalence=prevalence, confusion=confusion)
