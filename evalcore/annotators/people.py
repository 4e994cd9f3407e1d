"""What each person answered, counted: classes and skips, agreement with labels, gold, answers asked again.

    A   items a round asked about
    y   the class, 0..K-1
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.annotators.adjudication import Annotation, Place, Votes, latest_answers
from assay.evalcore.annotators.error_rates import ErrorRates
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnsweredRound:
    """The items that a closed round asked about, and everybody's answers in it."""

    number: int
    item_id: tuple[str, ...]      # A of them
    prediction: Ints              # (A,) 0..K-1; zeros where classes are not predicted
    label: Ints                   # (A,) its number, of a class its code; negative where there is no label
    positive: Floats              # (A,) of two classes, the model's chance of a positive when it was planned
    stands_for: Floats            # (A,) items of the pool that the draw stood for
    again: Mapping[str, tuple[int, ...]]   # item -> answers that take a second person
    again_alone: bool             # even while only one person is known to answer
    answers: Sequence[Annotation]          # about these items and about gold


@dataclass(frozen=True, slots=True, kw_only=True)
class RateInterval:
    """An error rate: its posterior mean and central interval."""

    mean: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorIntervals:
    """Both error rates of a person, or of the labels, with two classes."""

    false_positive: RateInterval
    miss: RateInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedLabels:
    """Labelled items that a person answered about, and how many of these answers are the label."""

    items: int
    agreed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldAnswers:
    """A person's answers to gold items, by truth: (K,) each, or (1,) where answers are not classes."""

    answers: tuple[int, ...]
    wrong: tuple[int, ...]   # of them, those that name another class


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One annotator."""

    annotator: str
    answers: int             # that are a class
    skips: int
    invalid: int             # that are no class
    labels: AgreedLabels
    gold: GoldAnswers
    errors: ErrorIntervals | None   # None: neither gold nor an item shared with others tells of them
    wrong: RateInterval | None = None   # with more than two classes, in place of `errors`


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTally:
    """Gold items mixed in, the answers to them, and how many of these are right."""

    items: int
    answers: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAgain:
    """Surprising answers that went to a second person."""

    items: int
    answers: int             # beyond one per item: people's time, where the budget counts items
    overruled: int           # items that ended with another label


def numbered(labels: Sequence[str | None], numbers: Mapping[str, int]) -> Ints:
    """(A,) the numbers of labels; -1 where there is none."""
    return np.array([-1 if label is None else numbers[label] for label in labels], np.int64)


def classes_of(predicted: Floats | None, items: int) -> Ints:
    """(A,) codes of predicted classes; zeros where classes are not predicted."""
    return np.zeros(items, np.int64) if predicted is None else predicted.astype(np.int64)


def labels_by_place(rounds: Sequence[AnsweredRound]) -> dict[Place, int]:
    """(round, item) -> label of every labelled item."""
    return {
        (r.number, item): y
        for r in rounds for item, y in zip(r.item_id, r.label.tolist(), strict=True) if y >= 0
    }


def people(
    rounds: Sequence[AnsweredRound], votes: Votes, gold: Mapping[Place, int], rates: ErrorRates | None,
    confidence: float, *, by_truth: bool = True,
) -> tuple[Person, ...]:
    """Everybody who answered anything, sorted by name; gold: (round, item) -> truth.

    by_truth: answers to gold are counted for each class by itself.
    """
    kinds: dict[str, Counter[str]] = {}
    for r in rounds:
        for several in latest_answers(r.answers).values():
            for answer in several:
                kinds.setdefault(answer.annotator, Counter())[answer.kind] += 1
    labels = labels_by_place(rounds)
    number = {name: j for j, name in enumerate(votes.annotators)}
    intervals = {} if rates is None else {
        name: rate_intervals(rates.of(name), confidence) for name in sorted(rates.known)
    }
    return tuple(
        Person(
            annotator=name,
            answers=kinds[name]["label"],
            skips=kinds[name]["skip"],
            invalid=kinds[name]["invalid"],
            labels=_agreed(own := _votes_of(votes, number.get(name, -1)), labels),
            gold=_gold_answers(own, gold, votes.n_classes if by_truth else 1),
            errors=_by_truth(intervals.get(name, ())),
            wrong=_whatever_the_truth(intervals.get(name, ())),
        )
        for name in sorted(kinds)
    )


def gold_tally(votes: Votes, gold: Mapping[Place, int]) -> GoldTally:
    """Of everybody together; gold: (round, item) -> truth."""
    right = [
        gold[votes.items[i]] == y
        for i, y in zip(votes.item.tolist(), votes.label.tolist(), strict=True) if votes.items[i] in gold
    ]
    return GoldTally(items=len(gold), answers=len(right), right=sum(right))


def asked_again(rounds: Sequence[AnsweredRound]) -> AskedAgain:
    """Over all rounds: surprising answers about which a second person was asked."""
    items = extra = overruled = 0
    for r in rounds:
        latest = latest_answers(r.answers)
        for item, label in zip(r.item_id, r.label.tolist(), strict=True):
            votes = sum(answer.kind == "label" for answer in latest.get(item, ()))
            if item in r.again and votes > 1:
                items += 1
                extra += votes - 1
                overruled += label not in r.again[item]
    return AskedAgain(items=items, answers=extra, overruled=overruled)


def error_intervals(draws: Floats, confidence: float) -> ErrorIntervals:
    """Means and central intervals of both error rates; draws (S, 2), by truth."""
    false_positive, miss = rate_intervals(draws, confidence)
    return ErrorIntervals(false_positive=false_positive, miss=miss)


def rate_intervals(draws: Floats, confidence: float) -> list[RateInterval]:
    """Mean and central interval of each error rate; draws (S, T)."""
    return [_interval(draws[:, t], confidence) for t in range(draws.shape[1])]


def _by_truth(rates: Sequence[RateInterval]) -> ErrorIntervals | None:
    return ErrorIntervals(false_positive=rates[0], miss=rates[1]) if len(rates) == 2 else None


def _whatever_the_truth(rates: Sequence[RateInterval]) -> RateInterval | None:
    return rates[0] if len(rates) == 1 else None


def _interval(draws: Floats, confidence: float) -> RateInterval:
    tail = (1 - confidence) / 2
    return RateInterval(
        mean=float(draws.mean()), lower=float(np.quantile(draws, tail)),
        upper=float(np.quantile(draws, 1 - tail)),
    )


def _votes_of(votes: Votes, annotator: int) -> list[tuple[Place, int]]:
    """The places one annotator voted on, and the votes."""
    own = np.flatnonzero(votes.annotator == annotator)
    return [(votes.items[votes.item[v]], int(votes.label[v])) for v in own]


def _agreed(own: Sequence[tuple[Place, int]], labels: Mapping[Place, int]) -> AgreedLabels:
    same = [labels[place] == y for place, y in own if place in labels]
    return AgreedLabels(items=len(same), agreed=sum(same))


def _gold_answers(
    own: Sequence[tuple[Place, int]], gold: Mapping[Place, int], n_classes: int
) -> GoldAnswers:
    met = [(gold[place], y) for place, y in own if place in gold]
    of_class = n_classes > 1
    answers = Counter(truth * of_class for truth, _ in met)
    wrong = Counter(truth * of_class for truth, y in met if y != truth)
    return GoldAnswers(
        answers=tuple(answers[y] for y in range(n_classes)), wrong=tuple(wrong[y] for y in range(n_classes))
    )
