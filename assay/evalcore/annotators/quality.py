"""How the people who label do after some rounds, and what their errors do to the measures.

Error rates come from gold and from items that several people answered (`error_rates`); together with the rule
that made the labels they say how often a label is wrong (`label_errors`), and that is taken out of the
measures (`correction`).  Where neither gold nor shared items exist nothing is known, and that is said.

    A   items a round asked about;  V votes;  S draws of the error rates
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.annotators.adjudication import (
    Annotation,
    Place,
    Votes,
    latest_answers,
    truth_of,
    votes_of,
)
from assay.evalcore.annotators.agreement import Agreement, Spread
from assay.evalcore.annotators.error_rates import (
    KIND,
    Corrected,
    DawidSkene,
    ErrorRates,
    corrected,
    dawid_skene,
    error_rates,
    label_errors,
    shares_asked_again,
    unknown,
)
from assay.evalcore.annotators.rules import Rule, disagreements, earlier_annotators
from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnsweredRound:
    """The items that a closed round asked about, and everybody's answers in it.

    What each person answered, counted: classes and skips, agreement with labels, gold, answers asked again.

        A   items a round asked about
        y   the class, 0..K-1
    """

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
    """An error rate, between 0 and 1: its posterior mean and its central interval."""

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
    """One person who labels: how many answers, skips and invalid answers, how often they agree with the
    labels and with gold, and their error rates where something tells of them."""

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
    """What came of surprising answers that went to a second person: how many items, how many further
    answers, and how many items ended with another label."""

    items: int
    answers: int             # beyond one per item: people's time, where the budget counts items
    overruled: int           # items that ended with another label


def numbered(labels: Sequence[str | None], numbers: Mapping[str, int]) -> Ints:
    """The numbers of A labels, (A,): −1 where there is no label."""
    return np.array([-1 if label is None else numbers[label] for label in labels], np.int64)


def classes_of(predicted: Floats | None, items: int) -> Ints:
    """(A,) codes of predicted classes; zeros where classes are not predicted."""
    return np.zeros(items, np.int64) if predicted is None else predicted.astype(np.int64)


def labels_by_place(rounds: Sequence[AnsweredRound]) -> dict[Place, int]:
    """The label of every labelled item by its place, the number of the round and the id of the item. Codes
    from 0 on; items without a label are left out."""
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
        for answers_to_item in latest_answers(r.answers).values():
            for answer in answers_to_item:
                kinds.setdefault(answer.annotator, Counter())[answer.kind] += 1
    labels = labels_by_place(rounds)
    number = {name: j for j, name in enumerate(votes.annotators)}
    intervals = {} if rates is None else {
        name: rate_intervals(rates.drawn_rates(name), confidence) for name in sorted(rates.known)
    }
    return tuple(
        Person(
            annotator=name,
            answers=kinds[name]["label"],
            skips=kinds[name]["skip"],
            invalid=kinds[name]["invalid"],
            labels=_agreed(votes_of_person := _votes_of(votes, number.get(name, -1)), labels),
            gold=_gold_answers(votes_of_person, gold, votes.n_classes if by_truth else 1),
            errors=_by_truth(intervals.get(name, ())),
            wrong=_whatever_the_truth(intervals.get(name, ())),
        )
        for name in sorted(kinds)
    )


def gold_tally(votes: Votes, gold: Mapping[Place, int]) -> GoldTally:
    """How everybody together did on gold items: how many items, answers to them, and right answers. Gold is
    the true class by round and item."""
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
    votes_of_person = np.flatnonzero(votes.annotator == annotator)
    return [(votes.items[votes.item[v]], int(votes.label[v])) for v in votes_of_person]


def _agreed(votes_of_person: Sequence[tuple[Place, int]], labels: Mapping[Place, int]) -> AgreedLabels:
    same = [labels[place] == y for place, y in votes_of_person if place in labels]
    return AgreedLabels(items=len(same), agreed=sum(same))


def _gold_answers(
    votes_of_person: Sequence[tuple[Place, int]], gold: Mapping[Place, int], n_classes: int
) -> GoldAnswers:
    met = [(gold[place], y) for place, y in votes_of_person if place in gold]
    of_class = n_classes > 1
    answers = Counter(truth * of_class for truth, _ in met)
    wrong = Counter(truth * of_class for truth, y in met if y != truth)
    return GoldAnswers(
        answers=tuple(answers[y] for y in range(n_classes)), wrong=tuple(wrong[y] for y in range(n_classes))
    )


UNTESTED = (
    "nothing is known about annotators' errors: no gold was answered, and no item by several people; "
    "the interval takes every label for the truth"
)


NOT_CORRECTED = (
    "with other labels than a positive and a negative class people's errors are not taken out of the "
    "measures; the interval takes every label for the truth"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Correctable:
    """What errors are taken out of: the measures of two classes, as a method knows them (R = 1)."""

    method: CountingMethod[MethodState]
    state: MethodState


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelErrorIntervals:
    """How often a label is wrong, for items predicted negative and for items predicted positive, both with
    their two error rates."""

    predicted_negative: ErrorIntervals
    predicted_positive: ErrorIntervals


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """The measures of two classes with people's errors taken out: what tells of the errors, how often labels
    are wrong, and the corrected estimates; or the reason why nothing can be said."""

    interval: str                            # the kind of interval
    known_from: tuple[str, ...]              # what tells of errors: gold, repeated answers
    reason: str | None                       # why nothing can be said; None where something is
    label_errors: LabelErrorIntervals | None
    estimates: tuple[Corrected, ...]         # in the order of the measures


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """An item whose label a later fit of Dawid-Skene sees otherwise."""

    round: int
    item_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorQuality:
    """How the people who label do after the closed rounds: each person's counts and error rates, their
    agreement, gold, answers that were asked again, and the measures with people's errors taken out."""

    round: int                               # the last of them
    revision: int = 0                        # of the labels; 0: as the rounds were closed
    rule: str
    annotators_per_item: int
    people: tuple[Person, ...]
    agreement: tuple[Agreement, ...]         # none of fewer than two people
    gold: GoldTally
    asked_again: AskedAgain
    would_differ: tuple[Differing, ...] = ()  # under Dawid-Skene
    spread: Spread | None = None             # of the numbers that several people gave one item
    correction: Correction


def annotator_quality(
    rounds: Sequence[AnsweredRound], rule: Rule, measured: Correctable | None, confidence: float,
    rng: np.random.Generator, numbers: Mapping[str, int] | None = None,
) -> AnnotatorQuality:
    """After these closed rounds, at least one of them.

    rule       of the last round, with the gold of all
    measured   after these rounds, with a positive and a negative class; None: nothing is corrected
    numbers    answer -> its number, which is how the rounds have their labels; None: the codes of classes

    Costs three estimates of the method where errors are known.
    """
    kind, answers = rule.kind, {r.number: r.answers for r in rounds}
    numbers = kind.numbering(()) if numbers is None else numbers
    votes = votes_of(answers, numbers)
    gold = {place: numbers[kind.text(code)] for place, code in rule.gold.items()}
    prediction = {
        (r.number, item): f
        for r in rounds for item, f in zip(r.item_id, r.prediction.tolist(), strict=True)
    }
    group = np.array([prediction.get(place, 0) for place in votes.items], np.int64)
    truth = truth_of(votes, gold)
    rates = error_rates(votes, truth, group, rng) if kind.error_rates else None
    agreement = kind.agreements(answers, confidence, rng)
    differing: list[Differing] = []
    if rule.weighed:
        names = {number: name for name, number in numbers.items()}
        labels = {place: names[number] for place, number in labels_by_place(rounds).items()}
        differing = [
            Differing(round=number, item_id=item)
            for number, item in disagreements(kind.weighed(answers, rule.gold), labels)
        ]
    errors = None
    if rates is not None and measured is not None:
        fitted = dawid_skene(votes, truth) if rule.weighed else None
        errors = errors_of_labels(rounds, rule, votes, rates, fitted)
    return AnnotatorQuality(
        round=rounds[-1].number,
        rule=rule.name,
        annotators_per_item=rule.annotators,
        people=people(rounds, votes, gold, rates, confidence, by_truth=kind.error_rates),
        agreement=tuple(agreement),
        gold=gold_tally(votes, gold),
        asked_again=asked_again(rounds),
        would_differ=tuple(differing),
        spread=kind.spread(answers),
        correction=_correction(measured, rates, errors, confidence, rng),
    )


def nothing_known(number: int, rule: str, annotators_per_item: int) -> AnnotatorQuality:
    """After round `number` of an evaluation of which no quality was recorded: there was nothing to say. Every
    list in it is empty, and correction is refused with a reason."""
    return AnnotatorQuality(
        round=number, rule=rule, annotators_per_item=annotators_per_item, people=(), agreement=(),
        gold=GoldTally(items=0, answers=0, right=0), asked_again=AskedAgain(items=0, answers=0, overruled=0),
        correction=Correction(
            interval=KIND, known_from=(), reason=UNTESTED, label_errors=None, estimates=()
        ),
    )


def _correction(
    measured: Correctable | None, rates: ErrorRates | None, errors: Floats | None, confidence: float,
    rng: np.random.Generator,
) -> Correction:
    """errors: of `errors_of_labels`, where there is something to correct and the rates are known."""
    if measured is None:
        return Correction(
            interval=KIND, known_from=(), reason=NOT_CORRECTED, label_errors=None, estimates=()
        )
    if rates is None or errors is None:
        return Correction(
            interval=KIND, known_from=(), reason=UNTESTED, label_errors=None,
            estimates=tuple(unknown(measured.state.measures, UNTESTED)),
        )
    sources = (("gold", rates.gold), ("repeated answers", rates.repeated))
    return Correction(
        interval=KIND,
        known_from=tuple(name for name, used in sources if used),
        reason=None,
        label_errors=LabelErrorIntervals(
            predicted_negative=error_intervals(errors[:, 0], confidence),
            predicted_positive=error_intervals(errors[:, 1], confidence),
        ),
        estimates=tuple(corrected(measured.method, measured.state, errors, confidence, rng)),
    )


def errors_of_labels(
    rounds: Sequence[AnsweredRound], rule: Rule, votes: Votes, rates: ErrorRates, fitted: DawidSkene | None
) -> Floats:
    """Draws (S, 2, 2) of ε[prediction, truth] for the labels of these rounds, by the rule that made them.

    fitted: the fit that decides them, under Dawid-Skene; None under a majority.
    """
    labels, k = labels_by_place(rounds), rule.annotators
    counted = np.array([votes.items[i] in labels for i in votes.item.tolist()], np.bool_)
    share = np.bincount(votes.annotator[counted], minlength=len(votes.annotators)).astype(np.float64)
    if fitted is not None:
        teams = _teams(votes.where(counted))
        return label_errors(rates.draws, share, annotators=k, teams=teams, fitted=fitted)
    if k > 1 or not any(r.item_id for r in rounds):
        return label_errors(rates.draws, share, annotators=k)
    return label_errors(rates.draws, share, annotators=k, asked_again=_shares_asked_again(rounds, rule))


def _teams(votes: Votes) -> Counter[tuple[int, ...]]:
    """Sets of annotators -> items that just they answered."""
    members: dict[int, list[int]] = {}
    for i, j in zip(votes.item.tolist(), votes.annotator.tolist(), strict=True):
        members.setdefault(i, []).append(j)
    return Counter(tuple(sorted(team)) for team in members.values())


def _shares_asked_again(rounds: Sequence[AnsweredRound], rule: Rule) -> Floats:
    """(2, 2, 4) for `label_errors`: in which parts of the pool which answers take a second person."""
    answers = {r.number: r.answers for r in rounds}
    asked_again = []
    for r in rounds:
        earlier = earlier_annotators({n: a for n, a in answers.items() if n <= r.number}, rule.gold)
        in_force = r.again_alone or len(earlier) > 1
        asked_again += [[in_force and y in r.again.get(item, ()) for y in (0, 1)] for item in r.item_id]
    positive = np.concatenate([r.positive for r in rounds])
    return shares_asked_again(
        np.concatenate([r.prediction for r in rounds]),
        np.clip(positive, 0.0, 1.0),
        np.concatenate([r.stands_for for r in rounds]),
        np.array(asked_again, np.bool_).reshape(-1, 2),
    )
