"""Several answers to one item: what one of k comes to, what all of k, and how many are worth their price.

Item i was answered n_i times, c_i of them right; every answer of an item is as likely to be right as any
other.  Over all k-subsets of an item's answers, which is unbiased for k ≤ n_i,

    pass@k     1 - C(n_i - c_i, k) / C(n_i, k)                     one of k is right (Chen et al. 2021, eq. 1)
    pass^k     C(c_i, k) / C(n_i, k)                               all k are right (Yao et al. 2024, sec. 3)
    alike@k    [C(c_i, k) + C(n_i - c_i, k)] / C(n_i, k)           all k say the same
    within     c_i (n_i - c_i) / (n_i (n_i - 1))                   the variance of an item's answers

Each is the mean over items of a number between bounds, and items are what was drawn: its interval is that of
such a mean (`weighted.estimate`), for the items that these are a sample of.  Answers of one item are no
further items, however many there are.

The variance of the share right, from I items answered m times each, is (between + within / m) / I.  Where an
item costs a and an answer of it b, the fewest errors for the money come with

    m = sqrt(a / b · within / between)                             (Cochran 1977, sec. 10.6)

answers an item; `between` is the variance of the items' means less within / n (one-way analysis of variance).

    I   items
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.estimators.intervals import FEWEST
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.printed import IF_ANY
from assay.evalcore.types import Floats, Ints
from assay.evalcore.weighted.estimate import Labelled, weighted_estimates
from assay.evalcore.weighted.sample import WeightedSample

MOST_WORTH_ANSWERS = 64   # of an item, that are said to be worth their price


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatMeasure:
    """One number of repeated answers, with its interval."""

    measure: str           # pass@4, pass^4, alike@4, within
    value: float
    lower: float
    upper: float
    confidence: float
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatPrice:
    """How many answers an item are worth their price."""

    item: float            # what one more item costs
    answer: float          # what one more answer costs
    answers: int           # of each item, for the fewest errors of the share right
    variance_of_one: float    # with one answer an item, over that with so many, for the same money


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """What several answers to each item say."""

    items: int
    answers: int
    measures: tuple[RepeatMeasure, ...]
    within: float          # the mean variance of the answers of one item
    between: float         # the variance of items' chances; 0 where answers explain all of it
    share_between: float   # of the variance of one answer: between / (between + within)
    price: RepeatPrice | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnsweredItems:
    """The answers of I items; raises BadInput for counts that are none."""

    right: Ints       # (I,) c
    answers: Ints     # (I,) n

    def __post_init__(self) -> None:
        alike = len(self.right) == len(self.answers)
        if not alike or (self.right < 0).any() or (self.right > self.answers).any():
            raise BadInput("every item needs as many answers as are right, or more")
        if len(self.right) < FEWEST:
            there = plural(len(self.right), "item")
            raise BadInput(f"{there} with answers say too little of others; {FEWEST} are the fewest")


def repeated_answers(
    answered: AnsweredItems, draws: Sequence[int], confidence: float = 0.95,
    prices: tuple[float, float] | None = None,
) -> Repeats:
    """pass@k, pass^k and alike@k of each k, then within; draws: every k; prices: of an item, of an answer.

    Raises BadInput for a k that is more than the answers of some item, and for items with one answer each.
    """
    right, n = answered.right.astype(np.float64), answered.answers.astype(np.float64)
    fewest = int(n.min())
    for k in draws:
        if not 1 <= k <= fewest:
            raise BadInput(f"k = {k}: an item has {plural(fewest, 'answer')}, and every item needs k of "
                           "them, 1 or more; ask for another k, or leave out the items with fewer")
    if fewest < 2:
        raise BadInput("an item has one answer, which says nothing of how answers differ; leave such items "
                       "out")
    numbers: list[tuple[str, Floats]] = []
    for k in draws:
        none, every = subset_share(n - right, n, k), subset_share(right, n, k)
        numbers.append((f"pass@{k}", 1 - none))
        numbers += [(f"pass^{k}", every), (f"alike@{k}", none + every)] if k > 1 else []
    spread = within_items(right, n)
    measures = [_mean(name, of_item, 1.0, confidence) for name, of_item in numbers]
    within = float(spread.mean())
    between = max(float((right / n).var(ddof=1)) - float((spread / n).mean()), 0.0)
    total = between + within
    return Repeats(
        items=len(n), answers=int(n.sum()), measures=(*measures, _mean("within", spread, 0.5, confidence)),
        within=within, between=between, share_between=between / total if total > 0 else 0.0,
        price=None if prices is None else _worth(within, between, *prices),
    )


def subset_share(chosen: Floats, n: Floats, k: int) -> Floats:
    """C(chosen, k) / C(n, k): the share of the k-subsets of n answers that are all chosen; (I,) each.

    >>> subset_share(np.array([0.0, 2.0, 4.0]), np.array([4.0, 4.0, 4.0]), 2).round(4).tolist()
    [0.0, 0.1667, 1.0]
    """
    steps = np.arange(k)
    return np.asarray(np.prod(np.maximum(chosen[:, None] - steps, 0.0) / (n[:, None] - steps), axis=1))


def within_items(right: Floats, n: Floats) -> Floats:
    """(I,) the unbiased variance of each item's answers."""
    return np.asarray(right * (n - right) / (n * (n - 1)))


def _mean(name: str, numbers: Floats, highest: float, confidence: float) -> RepeatMeasure:
    """The mean of a number between 0 and `highest` of a random sample of items."""
    n = len(numbers)
    kind, ones = Numbers(0.0, highest), np.ones(n)
    sample = WeightedSample(
        cell=np.zeros(n, np.int64), rank=np.arange(n), round=np.ones(n, np.int64), draw=np.arange(n),
        label=np.clip(numbers, 0.0, highest), probability=ones, weight=ones, factor=ones * n / (n - 1),
        group=np.zeros(n, np.int64), reached=np.ones(1, np.bool_), exact=False,
    )
    of = Labelled(items=Items(prediction=np.zeros((n, 0))), among=np.ones(n, np.bool_))
    [row] = weighted_estimates(kind, [outcome_measure("mean", kind, n)], sample, of, confidence)
    lower, upper = (end if end is not None else bound for end, bound in (
        (row.lower, 0.0), (row.upper, highest)
    ))
    return RepeatMeasure(
        measure=name, value=float(numbers.mean()), lower=lower, upper=upper, confidence=confidence, items=n
    )


def _worth(within: float, between: float, item: float, answer: float) -> RepeatPrice:
    """The whole number of answers, MOST_WORTH_ANSWERS at most, with the least

        (between + within / m) (item + m answer)

    Raises BadInput for a price that is not above 0.
    """
    if not (0 <= item < np.inf and 0 < answer < np.inf):
        raise BadInput("prices: an item costs 0 or more and an answer more than 0, got "
                       f"{item:g} and {answer:g}")
    m = np.arange(1, MOST_WORTH_ANSWERS + 1)
    cost = (between + within / m) * (item + m * answer)
    best = int(np.argmax(cost <= cost.min() * (1 + 1e-9)))      # of equal ones the fewest answers
    return RepeatPrice(
        item=item, answer=answer, answers=int(m[best]),
        variance_of_one=float(cost[0] / cost[best]) if cost[best] > 0 else 1.0,
    )
