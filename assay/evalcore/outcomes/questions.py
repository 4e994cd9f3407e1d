"""Several questions about one item, asked in one reading: an outcome is an answer to each, or to some.

A code holds the answers to all questions as one whole number below 2^53, so it goes where the code of any
outcome goes.  With c_q the answer's place among the n_q answers of question q, from 1, and 0 where nothing
was answered,

    code = Σ_q c_q Π_{p<q} (n_p + 1)

Numbers are kept to as many decimals as fit, at most MOST_DECIMALS: a number needs bounds.  An item that was
read, of which no question was answered, has code 0; people who skip an item skip all of it, which is no code.

Items have the columns of all questions side by side: predictions, probabilities and judges of the first
question, then those of the second ...  Clusters, covariates and weights are of the item.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import UNANSWERED, GuessModel, Mixture, OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

LARGEST_CODE = 2**53   # a float64 holds every whole number up to it
MOST_DECIMALS = 6   # of a number among the answers
LEAST_LEVELS = 100       # of a number, or there is no room for it
MOST_QUESTIONS = 20   # about one item


@dataclass(frozen=True, slots=True)
class AnswerPlaces:
    """The places of the answers to one question; first, decimals: of numbers, the least on the grid."""

    levels: int              # n
    first: int = 0
    decimals: int | None = None

    def places_of(self, codes: Floats) -> Floats:
        """The places of answers among the levels of their question, (n,) from 1 to `levels`: the code plus 1
        for classes, tags and the like, the nearest point of the decimal grid for numbers."""
        if self.decimals is None:
            return np.asarray(codes + 1)
        on_grid = np.rint(codes * 10**self.decimals) - self.first
        return np.asarray(np.clip(on_grid, 0, self.levels - 1) + 1)

    def codes(self, places: Floats) -> Floats:
        """The codes of the answers at these places, (n,): the inverse of `places_of`, with UNANSWERED for
        place 0. Numbers come back rounded to the grid."""
        codes = places - 1
        if self.decimals is not None:
            codes = (codes + self.first) / 10**self.decimals
        return np.where(places > 0, codes, UNANSWERED)


@dataclass(frozen=True, slots=True)
class Packing:
    """How the answers to several questions are packed into one whole number below 2^53, and unpacked: code =
    Σ_q c_q Π_{p<q} (n_p + 1), with c_q the place of the answer among the n_q answers of question q."""

    places: tuple[AnswerPlaces, ...]

    def pack(self, codes: Floats) -> Floats:
        """(n,) of the codes (n, K) of each question's answer; UNANSWERED where there is none. n counts items
        and K questions; codes are whole numbers below 2⁵³."""
        total: Floats = np.zeros(len(codes))
        unit = 1.0
        for column, answer_places in zip(codes.T, self.places, strict=True):
            answered = column > UNANSWERED
            places = answer_places.places_of(np.where(answered, column, 0.0))
            total = total + unit * np.where(answered, places, 0.0)
            unit *= answer_places.levels + 1
        return total

    def unpack(self, code: Floats) -> Floats:
        """(n, K), the inverse of `pack`; codes that are no outcome are as they are, of every question. n
        counts items and K questions, UNANSWERED where there is no answer."""
        remaining = np.maximum(code, 0).astype(np.int64)
        columns = []
        for answer_places in self.places:
            remaining, place = np.divmod(remaining, answer_places.levels + 1)
            columns.append(np.where(code >= 0, answer_places.codes(place.astype(np.float64)), code))
        return np.stack(columns, axis=1)


def packing(kinds: Sequence[OutcomeKind]) -> Packing:
    """How the answers to questions of these kinds are one number.

    Raises BadInput for numbers without bounds, and where they do not fit.
    """
    finite = [None if kind.name == "number" else _levels(kind) for kind in kinds]
    for decimals in range(MOST_DECIMALS, -1, -1):
        places = tuple(
            _of_numbers(kind, decimals) if levels is None else AnswerPlaces(levels)
            for kind, levels in zip(kinds, finite, strict=True)
        )
        room = LARGEST_CODE
        for answer_places in places:
            room //= answer_places.levels + 1
        small = any(
            answer_places.decimals is not None and answer_places.levels < LEAST_LEVELS
            for answer_places in places
        )
        if room >= 1 and not (small and decimals < MOST_DECIMALS):
            return Packing(places)
    raise BadInput("the answers to all questions are kept as one number of 53 bits, and these are more: ask "
                   "fewer questions at once, about fewer tags or classes, or numbers between nearer bounds")


def _levels(kind: OutcomeKind) -> int:
    return int(len(kind.parts) if kind.one_of_parts else 2**kind.width)


def _of_numbers(kind: OutcomeKind, decimals: int) -> AnswerPlaces:
    low, high = kind.value_range
    if not np.isfinite([low, high]).all():
        raise BadInput("a number among several questions needs both bounds: {number: {min: 0, max: 100}}")
    lowest, highest = int(np.ceil(low * 10**decimals - 1e-9)), int(np.floor(high * 10**decimals + 1e-9))
    return AnswerPlaces(highest - lowest + 1, lowest, decimals)


@dataclass(frozen=True, slots=True)
class OneQuestion:
    """One of several questions, and which columns the pool has for it."""

    name: str
    kind: OutcomeKind
    predicts: bool = False
    probabilities: bool = False
    judges: int = 0


@dataclass(frozen=True)
class SeveralQuestions(OutcomeKind):
    """The kind of outcome of an item that is asked several questions in one reading: an outcome is an answer
    to each question, or to some. Each question has a kind of its own, with its own guesses and label
    model."""

    each: tuple[OneQuestion, ...]

    name: ClassVar[str] = "questions"
    label_model: ClassVar[GuessModel] = Mixture()    # of each question its own kind's

    def __post_init__(self) -> None:
        names = [question.name for question in self.each]
        if not 2 <= len(names) <= MOST_QUESTIONS or len(set(names)) < len(names):
            raise BadInput(f"name 2 to {MOST_QUESTIONS} different questions, got {names}")

    @cached_property
    def packing(self) -> Packing:
        """How the answers to all questions are packed into one code, made of the kinds of the questions.
        Raises BadInput where they do not fit into one number."""
        return packing([question.kind for question in self.each])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the questions, in their order."""
        return tuple(question.name for question in self.each)

    @property
    def width(self) -> int:
        """The length P of φ(y): the sum of the lengths of all questions."""
        return sum(question.kind.width for question in self.each)

    @property
    def parts(self) -> tuple[str, ...]:
        """Always empty: the questions have no classes or tags in common."""
        return ()

    def question(self, name: str) -> OneQuestion:
        """The one of this name.  Raises BadInput where there is none."""
        for question in self.each:
            if question.name == name:
                return question
        raise BadInput(f"{name!r} is none of the questions {', '.join(self.names)}")

    def view(self, number: int, items: Items) -> Items:
        """What the pool says of the items for one of the questions."""
        question, before = self.each[number], self.each[:number]
        p = sum(earlier.predicts for earlier in before)
        k = sum(earlier.kind.width for earlier in before if earlier.probabilities)
        j = sum(earlier.judges for earlier in before)
        probability = items.probability if question.probabilities else None
        judge = items.judge if question.judges else None
        return Items(
            prediction=items.prediction[:, p : p + int(question.predicts)],
            probability=None if probability is None else probability[:, k : k + question.kind.width],
            judge=None if judge is None else judge[:, j : j + question.judges],
            covariate=items.covariate, cluster=items.cluster, weight=items.weight,
            stratum=items.stratum,
        )

    def check(self, items: Items) -> None:
        """Raises BadInput where a question's columns cannot be of its kind."""
        for number, question in enumerate(self.each):
            question.kind.check(self.view(number, items))

    def encode(self, answers: list[str]) -> Floats:
        """Raises BadInput: answers to several questions are in columns of their own."""
        raise BadInput("answers to several questions are in a column for each")

    def decode(self, code: float) -> str:
        """The answers as text, "question: answer" for each question that was answered, separated by
        semicolons. For people; programs read the answers question by question."""
        codes = self.packing.unpack(np.array([code]))[0]
        return "; ".join(
            f"{question.name}: {question.kind.decode(y)}"
            for question, y in zip(self.each, codes.tolist(), strict=True) if y > UNANSWERED
        )

    def phi(self, codes: Floats) -> Floats:
        """φ (n, P) of all questions, 0 of one without an answer."""
        columns = self.packing.unpack(np.asarray(codes, np.float64)).T
        return np.concatenate([
            np.where((column > UNANSWERED)[:, None], question.kind.phi(np.maximum(column, -1e300)), 0.0)
            for question, column in zip(self.each, columns, strict=True)
        ], axis=1)

    def nearest(self, phi: Floats) -> Floats:
        """The codes of the nearest outcomes, (n,) for φ (n, P): each question's nearest answer by its own
        columns of φ, packed into one code."""
        at, nearest_codes = 0, []
        for question in self.each:
            nearest_codes.append(question.kind.nearest(phi[:, at : at + question.kind.width]))
            at += question.kind.width
        return self.packing.pack(np.stack(nearest_codes, axis=1))

    def guesses(self, items: Items) -> Floats:
        """Nothing: raises ValueError, because every question has guesses of its own."""
        raise ValueError("each of several questions has guesses of its own")

    def first_weights(self, items: Items) -> Floats:
        """Nothing: raises ValueError, because the guesses and their first weights belong to each question.
        Whoever estimates asks the kind of each question."""
        raise ValueError("each of several questions has guesses of its own")

    def variance(self, pull: Floats, phi: Floats) -> Floats:
        """Nothing: raises ValueError, because outcomes and their variance belong to each question."""
        raise ValueError("each of several questions has outcomes of its own")

    def expected(self, phi: Floats, function: Callable[[Floats], Floats]) -> Floats:
        """Nothing: raises BadInput, because the answers to several questions have no numeric value together.
        Whoever estimates asks the kind of each question."""
        raise BadInput("answers to several questions have no numeric value together")

    def prediction_support(self, codes: Floats) -> Floats:
        """An array without columns, (n, 0): what is predicted is a matter of each question, and nothing is
        common to them. n counts the codes."""
        return np.zeros((len(codes), 0))
