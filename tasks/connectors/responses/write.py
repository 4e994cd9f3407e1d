"""Responses to a pool: one pass that looks at them and keeps them on the disk, one that writes the rows.

A row is a response, or a question with the responses of all systems: as told, else by what the survey found.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.records import Layout, Notes, Plain, SystemResponse, Written
from assay.tasks.connectors.responses.by_question import ByQuestion
from assay.tasks.connectors.responses.by_response import ByResponse
from assay.tasks.connectors.responses.columns import Draft, batches, spec_text
from assay.tasks.connectors.responses.survey import FEW, Spool, Survey
from assay.tasks.connectors.tables import write_parquet


def write_responses(
    found: Iterable[SystemResponse], to: Path, layout: Layout | None, notes: Notes
) -> Written:
    """Write the pool of all responses, and draft its spec.

    layout   None: side by side where that is natural, else one below the other (`layouts`)

    Memory grows with the number of responses (an id and two hashes of each), not with their texts.
    Raises BadInput where there is no response.
    """
    survey = Survey()
    with Spool() as spool:
        for response in found:
            if survey.has(response):
                notes.leave_out("responses that came up again, of the same run")
                continue
            survey.add(response)
            spool.add(response)
        if not survey.rows:
            why = "; ".join(notes.lines) or "the log is empty"
            raise BadInput(f"there is no response to import: {why}")
        if survey.twice:
            notes.tell("a model answered the same question in several runs, and each response is a row; to "
                       "import one run, name its file")
        rows = layout_of(layout, survey, notes)
        written = write_parquet(batches(rows.rows(spool), rows.schema), rows.schema, to)
    return Written(
        path=to, rows=written, columns=tuple(rows.schema.names), systems=tuple(survey.systems),
        spec=spec_text(rows.draft(), str(to), written),
    )


# Whether a row is a response, or a question with the responses of all systems.

_NEARLY_ALL = 0.9     # questions that all systems answered


class Rows(Protocol):
    """The rows of a pool, and what to ask of them."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the pool."""
        ...

    def rows(self, spool: Spool) -> Iterator[Mapping[str, Plain]]:
        """The rows of the pool, in order."""
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
