"""How often people err, how often the labels made of their answers are wrong, and estimates without either.

    dawid_skene    the truth of items and the confusion of annotators, each from the other
    error_rates    the error rates of annotators, as draws from a posterior
    label_errors   the error rates of labels, from those and from the rule that made the labels
    corrected      measures of two classes as they would be without those errors
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import scipy

from assay.evalcore.annotators.adjudication import UNKNOWN, Votes
from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState, is_exact, known_confusion
from assay.evalcore.reproducible import OFF_TIES
from assay.evalcore.types import Bools, Floats, Ints

RIGHT, WRONG = 4.0, 1.0   # pseudo-answers of every annotator, for each true class
TIE = 1e-6                # posterior chances nearer than this decide nothing
_EM_STEPS, _CLOSE = 2000, 1e-12   # of EM at most, and the change of a truth that ends it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DawidSkene:
    """What EM found by the model of Dawid and Skene: the chance of each of K classes for I items, the share
    of the classes, and for each of J people the chance of every answer by the truth, (J, K, K).

    Dawid-Skene: the truth of each item and the confusion of each annotator, each from the other.

    Dawid and Skene (1979), maximum likelihood by EM, with

        T_iy   chance that item i is of class y           p_y   share of class y among the items
        π_jyl  chance that annotator j answers l when the truth is y      K  classes

        (2.3)  π_jyl ∝ Σ_i T_iy [j said l of i] + prior_yl       (2.4)  p_y = Σ_i T_iy / I
        (2.5)  T_iy  ∝ p_y Π_j π_jy,l(i,j)

    T begins as each item's shares of votes. Items whose truth is known (gold) keep it. To the paper's
    equations a prior is added, by which an annotator of whom little is known is more often right than wrong.
    Without it, somebody with three answers about a rare class would be estimated to err always or never, and
    would decide other items accordingly. In simulations the prior made 0 to 4 fewer of 100 labels wrong, and
    never more than 0.1 more. The pseudo-answers that are wrong are shared by the K − 1 other classes.

    EM runs until it converges, from one start, on arrays in the order of names: the same votes give the same
    result on every machine to within rounding. Written here and not taken from a package: the usual one,
    crowd-kit 1.4.2, needs half a gigabyte of libraries for language models and nine seconds to be imported,
    and has no prior. Without the prior both agree (docs/measured/annotators.md).
    """

    truth: Floats       # (I, K) T
    prevalence: Floats  # (K,) p
    confusion: Floats   # (J, K, K) π[annotator, truth, answer]

    def decided(self) -> Ints:
        """(I,) the class each item most likely has; -1 where that is a tie. I counts the items; chances that
        differ by less than TIE are tied."""
        runner_up, likeliest = np.sort(self.truth, axis=1)[:, -2:].T
        return np.where(likeliest - runner_up < TIE, -1, self.truth.argmax(axis=1))


def dawid_skene(
    votes: Votes, gold_truth: Ints | None = None, *, right: float = RIGHT, wrong: float = WRONG
) -> DawidSkene:
    """Fit the model.

    gold_truth (I,)    the truth of gold items, UNKNOWN for the others
    right, wrong  the prior; 0 and 0 are the paper's equations

    Items that are gold do not count in p: how many were mixed in was our choice.
    """
    n_items, n_people = len(votes.items), len(votes.annotators)
    gold_truth = np.full(n_items, UNKNOWN, np.int64) if gold_truth is None else gold_truth
    k = votes.n_classes
    prior = np.where(np.eye(k) > 0, right, wrong / (k - 1))
    gold = gold_truth != UNKNOWN
    counts = votes.counts
    truth = np.where(
        gold[:, None], np.eye(k)[np.maximum(gold_truth, 0)], counts / counts.sum(axis=1)[:, None]
    )
    prevalence, confusion = np.full(k, 1 / k), np.tile(np.eye(k), (n_people, 1, 1))
    for _ in range(_EM_STEPS):
        answer_counts = np.zeros((n_people, k, k))
        np.add.at(answer_counts.transpose(0, 2, 1), (votes.annotator, votes.label), truth[votes.item])
        answer_counts += prior
        # somebody who never met a class is as likely to call it one thing as the other
        confusion = np.where(answer_counts.sum(axis=2, keepdims=True) > 0, answer_counts, 1 / k)
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


ERROR_RATE_DRAWS, BURN_IN_DRAWS = 1000, 200   # of the chain: those that count, and those before them
_JEFFREYS_COUNT = 0.5   # answers of each sort that the prior counts for: that of Jeffreys
_RATE_REDRAWS = 20   # draws with e_0 + e_1 >= 1 are made again so often; then the last good ones stay


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ErrorRates:
    """Draws of every annotator's error rates: T = 2, by truth, of two classes; else T = 1.

    How often each annotator errs, as draws from a posterior.

        e_j0   chance that annotator j calls a negative positive (a false positive)
        e_j1   chance that annotator j calls a positive negative (a miss)

    There are two sources: gold items, whose truth is known, and items that several people answered. The model
    is that of Dawid and Skene, with Jeffreys priors Beta(1/2, 1/2) on every e, a share of positives for items
    predicted negative and another for items predicted positive (two groups with different shares identify the
    error rates of even two annotators; Hui and Walter 1980), and e_j0 + e_j1 < 1: nobody is worse than
    guessing. With gold alone the posterior of each e is a beta distribution. Otherwise the truth of each item
    is sampled too (Gibbs).

    Items answered once, gold apart, are left out: a single vote does not show whether the item or the
    annotator is unusual. Annotators with neither kind of item get the draws of those who have some, of one
    chosen at random in each draw. With neither kind of item at all there is no posterior.

    With K > 2 classes there are too few answers to tell K error rates of a person apart, so each has one,
    e_j, whatever the truth, and an error is any other class with the same chance. Its prior is Beta(1/2, 1/2)
    below (K − 1)/K, which is guessing; the groups of items are those of each prediction.

    Given the truth, annotators are assumed to err independently. Items that are hard for everybody violate
    this, and then repeated answers make people look better than they are; gold does not.
    """

    annotators: tuple[str, ...]
    draws: Floats        # (S, J, T) e[draw, annotator, truth]
    known: frozenset[str]  # annotators with gold or shared items; the others stand in for them
    gold: bool           # gold was used
    repeated: bool       # items answered by several people were used

    def drawn_rates(self, annotator: str) -> Floats:
        """The drawn error rates of one person, (S, T): S draws, and T = 2 by truth with two classes, else 1.
        Raises ValueError for a person of whom there are none."""
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
        draws = _rates(np.tile(_said(used, truth), (ERROR_RATE_DRAWS, 1, 1, 1)), None, rng)
    for j in sorted(set(range(len(votes.annotators))) - set(met.tolist())):
        draws[:, j] = draws[np.arange(ERROR_RATE_DRAWS), rng.choice(met, size=ERROR_RATE_DRAWS)]
    return ErrorRates(
        annotators=votes.annotators,
        draws=draws,
        known=frozenset(votes.annotators[j] for j in met),
        gold=bool((telling & (truth != UNKNOWN)).any()),
        repeated=bool(hidden.any()),
    )


def _said(votes: Votes, truth: Ints) -> Floats:
    """(J, 2, 2) answers by annotator, truth and answer."""
    pattern = 4 * votes.annotator + 2 * truth[votes.item] + votes.label
    return np.bincount(pattern, minlength=4 * len(votes.annotators)).reshape(-1, 2, 2).astype(np.float64)


def _rates(answer_counts: Floats | Ints, before: Floats | None, rng: np.random.Generator) -> Floats:
    """Draws (..., J, 2) of the error rates given answers (..., J, 2, 2), below the line e_0 + e_1 = 1."""
    wrong, right = answer_counts[..., (0, 1), (1, 0)], answer_counts[..., (0, 1), (0, 1)]
    drawn = rng.beta(_JEFFREYS_COUNT + wrong, _JEFFREYS_COUNT + right)
    for _ in range(_RATE_REDRAWS):
        bad = drawn[..., 0] + drawn[..., 1] >= 1
        if not bad.any():
            return np.asarray(drawn)
        drawn[bad] = rng.beta(_JEFFREYS_COUNT + wrong[bad], _JEFFREYS_COUNT + right[bad])
    bad = drawn[..., 0] + drawn[..., 1] >= 1
    drawn[bad] = 0.49 if before is None else before[bad]
    return np.asarray(drawn)


def _gibbs(votes: Votes, truth: Ints, group: Ints, hidden: Bools, rng: np.random.Generator) -> Floats:
    """Truth given rates and rates given truth, in turn, starting from the result of EM."""
    start = dawid_skene(votes.where(np.ones(len(votes.item), np.bool_)), truth) if _all_voted(votes) else None
    counts = votes.counts
    chance = counts[:, 1] / np.maximum(counts.sum(axis=1), 1) if start is None else start.truth[:, 1]
    z = np.where(truth != UNKNOWN, truth, (chance > 0.5 + OFF_TIES).astype(np.int64))
    rates = _rates(_said(votes, z), None, rng)
    draws = np.empty((ERROR_RATE_DRAWS, *rates.shape))
    # what no step changes: the hidden items of each group, the group of each item, the place of each vote
    members = [np.flatnonzero(hidden & (group == g)) for g in (0, 1)]
    place = np.where(hidden, group, 2)
    answer, people = 2 * votes.annotator + votes.label, len(votes.annotators)
    by_truth = 4 * votes.annotator + votes.label
    log_odds_of_share = np.zeros(3)
    with np.errstate(over="ignore"):
        for s in range(ERROR_RATE_DRAWS + BURN_IN_DRAWS):
            for g, member in enumerate(members):
                positives = np.count_nonzero(z[member])
                share = rng.beta(_JEFFREYS_COUNT + positives, _JEFFREYS_COUNT + (len(member) - positives))
                log_odds_of_share[g] = np.log(share) - np.log1p(-share)
            log_odds = log_odds_of_share[place]
            e = np.minimum(np.maximum(rates, 1e-12), 1 - 1e-12)
            right, wrong = np.log1p(-e), np.log(e)
            says = np.empty((people, 2))    # by answer
            np.subtract(wrong[:, 1], right[:, 0], out=says[:, 0])
            np.subtract(right[:, 1], wrong[:, 0], out=says[:, 1])
            np.add.at(log_odds, votes.item, says.ravel()[answer])
            uniform = rng.random(len(truth))
            z = np.where(hidden, uniform < 1 / (1 + np.exp(-log_odds)), z)
            answer_counts = np.bincount(by_truth + 2 * z[votes.item], minlength=4 * people)
            rates = _rates(answer_counts.reshape(-1, 2, 2), rates, rng)
            if s >= BURN_IN_DRAWS:
                draws[s - BURN_IN_DRAWS] = rates
    return draws


def _whatever_the_truth(
    votes: Votes, truth: Ints, group: Ints, hidden: Bools, rng: np.random.Generator
) -> Floats:
    """Draws (S, J, 1) of one error rate for each annotator: truth given rates and rates given truth."""
    n_people, k = len(votes.annotators), votes.n_classes
    z = np.where(truth != UNKNOWN, truth, votes.counts.argmax(axis=1))
    open_items = np.flatnonzero(hidden)
    place = np.cumsum(hidden) - 1
    about_open = hidden[votes.item]
    row, answered = place[votes.item[about_open]], votes.label[about_open]
    who, groups = votes.annotator[about_open], group[open_items]
    draws = np.empty((ERROR_RATE_DRAWS, n_people, 1))

    def votes_by_person(which: Bools) -> Floats:
        return np.bincount(votes.annotator, which, n_people).astype(np.float64)

    for s in range(ERROR_RATE_DRAWS + BURN_IN_DRAWS):
        wrong = votes.label != z[votes.item]
        rates = _below_guessing(votes_by_person(wrong), votes_by_person(~wrong), (k - 1) / k, rng)
        if s >= BURN_IN_DRAWS:
            draws[s - BURN_IN_DRAWS, :, 0] = rates
        if not len(open_items):
            continue
        e = np.clip(rates, 1e-12, 1 - 1e-12)
        log_truth = np.empty((len(open_items), k))
        for g in np.unique(groups):
            in_group = groups == g
            share = rng.dirichlet(_JEFFREYS_COUNT + np.bincount(z[open_items[in_group]], minlength=k))
            log_truth[in_group] = np.log(np.maximum(share, 1e-300))
        np.add.at(log_truth, (row, answered), (np.log1p(-e) - np.log(e / (k - 1)))[who])
        z[open_items] = (log_truth + rng.gumbel(size=log_truth.shape)).argmax(axis=1)
    return draws


def _below_guessing(wrong: Floats, right: Floats, limit: float, rng: np.random.Generator) -> Floats:
    """Draws (J,) of error rates below `limit`, from how many answers were wrong and right."""
    a, b = _JEFFREYS_COUNT + wrong, _JEFFREYS_COUNT + right
    below = scipy.special.betainc(a, b, limit)
    return np.asarray(scipy.special.betaincinv(a, b, rng.random(len(wrong)) * below))


def _all_voted(votes: Votes) -> bool:
    return bool((votes.counts.sum(axis=1) > 0).all())


MOST_PEOPLE = 10   # sets of more people than this are decided by majority here: 2^10 patterns


def majority_error(e: Floats, k: int) -> Floats:
    """Chance (...) that a majority of k is wrong, each answer wrong with chance e (...).

    How often labels are wrong, from how often people err and the rule that made labels of their answers.

        e = (e_0, e_1)   one answer's chances of a false positive and of a miss, of whoever happens to answer
        k                people per item
        asked again      an answer y that is surprising for its cell goes to a second person; a tie to a third

    Under a majority of k answers, with m ~ Binomial(k, e) of them wrong and a tie decided by one person more,

        wrong = P(m > k/2) + P(m = k/2) e

    When k = 1 and the answer "positive" is asked again (the other way round, exchange 0 and 1),

        truth 0   wrong = e_0 (e_0 + (1 − e_0) e_0)         the first and one of two more
        truth 1   wrong = e_1 + (1 − e_1) e_1²              a miss is not asked again; a hit may be outvoted

    Dawid-Skene weighs people: for every set of people who answered together, all patterns of their answers
    are decided as the fitted model would, and the chances of those decided wrongly are added up.
    """

    clear_majority = scipy.stats.binom.sf(k // 2, k, e)
    if k % 2:
        return np.asarray(clear_majority)
    return np.asarray(clear_majority + scipy.stats.binom.pmf(k // 2, k, e) * e)


def again_error(e: Floats, surprising: Bools) -> Floats:
    """Chances (..., 2) by truth for k = 1; surprising (2,): which answers are asked again; e (..., 2) by
    truth. An item is asked again where its first answer would surprise, and the second answer then decides.
    """
    wrong = np.empty_like(e)
    for truth in (0, 1):
        p = e[..., truth]
        right_at_once = p * (p + (1 - p) * p) if surprising[1 - truth] else p
        outvoted = (1 - p) * p**2 if surprising[truth] else 0.0
        wrong[..., truth] = right_at_once + outvoted
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
        answered = np.array(pattern)
        with np.errstate(divide="ignore"):
            score = log_share + np.log(fitted.confusion[people, :, answered]).sum(axis=0)
        gap = score[1] - score[0]
        for truth in (0, 1):
            missed = 0.5 if abs(gap) < 1e-6 else float((gap > 0) != bool(truth))
            if missed:
                error = e[:, people, truth]
                wrong[:, truth] += missed * np.where(answered == truth, 1 - error, error).prod(axis=1)
    return wrong


def label_errors(
    rates: Floats, share: Floats, *, annotators: int, teams: Mapping[tuple[int, ...], int] | None = None,
    fitted: DawidSkene | None = None, asked_again: Floats | None = None,
) -> Floats:
    """Draws (S, 2, 2) of ε[prediction, truth], the chance that a label is wrong.

    rates (S, J, 2)    error rates of the annotators        share (J,)  their shares of the answers
    teams, fitted      sets of people -> items they answered together: the rule is Dawid-Skene
    asked_again (2, 2, 4)    [prediction, truth]: shares of the pool where no answer, "negative", "positive"
                       or both are asked again; with k = 1
    """
    e = np.einsum("sjt,j->st", rates, share / share.sum())
    if fitted is not None and teams:
        weighed = [n * weighed_error(rates, list(team), fitted) for team, n in teams.items()]
        e = np.sum(weighed, axis=0) / sum(teams.values())
    elif annotators > 1:
        e = majority_error(e, annotators)
    elif asked_again is not None:
        patterns = np.array([[False, False], [True, False], [False, True], [True, True]])
        # (S, truth, 4)
        error_by_pattern = np.stack([again_error(e, pattern) for pattern in patterns], axis=-1)
        return np.asarray(np.einsum("ftp,stp->sft", asked_again, error_by_pattern))
    return np.asarray(np.repeat(e[:, None, :], 2, axis=1))


def shares_asked_again(
    prediction: Ints, positive: Floats, weight: Floats, asked_again: Bools
) -> Floats:
    """(2, 2, 4) for `label_errors`, from the draws that asked somebody.

    prediction (T,) · positive (T,) the label model's chance of a positive · weight (T,) items it stands for ·
    asked_again (T, 2) the answers that are asked again
    """
    table = np.zeros((2, 2, 4))
    pattern = asked_again[:, 0] + 2 * asked_again[:, 1]
    for truth, chance in ((0, 1 - positive), (1, positive)):
        np.add.at(table[:, truth], (prediction, pattern), weight * chance)
    total = table.sum(axis=2, keepdims=True)
    table[..., 0] += np.where(total[..., 0] > 0, 0.0, 1.0)   # nothing was asked there: nothing asked again
    return np.asarray(table / np.where(total > 0, total, 1.0))


KIND = "corrected for annotators' errors"
_LEAST_YOUDEN = 0.02   # 1 − ε_0 − ε_1 below this: the labels say nothing about the truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A measure with the annotators' errors taken out. None where there is no number.

    A measure with annotators' errors taken out, and an interval that allows for not knowing them exactly.

    A label is wrong with chance ε_fy, f the item's prediction and y its truth. The expected table of labels
    [prediction, label] is the true one, row by row, through

        T_f = [[1 − ε_f0, ε_f0], [ε_f1, 1 − ε_f1]]

    so the true table is estimated by T_f⁻¹ (Rogan and Gladen 1978 for a share; row by row for a measure, as
    the unbiased losses of Natarajan et al. 2013). It is unbiased wherever the estimate of the labels' table
    is, under any sampling design, and assumes that errors depend on nothing but f and y. Entries below 0 are
    set to 0.

    The error of the corrected value has three parts, each with an interval of its own around the same value:

        sampling   the method's own interval for the corrected measure, as if ε were known
        ε          central quantiles of the corrected value over draws of ε
        answers    which labels happen to be wrong: variance Σ N_fy ε_fy (1 − ε_fy) δ_f², δ what one label
                   moves

    They are independent. On each side the squares of their distances from the value are added (Zou and Donner
    2008), which keeps the asymmetry of the parts.
    """

    measure: str
    value: float | None
    lower: float | None
    upper: float | None
    undefined_reason: str | None
    sampling_width: float | None   # width of each part's interval alone
    rates_width: float | None
    answers_width: float | None


def corrected(
    method: CountingMethod[MethodState], state: MethodState, errors: Floats, confidence: float,
    rng: np.random.Generator,
) -> list[Corrected]:
    """Every measure of the state, corrected; errors (S, 2, 2): draws of ε[prediction, truth].

    state   of one live evaluation (R = 1)

    Costs three estimates of the method.
    """
    measures = state.measures
    centre = errors.mean(axis=0)
    if not (1 - centre.sum(axis=1) > _LEAST_YOUDEN).all():
        reason = "the annotators' answers do not tell the classes apart"
        return [_unknown(m, reason) for m in measures]
    informative = errors[(1 - errors.sum(axis=2) > _LEAST_YOUDEN).all(axis=1)]
    changed = replace(state, measures=tuple(corrected_measure(m, centre) for m in measures))
    estimates = method.estimate(changed, confidence, rng)
    labels = _labels_table(method, state, confidence, rng)
    complete = _complete_table(state)
    return [
        _joined(measure, None, complete, centre, informative, state.cells.n_items, confidence)
        if bool(is_exact(state, measure)[0])
        else _joined(measure, estimate, labels, centre, informative, state.cells.n_items, confidence)
        for measure, estimate in zip(measures, estimates, strict=True)
    ]


def corrected_measure(measure: Measure, errors: Floats) -> Measure:
    """The measure of the true table as a function of the table of labels; errors (2, 2): ε. Its table of
    labels is multiplied by the inverse of the error rates (Rogan & Gladen 1978)."""
    inverse = _inverses(errors[None])[0]
    flat = np.eye(4).reshape(2, 2, 4)   # the loss of an item is where it stands in the table

    def true_risk(risk: Floats) -> Floats:
        table = risk.reshape(*risk.shape[:-1], 2, 2)
        true = np.maximum(np.einsum("...fl,fly->...fy", table, inverse), 0.0)
        return np.asarray(np.einsum("...fy,fyd->...d", true, measure.loss))

    def value(risk: Floats) -> Floats:
        return measure.value(true_risk(risk))

    def gradient(risk: Floats) -> Floats:
        # ∂g/∂(table of labels) = T⁻¹ · (J·ℓ); where an entry was put to 0 its slope stays: it is not certain
        pull = measure.influence(true_risk(risk))
        return np.asarray(np.einsum("fly,...fy->...fl", inverse, pull).reshape(risk.shape))

    # entries put to 0 leave the rows' sums: a ratio of means moves with each entry as before, others may not
    monotone = None if measure.linear is None else measure.monotone
    return replace(measure, loss=flat, value=value, gradient=gradient, linear=None, monotone=monotone)


def _inverses(errors: Floats) -> Floats:
    """(S, 2 [f], 2 [label], 2 [truth]) T_f⁻¹, so that true[y] = Σ labels[l] inverse[l, y]."""
    e0, e1 = errors[..., 0], errors[..., 1]
    # labels (row vector) = true · T, so true = labels · T⁻¹
    inverse = np.stack([np.stack([1 - e1, -e0], axis=-1), np.stack([-e1, 1 - e0], axis=-1)], axis=-2)
    return np.asarray(inverse / (1 - e0 - e1)[..., None, None])


def _probe(prediction: int) -> Measure:
    """The share of the pool that is predicted so and labelled positive."""
    loss = np.zeros((2, 2, 1))
    loss[prediction, 1, 0] = 1.0
    return Measure(
        name="share",
        title="Share",
        meaning="share of the pool that is predicted so and labelled positive",
        undefined_when="the pool is empty",
        bounds=(0.0, 1.0),
        loss=loss,
        value=lambda risk: np.asarray(risk[..., 0]),
        gradient=np.ones_like,
        monotone=(1, 1),
    )


def _labels_table(
    method: CountingMethod[MethodState], state: MethodState, confidence: float, rng: np.random.Generator
) -> Floats:
    """(2, 2) the pool's table of labels as the method estimates it, as shares; its rows are known."""
    rows = np.array([state.cells.size[state.cells.prediction == f].sum() for f in (0, 1)], np.float64)
    rows /= state.cells.n_items
    positive = np.empty(2)
    for f in (0, 1):
        probing = replace(state, measures=(_probe(f),) * len(state.measures))
        share = float(method.estimate(probing, confidence, rng)[0].value[0])
        positive[f] = np.clip(np.nan_to_num(share), 0.0, rows[f])
    return np.stack([rows - positive, positive], axis=1)


def _complete_table(state: MethodState) -> Floats:
    """(2, 2) the table of labels where every label that matters is known, the others taken as negative."""
    counts = known_confusion(state)[0]
    for f in (0, 1):
        counts[f, 0] += state.left[0, state.cells.prediction == f].sum()
    return np.asarray(counts / max(counts.sum(), 1.0))


def _joined(
    measure: Measure, estimate: EstimateArrays | None, labels: Floats, centre: Floats, errors: Floats,
    n_items: int, confidence: float,
) -> Corrected:
    """The parts put together; `estimate` is the method's, None where every label that matters is known."""
    middle, spread = _values(measure, labels, centre[None]), _values(measure, labels, errors)
    lowest, highest = measure.bounds
    value = float(middle[0]) if estimate is None else float(estimate.value[0])
    if not np.isfinite(value):
        return _unknown(measure, f"with the annotators' errors taken out, {measure.undefined_when}")
    value = float(np.clip(value, lowest, highest))
    sampling = (0.0, 0.0)
    if estimate is not None:
        lower = float(np.nan_to_num(estimate.lower[0], nan=lowest))
        upper = float(np.nan_to_num(estimate.upper[0], nan=highest))
        sampling = (max(value - lower, 0.0), max(upper - value, 0.0))
    spread = spread[np.isfinite(spread)]
    tail = (1 - confidence) / 2
    if np.isfinite(middle[0]) and len(spread) >= 0.5 * len(errors):
        low, high = np.quantile(spread, [tail, 1 - tail])
        rates = (max(float(middle[0] - low), 0.0), max(float(high - middle[0]), 0.0))
    else:
        rates = (value - lowest, highest - value)

    true = np.maximum(np.einsum("fl,fly->fy", labels, _inverses(centre[None])[0]), 0.0)
    corrected = corrected_measure(measure, centre)
    slope = corrected.gradient(labels.reshape(4)).reshape(2, 2)
    per_label = slope[:, 1] - slope[:, 0]
    noise = (true * centre * (1 - centre)).sum(axis=1) @ np.nan_to_num(per_label) ** 2 / n_items
    answers = float(scipy.special.ndtri(0.5 + confidence / 2) * np.sqrt(max(noise, 0.0)))

    down, up = (float(np.sqrt(sampling[i] ** 2 + rates[i] ** 2 + answers**2)) for i in (0, 1))
    return Corrected(
        measure=measure.name,
        value=value,
        lower=max(value - down, lowest),
        upper=min(value + up, highest),
        undefined_reason=None,
        sampling_width=sum(sampling),
        rates_width=sum(rates),
        answers_width=2 * answers,
    )


def _values(measure: Measure, labels: Floats, errors: Floats) -> Floats:
    """(S,) the measure of the true table under each draw of the errors."""
    true = np.maximum(np.einsum("fl,sfly->sfy", labels, _inverses(errors)), 0.0)
    return measure.value(np.einsum("sfy,fyd->sd", true, measure.loss))


def _unknown(measure: Measure, reason: str) -> Corrected:
    return Corrected(
        measure=measure.name, value=None, lower=None, upper=None, undefined_reason=reason,
        sampling_width=None, rates_width=None, answers_width=None,
    )


def unknown(measures: Sequence[Measure], reason: str) -> list[Corrected]:
    """No corrected value for any of the measures, for one reason."""
    return [_unknown(m, reason) for m in measures]
