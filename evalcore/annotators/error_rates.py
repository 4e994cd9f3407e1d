"""How often each annotator errs, as draws from a posterior.

    e_j0   chance that annotator j calls a negative positive (a false positive)
    e_j1   chance that annotator j calls a positive negative (a miss)

There are two sources: gold items, whose truth is known, and items that several people answered. The model
is that of Dawid and Skene, with Jeffreys priors Beta(1/2, 1/2) on every e, a share of positives for items
predicted negative and another for items predicted positive (two groups with different shares identify the
error rates of even two annotators; Hui and Walter 1980), and e_j0 + e_j1 < 1: nobody is worse than
guessing. With gold alone the posterior of each e is a beta distribution. Otherwise the truth of each item
is sampled too (Gibbs).

Items answered once, gold apart, are left out: a single vote does not show whether the item or the annotator
is unusual. Annotators with neither kind of item get the draws of those who have some, of one chosen at
random in each draw. With neither kind of item at all there is no posterior.

With K > 2 classes there are too few answers to tell K error rates of a person apart, so each has one, e_j,
whatever the truth, and an error is any other class with the same chance. Its prior is Beta(1/2, 1/2) below
(K − 1)/K, which is guessing; the groups of items are those of each prediction.

Given the truth, annotators are assumed to err independently. Items that are hard for everybody violate
this, and then repeated answers make people look better than they are; gold does not.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.annotators.dawid_skene import dawid_skene
from assay.evalcore.annotators.votes import UNKNOWN, Votes
from assay.evalcore.types import Bools, Floats, Ints

DRAWS, BURN_IN = 1000, 200
_PRIOR = 0.5
_TRIES = 20   # draws with e_0 + e_1 >= 1 are made again so often; then the last good ones stay


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorRates:
    """Draws of every annotator's error rates: T = 2, by truth, of two classes; else T = 1."""

    annotators: tuple[str, ...]
    draws: Floats        # (S, J, T) e[draw, annotator, truth]
    known: frozenset[str]  # annotators with gold or shared items; the others stand in for them
    gold: bool           # gold was used
    repeated: bool       # items answered by several people were used

    def of(self, annotator: str) -> Floats:
        """(S, T) of one annotator."""
        return np.asarray(self.draws[:, self.annotators.index(annotator)])


def error_rates(
    votes: Votes, truth: Ints, group: Ints, rng: np.random.Generator
) -> ErrorRates | None:
    """Draw the posterior; None without gold answers and without items that several people answered.

    truth (I,)   of gold items 0..K-1, UNKNOWN for the others
    group (I,)   0..K-1, the item's prediction; of gold items it is not used
    """
    telling = (votes.counts.sum(axis=1) >= 2) | (truth != UNKNOWN)
    used = votes.where(telling[votes.item])
    if not len(used.item):
        return None
    met = np.unique(used.annotator)
    hidden = telling & (truth == UNKNOWN)
    if votes.n_classes > 2:
        draws = _whatever_the_truth(used, truth, group, hidden, rng)
    elif hidden.any():
        draws = _gibbs(used, truth, group, hidden, rng)
    else:
        draws = _rates(np.tile(_said(used, truth), (DRAWS, 1, 1, 1)), None, rng)
    for j in sorted(set(range(len(votes.annotators))) - set(met.tolist())):
        draws[:, j] = draws[np.arange(DRAWS), rng.choice(met, size=DRAWS)]
    return ErrorRates(
        annotators=votes.annotators,
        draws=draws,
        known=frozenset(votes.annotators[j] for j in met),
        gold=bool((telling & (truth != UNKNOWN)).any()),
        repeated=bool(hidden.any()),
    )


def _said(votes: Votes, truth: Ints) -> Floats:
    """(J, 2, 2) answers by annotator, truth and answer."""
    said = np.zeros((len(votes.annotators), 2, 2))
    np.add.at(said, (votes.annotator, truth[votes.item], votes.label), 1)
    return said


def _rates(said: Floats, before: Floats | None, rng: np.random.Generator) -> Floats:
    """Draws (..., J, 2) of the error rates given answers (..., J, 2, 2), below the line e_0 + e_1 = 1."""
    wrong = np.stack([said[..., 0, 1], said[..., 1, 0]], axis=-1)
    right = np.stack([said[..., 0, 0], said[..., 1, 1]], axis=-1)
    drawn = rng.beta(_PRIOR + wrong, _PRIOR + right)
    for _ in range(_TRIES):
        bad = drawn.sum(axis=-1) >= 1
        if not bad.any():
            return np.asarray(drawn)
        drawn[bad] = rng.beta(_PRIOR + wrong[bad], _PRIOR + right[bad])
    bad = drawn.sum(axis=-1) >= 1
    drawn[bad] = 0.49 if before is None else before[bad]
    return np.asarray(drawn)


def _gibbs(votes: Votes, truth: Ints, group: Ints, hidden: Bools, rng: np.random.Generator) -> Floats:
    """Truth given rates and rates given truth, in turn, starting from the result of EM."""
    start = dawid_skene(votes.where(np.ones(len(votes.item), np.bool_)), truth) if _all_voted(votes) else None
    counts = votes.counts
    chance = counts[:, 1] / np.maximum(counts.sum(axis=1), 1) if start is None else start.truth[:, 1]
    z = np.where(truth != UNKNOWN, truth, (chance > 0.5).astype(np.int64))
    rates = _rates(_said(votes, z), None, rng)
    kept = np.empty((DRAWS, *rates.shape))
    members = [hidden & (group == g) for g in (0, 1)]
    for s in range(DRAWS + BURN_IN):
        log_odds = np.zeros(len(truth))
        for member in members:
            share = rng.beta(_PRIOR + z[member].sum(), _PRIOR + (1 - z[member]).sum())
            log_odds[member] = np.log(share) - np.log1p(-share)
        e = np.clip(rates[votes.annotator], 1e-12, 1 - 1e-12)
        says_positive = np.log1p(-e[:, 1]) - np.log(e[:, 0])
        says_negative = np.log(e[:, 1]) - np.log1p(-e[:, 0])
        np.add.at(log_odds, votes.item, np.where(votes.label == 1, says_positive, says_negative))
        uniform = rng.random(len(truth))
        with np.errstate(over="ignore"):
            z = np.where(hidden, (uniform < 1 / (1 + np.exp(-log_odds))).astype(np.int64), z)
        rates = _rates(_said(votes, z), rates, rng)
        if s >= BURN_IN:
            kept[s - BURN_IN] = rates
    return kept


def _whatever_the_truth(
    votes: Votes, truth: Ints, group: Ints, hidden: Bools, rng: np.random.Generator
) -> Floats:
    """Draws (S, J, 1) of one error rate for each annotator: truth given rates and rates given truth."""
    n_people, k = len(votes.annotators), votes.n_classes
    z = np.where(truth != UNKNOWN, truth, votes.counts.argmax(axis=1))
    open_items = np.flatnonzero(hidden)
    place = np.cumsum(hidden) - 1
    about_open = hidden[votes.item]
    row, said = place[votes.item[about_open]], votes.label[about_open]
    who, groups = votes.annotator[about_open], group[open_items]
    kept = np.empty((DRAWS, n_people, 1))

    def votes_by_person(which: Bools) -> Floats:
        return np.bincount(votes.annotator, which, n_people).astype(np.float64)

    for s in range(DRAWS + BURN_IN):
        wrong = votes.label != z[votes.item]
        rates = _below_guessing(votes_by_person(wrong), votes_by_person(~wrong), (k - 1) / k, rng)
        if s >= BURN_IN:
            kept[s - BURN_IN, :, 0] = rates
        if not len(open_items):
            continue
        e = np.clip(rates, 1e-12, 1 - 1e-12)
        log_truth = np.empty((len(open_items), k))
        for g in np.unique(groups):
            mine = groups == g
            share = rng.dirichlet(_PRIOR + np.bincount(z[open_items[mine]], minlength=k))
            log_truth[mine] = np.log(np.maximum(share, 1e-300))
        np.add.at(log_truth, (row, said), (np.log1p(-e) - np.log(e / (k - 1)))[who])
        z[open_items] = (log_truth + rng.gumbel(size=log_truth.shape)).argmax(axis=1)
    return kept


def _below_guessing(wrong: Floats, right: Floats, most: float, rng: np.random.Generator) -> Floats:
    """Draws (J,) of error rates below `most`, from how many answers were wrong and right."""
    from scipy.stats import beta  # more than a second to import, and few evaluations need it

    lower = beta.cdf(most, _PRIOR + wrong, _PRIOR + right)
    return np.asarray(beta.ppf(rng.random(len(wrong)) * lower, _PRIOR + wrong, _PRIOR + right))


def _all_voted(votes: Votes) -> bool:
    return bool((votes.counts.sum(axis=1) > 0).all())
