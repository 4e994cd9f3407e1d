"""Whether a row is a response, or a question with the responses of all systems."""

from collections.abc import Iterator, Mapping
from typing import Protocol

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.notes import Notes
from assay.tasks.connectors.response import Plain
from assay.tasks.connectors.responses.by_question import ByQuestion
from assay.tasks.connectors.responses.by_response import ByResponse
from assay.tasks.connectors.responses.draft import Draft
from assay.tasks.connectors.responses.spool import Spool
from assay.tasks.connectors.responses.survey import FEW, Survey
from assay.tasks.connectors.written import Layout

_NEARLY_ALL = 0.9     # questions that all systems answered


class Rows(Protocol):
    """The rows of a pool, and what to ask of them."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        ...

    def rows(self, spool: Spool) -> Iterator[Mapping[str, Plain]]:
        """All of them, in order."""
        ...

    def draft(self) -> Draft:
        """The spec to start from."""
        ...


def layout_of(layout: Layout | None, survey: Survey, notes: Notes) -> Rows:
    """As asked; where nothing was, side by side if nearly all questions are answered by all systems, and
    either the responses are choices or there are two systems.

    Raises BadInput for `questions` where systems cannot be compared so.
    """
    several, comparable = 2 <= len(survey.systems) <= FEW, survey.of_choices or len(survey.systems) == 2
    if layout == "questions":
        why = "" if several and comparable else (
            f"there are {len(survey.systems)} models, and responses that are no choices among a few; two "
            "models can be compared by question, or up to 20 that choose"
        )
        why = why or ("a model answered a question twice: import one run of it" if survey.twice else "")
        why = why or ("" if survey.shared else "no question was answered by all models")
        if why:
            raise BadInput(f"--layout questions: {why}")
        return ByQuestion(survey, notes)
    shared = survey.shared >= _NEARLY_ALL * len(survey.questions)
    if layout is None and several and comparable and shared and not survey.twice:
        notes.tell("the models are compared question by question; for a row a response: --layout responses")
        return ByQuestion(survey, notes)
    return ByResponse(survey, notes)
