"""Whether a row is a response, or a question with the responses of all systems."""

from collections.abc import Iterator, Mapping
from typing import Protocol

import pyarrow as pa

from assay.tasks.connectors.notes import Notes
from assay.tasks.connectors.response import Plain
from assay.tasks.connectors.responses.by_response import ByResponse
from assay.tasks.connectors.responses.draft import Draft
from assay.tasks.connectors.responses.spool import Spool
from assay.tasks.connectors.responses.survey import Survey
from assay.tasks.connectors.written import Layout


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
    """As asked; where nothing was, side by side if systems can be compared so."""
    return ByResponse(survey, notes)
