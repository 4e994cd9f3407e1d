"""Measures of rankings: items are (query, document) pairs, and `Items.rank` is where a document stands.

    precision_at_k   mean over queries of the share of relevant documents among the first k
    dcg              mean over queries of Σ gain/log2(rank + 1) over the first k (Järvelin & Kekäläinen 2002)

A query has one document at rank 1, so the pool tells how many queries there are, and each measure is a ratio
of two means over pairs of which one is known: labels of some pairs estimate it.  A query with fewer than k
documents is divided by k all the same, as trec_eval does.  The gain is the grade, or 2^grade - 1 of
`exponential_dcg`; of two classes 1 for the positive one.

nDCG is not here: it divides each query by the best order of its own documents, which is no mean over pairs,
and unknown until all documents of the query are labelled.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.by_class import quotient
from assay.evalcore.measures.measure import AskedMeasure, Loss, Margin, MeasureFamily, OutcomeMeasure
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

USUAL_K = 10   # results that count where a request does not say how many
MOST_K = 10_000   # results that a request may ask about


@dataclass(frozen=True, slots=True)
class RankedGain(Loss):
    """Gain times discount of a document among the first k; known is whether it is the first of its query."""

    along_score: ClassVar[bool] = False
    by_cluster: ClassVar[bool] = True

    k: int = USUAL_K
    gains: tuple[float, ...] = ()     # of each class
    discounted: bool = True           # else each of the first k counts 1/k

    @property
    def size(self) -> int:
        """The length d of the loss vector, 1: the discounted gain of a document. Its sum over the documents
        of a question is the question's gain."""
        return 1

    def discount(self, rank: Floats) -> Floats:
        """The factor by which the gain of a document at each rank counts, of the shape of the ranks:
        1/log2(rank + 1), or 1/k where ranks are not discounted; 0 beyond rank k."""
        gain_of_rank = 1 / np.log2(rank + 1) if self.discounted else np.full(rank.shape, 1 / self.k)
        return np.where(rank <= self.k, gain_of_rank, 0.0)

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """The discounted gain of each document, (n, 1): the expected gain of its grade, Σ_k gain_k φ_k,
        times the discount of its rank; 0 beyond rank k."""
        return np.asarray((phi @ np.array(self.gains) * self.discount(_rank(items)))[:, None])

    def known(self, items: Items) -> Floats:
        """Whether each document is the first of its query, (n, 1) of 0 and 1. As every query has one
        document at rank 1, the sum over the pool is the number of queries."""
        return np.asarray(_rank(items) == 1, np.float64)[:, None]

    def pull(self, items: Items, slope: Floats) -> Floats:
        """Coefficients of φ, (n, K) for n documents and K grades: the slope times the discount of the
        document's rank times the gain of each grade."""
        return np.asarray(slope[0] * self.discount(_rank(items))[:, None] * np.array(self.gains))

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        """An upper bound of slope·ℓ + known_slope·known for a document of each cell, (C,): that of the best
        (or, for a negative slope, worst) grade at rank 1, where the discount is largest."""
        top: Floats = np.ones(1)
        first_discount = float(self.discount(top)[0])
        ends = (0.0, *(slope[0] * gain * first_discount for gain in self.gains))
        return np.full(len(support), max(ends) + max(float(known_slope[0]), 0.0))

    def needs(self, items: Items) -> None:
        """Raises BadInput where the items have no ranks."""
        _rank(items)


def _rank(items: Items) -> Floats:
    if items.rank is None:
        raise BadInput("this measure needs the rank of each document in its query")
    return np.asarray(items.rank[:, 0], np.float64)


def _gains(request: AskedMeasure, name: str, *, exponential: bool = False) -> tuple[float, ...]:
    """Of each class.  Raises BadInput where labels say nothing of relevance."""
    kind = request.kind
    if kind.grades is not None:
        return tuple(2.0**grade - 1 if exponential else grade for grade in kind.grades)
    if kind.counted is None:
        raise BadInput(f"{name} needs labels that say how relevant a document is: {{grades: [0, 1, 2]}}, or "
                       "{positive: relevant, negative: ...}")
    return tuple(float(part == kind.counted) for part in kind.parts)


def _measure(request: AskedMeasure, loss: RankedGain, name: str, title: str, meaning: str) -> OutcomeMeasure:
    total = float(loss.discount(np.arange(1, loss.k + 1).astype(np.float64)).sum())
    low, high = min(0.0, *loss.gains) * total, max(0.0, *loss.gains) * total

    def value(risk: Floats) -> Floats:
        return quotient(risk[..., :1], risk[..., 1:2])

    def gradient(risk: Floats) -> Floats:
        return quotient(np.ones_like(risk[..., :1]), risk[..., 1:2])[..., None]

    return OutcomeMeasure(
        name=f"{name}({loss.k})", title=title.replace(" k", f" {loss.k}"),
        meaning=meaning.replace(" k ", f" {loss.k} ").replace(" k,", f" {loss.k},"),
        undefined_when="no query has a first document", bounds=(low, high), losses=(loss,), value=value,
        gradient=gradient, scale=high - low, range_of=high - low, margin=_margin,
    )


def _margin(limit: float, known_means: Floats, at_least: bool) -> Margin:
    """Of a mean over queries: Σ gain - limit · queries."""
    return Margin(constant=0.0, slope=np.ones(1), known_slope=np.full(1, -limit))


def _k(request: AskedMeasure, name: str) -> int:
    k = request.number("k", USUAL_K)
    if k != int(k) or not 1 <= k <= MOST_K:
        raise BadInput(f"k of {name} must be a whole number from 1 to {MOST_K:,}, got {k:g}")
    return int(k)


_PRECISION = "share of relevant documents among the first k, on average over queries"
_DCG = "discounted gain of the first k documents, on average over queries"


def _precision_at_k(request: AskedMeasure) -> OutcomeMeasure:
    if request.kind.grades not in (None, (0.0, 1.0)):
        raise BadInput("precision_at_k counts relevant documents, and grades do not say from which on one is "
                       "relevant; ask for dcg, or label {positive: relevant, negative: ...}, or 0 and 1")
    loss = RankedGain(
        request.kind, 0, _k(request, "precision_at_k"), _gains(request, "precision_at_k"), False
    )
    return _measure(request, loss, "precision_at_k", "Precision at k", _PRECISION)


def _dcg(request: AskedMeasure) -> OutcomeMeasure:
    loss = RankedGain(request.kind, 0, _k(request, "dcg"), _gains(request, "dcg"))
    return _measure(request, loss, "dcg", "DCG at k", _DCG)


def _exponential_dcg(request: AskedMeasure) -> OutcomeMeasure:
    gains = _gains(request, "exponential_dcg", exponential=True)
    loss = RankedGain(request.kind, 0, _k(request, "exponential_dcg"), gains)
    return _measure(request, loss, "exponential_dcg", "DCG at k, exponential gain", _DCG)


FAMILIES = tuple(
    MeasureFamily(name=name, title=title, meaning=meaning, kinds=("classes",), options=("k",),
                  needs=("rank",), one_system="is of one order of the documents",
                  make=make)
    for name, title, meaning, make in (
        ("precision_at_k", "Precision at k", _PRECISION, _precision_at_k),
        ("dcg", "DCG at k", _DCG, _dcg),
        ("exponential_dcg", "DCG at k, exponential gain", _DCG, _exponential_dcg),
    )
)
