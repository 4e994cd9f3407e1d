"""How far people agree beyond chance: Cohen's κ of two, Fleiss' κ and Krippendorff's α of any number.

    p_a   how often they agree       p_e   how often they would, if everybody answered blindly
    κ     (p_a − p_e) / (1 − p_e)    α     1 − D_o / D_e, the same with disagreements, corrected for small n

Cohen (1960), with the large-sample variance of Fleiss, Cohen and Everitt (1969, eq. 13); Fleiss (1971), for
items with different numbers of votes as in Gwet (2021), whose variance it gets; Krippendorff (2011), with an
interval from a bootstrap over items (Hayes and Krippendorff 2007). Items with a single vote are left out of
both; Gwet counts them in the shares of the classes, from which p_e is made.

α weighs a disagreement by its level: `nominal`, any two classes are equally far apart; `ordinal`, grades in
the order of their codes are as far apart as the answers that lie between them; `interval`, numbers
are apart by the square of their difference (`interval_alpha`).

Where everybody used one class only there is no chance to disagree, p_e = 1, and all three are undefined: that
is said, and is not agreement of 0 or of 1. On a rare class they are low even where hardly any two answers
differ; look at `agreed` beside them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import scipy

from assay.evalcore.annotators.adjudication import Votes
from assay.evalcore.types import Floats, Ints

ALPHA_BOOTSTRAPS = 1000   # resamples of the items, for the interval of Krippendorff's alpha
_ONE_CLASS = "all votes are of one class"
Level = Literal["nominal", "ordinal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One coefficient of agreement beyond chance, with its interval and the plain share of agreeing pairs;
    None where a number does not exist, with the reason. It is of all people or of two, of the whole
    answer or of one tag."""

    statistic: str                 # cohen-kappa | fleiss-kappa | krippendorff-alpha
    between: tuple[str, ...]       # the annotators compared; empty: all
    items: int                     # with at least two votes
    agreed: float | None           # share of pairs of votes on one item that are the same
    value: float | None
    lower: float | None
    upper: float | None
    interval: str                  # the kind of interval, or "none"
    undefined_reason: str | None
    tag: str | None = None         # of this tag alone; None: of the whole answer, or the mean over tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far the numbers lie apart that several people gave one item."""

    items: int        # with at least two answers
    typical: float    # standard deviation of one answer about its item's mean, pooled over items
    largest: float    # the largest difference of two answers about one item


def agreements(
    votes: Votes, confidence: float, rng: np.random.Generator, level: Level = "nominal"
) -> list[Agreement]:
    """Fleiss' κ and Krippendorff's α of all, then Cohen's κ of every two who share an item. Each has its
    value, its interval, and the items that it rests on."""
    coefficients = [fleiss_kappa(votes, confidence), krippendorff_alpha(votes, confidence, rng, level)]
    table = np.full((len(votes.annotators), len(votes.items)), -1, np.int64)
    table[votes.annotator, votes.item] = votes.label
    for a, first_annotator in enumerate(votes.annotators):
        for b in range(a + 1, len(votes.annotators)):
            both_answered = (table[a] >= 0) & (table[b] >= 0)
            if both_answered.any():
                pair = (first_annotator, votes.annotators[b])
                coefficients.append(
                    cohen_kappa(
                        table[a, both_answered], table[b, both_answered], confidence, pair, votes.n_classes
                    )
                )
    return coefficients


def cohen_kappa(
    first_answers: Ints, second_answers: Ints, confidence: float, between: tuple[str, ...] = (),
    n_classes: int = 2
) -> Agreement:
    """κ of two people's first_answers and second_answers (n,), 0..K-1, about the same n items. Cohen (1960),
    eq. 1, with the variance of Fleiss, Cohen & Everitt (1969)."""
    n = len(first_answers)
    p = np.zeros((n_classes, n_classes))
    np.add.at(p, (first_answers, second_answers), 1 / max(n, 1))
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, chance = float(np.trace(p)), float(rows @ columns)
    if n == 0 or chance >= 1 - 1e-12:
        return _undefined("cohen-kappa", n, observed if n else None, between)
    kappa = (observed - chance) / (1 - chance)
    spread = 0.0
    for i, j in np.argwhere(p > 0):
        if i == j:
            spread += p[i, i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2
        else:
            spread += p[i, j] * (1 - kappa) ** 2 * (columns[i] + rows[j]) ** 2
    spread -= (kappa - chance * (1 - kappa)) ** 2
    variance = max(spread, 0.0) / (n * (1 - chance) ** 2)
    return _with_large_sample(_defined("cohen-kappa", n, observed, kappa, between), variance, confidence)


def fleiss_kappa(votes: Votes, confidence: float) -> Agreement:
    """Fleiss' κ of all votes on items with at least two, (p_a − p_e)/(1 − p_e), with a large-sample interval
    by Gwet's variance (2021). Undefined where there is no such item, or where everybody used one class
    only."""
    counts = _pairable(votes)
    n, votes_of_item = len(counts), counts.sum(axis=1)
    if n == 0:
        return _undefined("fleiss-kappa", 0, None)
    share = counts / votes_of_item[:, None]
    agreed = (counts * (counts - 1)).sum(axis=1) / (votes_of_item * (votes_of_item - 1))
    p = share.mean(axis=0)
    observed, chance = float(agreed.mean()), float((p**2).sum())
    if chance >= 1 - 1e-12:
        return _undefined("fleiss-kappa", n, observed)
    kappa = (observed - chance) / (1 - chance)
    coefficient = _defined("fleiss-kappa", n, observed, kappa)
    if n < 2:
        return coefficient
    item_influence = (agreed - chance) / (1 - chance) - 2 * (1 - kappa) * (share @ p - chance) / (1 - chance)
    variance = float(((item_influence - kappa) ** 2).sum()) / (n * (n - 1))
    return _with_large_sample(coefficient, variance, confidence)


def krippendorff_alpha(
    votes: Votes, confidence: float, rng: np.random.Generator, level: Level = "nominal"
) -> Agreement:
    """α of all votes on items with at least two; `rng` draws the bootstrap's items. Krippendorff (2004),
    chapter 11; undefined where no item has two votes or all are alike."""
    counts = _pairable(votes)
    n = len(counts)
    if n == 0:
        return _undefined("krippendorff-alpha", 0, None)
    agreed = float(((counts * (counts - 1)).sum(axis=1) / _pairs(counts)).mean())
    return _bootstrapped(partial(_ALPHAS[level], counts), n, agreed, confidence, rng)


def _bootstrapped(
    alphas: Callable[[Ints], Floats], n: int, agreed: float, confidence: float, rng: np.random.Generator,
    undefined: str = _ONE_CLASS,
) -> Agreement:
    """α of n items, with an interval; alphas: of items drawn (B, n), (B,), NaN where it does not exist."""
    alpha = float(alphas(np.arange(n)[None])[0])
    if not np.isfinite(alpha):
        return replace(_undefined("krippendorff-alpha", n, agreed), undefined_reason=undefined)
    coefficient = _defined("krippendorff-alpha", n, agreed, alpha)
    drawn = alphas(rng.integers(n, size=(ALPHA_BOOTSTRAPS, n)))
    drawn = drawn[np.isfinite(drawn)]   # a resample of one class only has no α
    if n < 2 or len(drawn) < ALPHA_BOOTSTRAPS // 2:
        return coefficient
    tail = (1 - confidence) / 2
    lower, upper = np.quantile(drawn, [tail, 1 - tail])
    return replace(
        coefficient, lower=float(min(lower, alpha)), upper=float(max(upper, alpha)),
        interval="bootstrap over items"
    )


def interval_alpha(
    values_by_item: Sequence[Sequence[float]], confidence: float, rng: np.random.Generator
) -> Agreement:
    """α of numbers by squared distance; values_by_item: the answers about each item, of which two at least
    count. Its interval is a bootstrap over items, drawn with `rng`."""
    shared = [values for values in values_by_item if len(values) > 1]
    n = len(shared)
    if not n:
        return _undefined("krippendorff-alpha", 0, None)
    # for precision: α does not depend on it
    middle = float(np.mean([v for values in shared for v in values]))
    n_values = np.array([len(values) for values in shared], np.float64)
    sum_of_values = np.array([sum(v - middle for v in values) for values in shared])
    sum_of_squares = np.array([sum((v - middle) ** 2 for v in values) for values in shared])
    # Σ_{i≠j} (v_i - v_j)² / (m - 1) of each item
    within = 2 * (n_values * sum_of_squares - sum_of_values**2) / (n_values - 1)
    agreed = [
        sum(a == b for i, a in enumerate(values) for b in values[:i]) / (len(values) * (len(values) - 1) / 2)
        for values in shared
    ]

    def alphas(drawn: Ints) -> Floats:
        total, s1, s2 = (column[drawn].sum(axis=1) for column in (n_values, sum_of_values, sum_of_squares))
        expected = 2 * (total * s2 - s1**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = (total - 1) * within[drawn].sum(axis=1) / expected
        return np.asarray(np.where(expected > 1e-12 * np.maximum(total * s2, 1e-300), 1 - apart, np.nan))

    same = "all answers are the same number"
    return _bootstrapped(alphas, n, float(np.mean(agreed)), confidence, rng, same)


def answer_spread(values_by_item: Sequence[Sequence[float]]) -> Spread | None:
    """Of the answers about each item; None where no item has two."""
    shared = [np.array(values) for values in values_by_item if len(values) > 1]
    if not shared:
        return None
    squares = sum(float(((v - v.mean()) ** 2).sum()) for v in shared)
    return Spread(
        items=len(shared), typical=float(np.sqrt(squares / sum(len(v) - 1 for v in shared))),
        largest=max(float(v.max() - v.min()) for v in shared),
    )


def mean_agreement(of_tags: Sequence[Agreement]) -> Agreement:
    """The mean over the tags for which the coefficient exists; without an interval."""
    defined = [coefficient for coefficient in of_tags if coefficient.value is not None]
    items = max(coefficient.items for coefficient in of_tags)
    agreed = [coefficient.agreed for coefficient in of_tags if coefficient.agreed is not None]
    return Agreement(
        statistic=of_tags[0].statistic,
        between=(),
        items=items,
        agreed=float(np.mean(agreed)) if agreed else None,
        value=float(np.mean([coefficient.value for coefficient in defined if coefficient.value is not None]))
        if defined
        else None,
        lower=None,
        upper=None,
        interval="none",
        undefined_reason=None
        if defined
        else ("no tag has both kinds of answers" if items else "no item was answered by two people"),
    )


def _pairable(votes: Votes) -> Ints:
    counts = votes.counts
    return np.asarray(counts[counts.sum(axis=1) >= 2])


def _pairs(counts: Ints) -> Ints:
    n_votes = counts.sum(axis=-1)
    return np.asarray(n_votes * (n_votes - 1))


def _nominal(counts: Ints, drawn: Ints) -> Floats:
    """α (B,) of the items drawn (B, I), from votes by item and class (I, K); NaN for one class only."""
    n_votes = counts.sum(axis=1)
    apart = (n_votes**2 - (counts**2).sum(axis=1)) / (n_votes - 1)  # Σ_{c≠k} o_ck of each item
    total = np.stack([counts[items].sum(axis=0) for items in drawn])            # (B, K)
    expected = total.sum(axis=1) ** 2 - (total**2).sum(axis=1)
    return _of_disagreement(total, apart[drawn].sum(axis=1), expected.astype(np.float64))


def _ordinal(counts: Ints, drawn: Ints) -> Floats:
    """As `_nominal`, with Krippendorff's ordinal distance, which depends on how often each grade was used."""
    total = np.stack([counts[items].sum(axis=0) for items in drawn])
    crossed, expected = np.empty(len(drawn)), np.empty(len(drawn))
    for b, items in enumerate(drawn):
        votes = counts[items]
        middle = np.cumsum(total[b]) - total[b] / 2
        distance = (middle[:, None] - middle) ** 2
        coincidences = votes.T @ (votes / (votes.sum(axis=1) - 1)[:, None])
        crossed[b] = (coincidences * distance).sum()
        expected[b] = total[b] @ distance @ total[b]
    return _of_disagreement(total, crossed, expected)


def _of_disagreement(total: Ints, crossed: Floats, expected: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1 - (total.sum(axis=1) - 1) * crossed / expected, np.nan))


_ALPHAS = {"nominal": _nominal, "ordinal": _ordinal}


def _defined(
    statistic: str, items: int, agreed: float, value: float, between: tuple[str, ...] = ()
) -> Agreement:
    """Without an interval."""
    return Agreement(
        statistic=statistic, between=between, items=items, agreed=agreed, value=float(value), lower=None,
        upper=None, interval="none", undefined_reason=None,
    )


def _with_large_sample(coefficient: Agreement, variance: float, confidence: float) -> Agreement:
    """With the normal interval, unless the variance is 0: that nobody ever differed is no certainty."""
    if coefficient.value is None or variance <= 1e-15:
        return coefficient
    half = float(scipy.special.ndtri(0.5 + confidence / 2)) * float(np.sqrt(variance))
    return replace(
        coefficient, lower=max(coefficient.value - half, -1.0), upper=min(coefficient.value + half, 1.0),
        interval="large-sample",
    )


def _undefined(
    statistic: str, items: int, agreed: float | None, between: tuple[str, ...] = ()
) -> Agreement:
    reason = _ONE_CLASS if items else "no item was answered by two people"
    return Agreement(
        statistic=statistic, between=between, items=items, agreed=agreed, value=None, lower=None, upper=None,
        interval="none", undefined_reason=reason,
    )
