"""Answers that are a set of tags, the empty set included."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from assay.evalcore.annotators.adjudication import latest_answers
from assay.evalcore.annotators.agreement import Agreement, krippendorff_alpha, mean_agreement
from assay.evalcore.annotators.answers.base import AnswerKind, Answers, RuleName
from assay.evalcore.annotators.dawid_skene import dawid_skene
from assay.evalcore.annotators.votes import Place, Votes, truth_of, votes_of
from assay.evalcore.types import Bools, Ints

NONE = "none"   # how people write that an item has no tag
BAR = "|"
_PRESENT = {"no": 0, "yes": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class TagAnswers(AnswerKind):
    """Any of these tags.  Each tag is decided by itself: by most answers, or by Dawid-Skene."""

    names: tuple[str, ...]

    rules: ClassVar[tuple[RuleName, ...]] = ("majority", "dawid-skene")
    several: ClassVar[bool] = True
    empty: ClassVar[str | None] = NONE

    @property
    def choices(self) -> tuple[str, ...]:
        """The tags."""
        return self.names

    @property
    def wanted(self) -> str:
        """With how several are joined."""
        return f'all tags below that apply, joined by "{BAR}", or {NONE}'

    def meaning(self, text: str) -> str | None:
        """The tags joined by bars, in their own order; "none" for the empty set, None for an empty text."""
        if not text.strip():
            return None
        if text.strip().casefold() == NONE:
            return NONE
        found = {name.strip() for name in text.split(BAR)} - {""}
        if found - set(self.names) or not found:
            return None
        return BAR.join(name for name in self.names if name in found)

    def spelled(self, text: str) -> str | None:
        """A list of tags too, as a column of lists has it: ["a","b"]."""
        if not text.startswith("["):
            return self.meaning(text)
        try:
            listed = json.loads(text)
        except ValueError:
            return None
        return self.meaning(BAR.join(map(str, listed)) or NONE)

    def code(self, answer: str) -> int:
        """The bit mask."""
        there = set(answer.split(BAR))
        return sum(1 << k for k, name in enumerate(self.names) if name in there)

    def text(self, code: float) -> str:
        """The tags of a bit mask."""
        return BAR.join(name for k, name in enumerate(self.names) if int(code) >> k & 1) or NONE

    def joined(self, votes: Mapping[str, int], rule: RuleName) -> str | None:
        """The tags that more than half of the answers have; None where one is in just half of them."""
        people = sum(votes.values())
        if not people:
            return None
        there = np.sum([n * self._bits(answer) for answer, n in votes.items()], axis=0)
        return None if (2 * there == people).any() else self._of_bits(2 * there > people)

    def weighed(self, answers: Answers, gold: Mapping[Place, float]) -> dict[Place, str | None]:
        """Tag by tag: Dawid-Skene with two classes, there and not there."""
        places: tuple[Place, ...] = ()
        decided = []
        for k in range(len(self.names)):
            votes = self._votes(answers, k)
            known = {place: float(int(code) >> k & 1) for place, code in gold.items()}
            places = votes.items
            decided.append(dawid_skene(votes, truth_of(votes, known)).decided())
        table = np.array(decided).T
        return {
            place: None if (row < 0).any() else self._of_bits(row > 0)
            for place, row in zip(places, table, strict=True)
        }

    def agreements(self, answers: Answers, confidence: float, rng: np.random.Generator) -> list[Agreement]:
        """Krippendorff's α of each tag, and their mean."""
        found = []
        for k, name in enumerate(self.names):
            votes = self._votes(answers, k)
            if len(votes.annotators) < 2:
                return []
            found.append(replace(krippendorff_alpha(votes, confidence, rng), tag=name))
        return [mean_agreement(found), *found]

    def numbering(self, answers: Collection[str]) -> Mapping[str, int]:
        """In the order of their masks."""
        return {answer: n for n, answer in enumerate(sorted(set(answers), key=self.code))}

    def erring(self, truth: str, size: float, rng: np.random.Generator) -> str:
        """Each tag is turned over with chance `size`."""
        turned = rng.random(len(self.names)) < size
        return self._of_bits((self._bits(truth) > 0) ^ turned)

    def _bits(self, answer: str) -> Ints:
        there = set(answer.split(BAR))
        return np.array([name in there for name in self.names], np.int64)

    def _of_bits(self, bits: Bools) -> str:
        return BAR.join(name for name, there in zip(self.names, bits.tolist(), strict=True) if there) or NONE

    def _votes(self, answers: Answers, k: int) -> Votes:
        """Votes on one tag: 1 where it is in the answer."""
        return votes_of({
            number: [
                _OnTag(a.item_id, a.annotation_id, a.annotator, a.kind, self._says(a.label, k), a.updated_at)
                for several in latest_answers(of_round).values() for a in several
            ]
            for number, of_round in answers.items()
        }, _PRESENT)

    def _says(self, answer: str | None, k: int) -> str | None:
        return None if answer is None else ("yes" if self.names[k] in answer.split(BAR) else "no")


@dataclass(frozen=True, slots=True)
class _OnTag:
    """What an answer says of one tag."""

    item_id: str
    annotation_id: str
    annotator: str
    kind: Literal["label", "skip", "invalid"]
    label: str | None
    updated_at: str
