"""Labels that say which of two answers is better.

The two names are columns of the pool that hold the answers. People see them side by side, as A and B, in an
order that is drawn for each item; what they say is turned back into these names (`assay.tasks.desks.blind`).
"""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, Strict, model_validator

from assay.evalcore.annotators.answers.classes import ClassAnswers
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.preferences import preferences
from assay.tasks.schema import wrong
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.labels.names import ClassName, look_different, several

TIE = "tie"


class PreferenceLabels(LabelsForm):
    """The first answer, the second, or a tie."""

    task: ClassVar[str] = "preference"
    one_system: ClassVar[str | None] = (
        "are not for preferences: the labels themselves compare the two answers, and `win_rate` says how; "
        "name one `prediction` or a `judge`"
    )

    prefer: Annotated[
        tuple[ClassName, ...], Strict(False), several(2, 2), AfterValidator(look_different)
    ] = Field(description="the columns of the two answers, which are the names of the outcomes")
    tie: bool = Field(default=True, description="whether people may say that neither is better")

    @model_validator(mode="after")
    def _no_answer_is_a_tie(self) -> "PreferenceLabels":
        if self.tie and TIE in (name.casefold() for name in self.prefer):
            raise wrong(f"calls an answer {TIE!r}, as a tie is called; give the column another name")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The first, the second, and the tie."""
        return (*self.prefer, TIE) if self.tie else self.prefer

    @property
    def said(self) -> str:
        """The two."""
        return f"which is better, {self.prefer[0]!r} or {self.prefer[1]!r}"

    @property
    def answers(self) -> ClassAnswers:
        """One of these."""
        return ClassAnswers(codes=self.codes)

    @property
    def outcome(self) -> OutcomeKind | None:
        """A win, a loss or a tie of the first."""
        first, second = self.prefer
        return preferences(first, second, TIE if self.tie else None)

    @property
    def two_answers(self) -> tuple[str, str] | None:
        """The two columns."""
        first, second = self.prefer
        return first, second
