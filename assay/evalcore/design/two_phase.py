"""The split of an amount of money between a judge and people: double sampling with regression.

Of N items a random n' are judged at c' each, and of these a random n are labelled at c each.  With S² the
variance of the label's pull and ρ² the part of it that the judge explains, the regression estimator has

    V = S² [(1 - ρ²)/n + ρ²/n' - 1/N],        c n + c' n' = C

which is least at (Cochran 1977, section 12.7, for the optimum of double sampling with regression)

    n/n' = √((1 - ρ²) c' / (ρ² c)),           n' = C/(c' + c n/n')

and, where that is more than all N, at n' = N.  Labels alone have V = S² (1/n - 1/N) with n = C/c; the judge
is left out where that is less.

Labels alone are regressed on what costs nothing too, so that V = S² (1 - ρ²_free)(1/n - 1/N); with ρ² of all
together a judge of all N has S² (1 - ρ²)(1/n - 1/N).  The judge's gain is the squared partial correlation

    1 - (1 - ρ²)/(1 - ρ²_free) = (ρ² - ρ²_free)/(1 - ρ²_free)

and a judge that repeats what is free gains nothing.  Where n' < N the estimate is of the n' rows, what is
free of the others is not looked at, and the interval is about what the N are a sample of: it lacks the -1/N,
and so do the variances that are compared.
"""

from dataclasses import dataclass
from math import floor, inf, sqrt

from assay.evalcore.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a label and a judgement cost, in one currency: c and c'."""

    label: float
    judge: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How many items are judged, and how many of these are labelled; variance: V/S², of labels whose pull has
    a variance of 1.  judged is 0 where labels alone do better."""

    judged: int
    labels: int
    variance: float


def variance_of_split(
    labels: float, judged: float, explained: float, items: int, free: float = 0.0
) -> float:
    """V/S² of the regression estimator; judged 0: of labels alone, regressed on what is free."""
    if labels <= 0:
        return inf
    if not judged:
        return (1 - free) * (1 / labels - 1 / items)
    return (1 - explained) / labels + explained / judged - 1 / items


def split_of_money(
    money: float, prices: Prices, explained: float, items: int, free: float = 0.0
) -> Split:
    """The split of so much money that has the least variance, within so many items.

    explained, free: ρ² of all that is told of an item, and of that which costs nothing, between 0 and 1.
    Raises BadInput where the money does not pay for one label.
    """
    alone = min(floor(money / prices.label), items)
    if alone < 1:
        raise BadInput(f"budget.money: {money:g} does not pay for a label at {prices.label:g}; give more")
    splits = [Split(judged=0, labels=alone, variance=variance_of_split(alone, 0, explained, items, free))]
    if explained > free:
        ratio = min(sqrt((1 - explained) * prices.judge / (explained * prices.label)), 1.0)
        for judged in {min(floor(money / (prices.judge + prices.label * ratio)), items), items}:
            labels = min(floor((money - prices.judge * judged) / prices.label), judged)
            variance = variance_of_split(labels, judged, explained, items)
            splits.append(Split(judged=judged, labels=labels, variance=variance))
    return min(splits, key=lambda split: split.variance + (1 / items if 0 < split.judged < items else 0.0))
