"""Answers to several questions about one item, given together: one JSON object, question -> answer.

What is not answered is not in it.  Nothing answered is no answer: who cannot say anything skips the item.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.annotators.agreement import Agreement
from assay.evalcore.annotators.answers import AnswerKind, Answers, RuleName
from assay.evalcore.json_values import Json
from assay.evalcore.outcomes.base import UNANSWERED
from assay.evalcore.outcomes.questions import Packing


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswers(AnswerKind):
    """An answer to each question, or to some; each is decided by itself, as its own kind is."""

    each: Mapping[str, AnswerKind]      # by question, in order
    packing: Packing
    asks: Mapping[str, str]             # question -> what people are asked, where that is said

    rules: ClassVar[tuple[RuleName, ...]] = ("majority",)

    @property
    def questions(self) -> Mapping[str, AnswerKind]:
        """The questions by name, each with the kind of answer that it takes."""
        return self.each

    @property
    def wanted(self) -> str:
        """What people may answer to each question, for a sentence, separated by semicolons."""
        return "; ".join(f"{name}: {kind.wanted}" for name, kind in self.each.items())

    def joint_answer(self, texts: Mapping[str, str | None], *, spelled: bool = False) -> str | None:
        """The answers in their fixed spelling; None where one of them is none, or all are missing.

        texts: question -> what somebody wrote; None, or an empty text that means nothing: not answered;
        spelled: as files of known labels write it.
        """
        codes: dict[str, float] = {}
        for name, text in texts.items():
            kind = self.each.get(name)
            if kind is None:
                return None
            written = kind.empty if spelled and text is not None and not text.strip() else text
            if written is None or not written.strip():
                continue
            answer = kind.spelled(written) if spelled else kind.meaning(written)
            if answer is None:
                return None
            codes[name] = kind.code(answer)
        return self.text(self._packed(codes)) if codes else None

    def by_question(self, answer: str) -> dict[str, str]:
        """Question -> answer, of those that were answered; answer: in its fixed spelling."""
        answers: dict[str, str] = json.loads(answer)
        return answers

    def meaning(self, text: str) -> str | None:
        """The answers of a JSON object; None where it is none."""
        return self._of_json(text, spelled=False)

    def spelled(self, text: str) -> str | None:
        """The answers in their fixed spelling that a JSON object in a file means, or None where it is no
        answer; each question's own spellings for files hold."""
        return self._of_json(text, spelled=True)

    def code(self, answer: str) -> float:
        """The code of the answers to all questions, one whole number below 2^53. Raises KeyError for a
        question that there is none of."""
        return self._packed({name: self.each[name].code(a) for name, a in self.by_question(answer).items()})

    def text(self, code: float) -> str:
        """The JSON object of this code, question by question, without the questions that were not answered.
        The inverse of `code`, in fixed spelling."""
        codes = self.packing.unpack(np.array([code], np.float64))[0].tolist()
        return json.dumps({
            name: kind.text(answer_code) for (name, kind),
            answer_code in zip(self.each.items(), codes, strict=True)
            if answer_code > UNANSWERED
        }, ensure_ascii=False)

    def joined(self, votes: Mapping[str, int], rule: RuleName) -> str | None:
        """Each question by those who answered it; None where one of them is tied. An object in JSON, question
        by question."""
        by_question: dict[str, dict[str, int]] = {}
        for answer, people in votes.items():
            for name, answer_to_question in self.by_question(answer).items():
                counts = by_question.setdefault(name, {})
                counts[answer_to_question] = counts.get(answer_to_question, 0) + people
        made = {
            name: self.each[name].joined(counts, self.each[name].rules[0])
            for name, counts in by_question.items()
        }
        return None if None in made.values() else self.joint_answer(made)

    def agreements(self, answers: Answers, confidence: float, rng: np.random.Generator) -> list[Agreement]:
        """Always empty: each question has an agreement of its own."""
        return []

    def numbering(self, answers: Collection[str]) -> Mapping[str, int]:
        """Each of these answers by its place in the order of the codes, from 0 on. Equal answers have equal
        codes. Raises KeyError for a question that there is none of."""
        return {answer: n for n, answer in enumerate(sorted(set(answers), key=self.code))}

    def erring(self, truth: str, size: float, rng: np.random.Generator) -> str:
        """Every answer that is one of several names errs with this chance; numbers are as they are. All
        chance comes from `rng`. The truth comes back where nothing else is left."""
        with_errors = {
            name: self.each[name].erring(right_answer, size, rng)
            if self.each[name].errs_by == self.errs_by
            else right_answer
            for name, right_answer in self.by_question(truth).items()
        }
        return self.joint_answer(dict(with_errors)) or truth

    def _packed(self, codes: Mapping[str, float]) -> float:
        row = [codes.get(name, UNANSWERED) for name in self.each]
        return float(self.packing.pack(np.array([row], np.float64))[0])

    def _of_json(self, text: str, *, spelled: bool) -> str | None:
        try:
            parsed: Json = json.loads(text)
        except ValueError:
            return None
        if not isinstance(parsed, dict):
            return None
        written = {str(name): _as_text(value) for name, value in parsed.items()}
        return self.joint_answer(written, spelled=spelled)


def _as_text(value: object) -> str | None:
    """What somebody gave as text: of a list its entries joined by bars, of nothing None."""
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case list():
            return "|".join(map(str, value)) or "none"
        case float() if value.is_integer():
            return f"{value:g}"
        case _:
            return str(value)
