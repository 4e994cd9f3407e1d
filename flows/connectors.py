"""Bring logs or tables of another tool in: recognise what they are, write the pool, suggest a spec."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.tasks.connectors.records import Layout, Notes, Written
from assay.tasks.connectors.registry import recognised
from assay.tasks.connectors.tables import refuse_existing_pool


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtIn:
    """What was written, and what was not."""

    format: str                 # the importer's name
    places: tuple[str, ...]     # what was read
    written: Written            # its spec suggested, where the file says enough for one
    notes: tuple[str, ...]      # what is not imported, and what was noticed


def bring_in(
    given: Sequence[str | Path], to: Path, format: str | None = None, layout: Layout | None = None
) -> BroughtIn:
    """Write the pool `to`, which must not exist.

    given    files, folders or addresses of one format
    format   the name of an importer; None: whichever recognises the content
    layout   of logs with several systems; None: side by side where that is natural

    Raises BadInput naming the file and what is wrong with it, and where a format is unknown or ambiguous.
    """
    refuse_existing_pool(to)
    notes = Notes()
    importer, places = recognised(given, format, notes)
    written = importer.write(places, to, layout, notes)
    if written.spec is None:
        written = replace(written, spec=_suggested(to))
    return BroughtIn(
        format=importer.name, places=tuple(place.given for place in places), written=written,
        notes=tuple(notes.lines),
    )


def _suggested(pool: Path) -> str | None:
    """What `assay doctor` suggests for a table; imported here, because logs do without."""
    from assay.flows.doctor.examine import examine_file
    from assay.tasks.doctor.told import Told

    return examine_file(str(pool), Told()).spec
