"""Responses to a pool: one pass that looks at them and keeps them on the disk, one that writes the rows."""

from collections.abc import Iterable
from pathlib import Path

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.notes import Notes
from assay.tasks.connectors.parquet import write_parquet
from assay.tasks.connectors.response import Response
from assay.tasks.connectors.responses.columns import batches
from assay.tasks.connectors.responses.draft import spec_text
from assay.tasks.connectors.responses.layouts import layout_of
from assay.tasks.connectors.responses.spool import Spool
from assay.tasks.connectors.responses.survey import Survey
from assay.tasks.connectors.written import Layout, Written


def write_responses(found: Iterable[Response], to: Path, layout: Layout | None, notes: Notes) -> Written:
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
