"""Bring logs or tables of another tool in: recognise what they are, write the pool, suggest a spec."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.earlier_runs import EarlierRun, earlier_run_of_pool, with_earlier_runs
from assay.tasks.connectors.records import Layout, Notes, Written
from assay.tasks.connectors.registry import recognised
from assay.tasks.connectors.tables import columns_of_pool, refuse_existing_pool


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtIn:
    """What was written, and what was not."""

    format: str                 # the importer's name
    places: tuple[str, ...]     # what was read
    written: Written            # its spec suggested, where the file says enough for one
    notes: tuple[str, ...]      # what is not imported, and what was noticed


def bring_in(
    given: Sequence[str | Path], to: Path, format: str | None = None, layout: Layout | None = None,
    earlier: Sequence[str | Path] = (),
) -> BroughtIn:
    """Write the pool `to`, which must not exist.

    given    files, folders or addresses of one format
    format   the name of an importer; None: whichever recognises the content
    layout   of logs with several systems; None: side by side where that is natural
    earlier  logs of earlier systems that answered the same questions: their results become judges

    Raises BadInput naming the file and what is wrong with it, and where a format is unknown or ambiguous.
    """
    refuse_existing_pool(to)
    notes = Notes()
    importer, places = recognised(given, format, notes)
    written = importer.write(places, to, layout, notes)
    if written.spec is None and earlier:
        to.unlink()
        raise BadInput("--earlier: what is imported is a table and no log, so nothing says what its results "
                       "are; name the columns of earlier results under pool.earlier")
    if earlier and written.spec is not None:
        try:
            runs = [run for one in earlier for run in _earlier_runs(one, format, notes)]
            spec = with_earlier_runs(to, written.spec, runs, notes)
        except BadInput:
            to.unlink()
            raise
        written = replace(written, spec=spec, columns=columns_of_pool(to))
    if written.spec is None:
        written = replace(written, spec=_suggested(to))
    return BroughtIn(
        format=importer.name, places=tuple(place.given for place in places), written=written,
        notes=tuple(notes.lines),
    )


def _earlier_runs(given: str | Path, format: str | None, notes: Notes) -> list[EarlierRun]:
    """The systems of one earlier log."""
    with TemporaryDirectory() as folder:
        pool, aside = Path(folder) / "earlier.parquet", Notes()
        importer, places = recognised([given], format, aside)
        written = importer.write(places, pool, "responses", aside)
        if written.spec is None:
            raise BadInput(f"--earlier {given}: is a table and no log; name its columns under pool.earlier")
        return earlier_run_of_pool(pool, written.spec, str(given), notes)


def _suggested(pool: Path) -> str | None:
    """What `assay doctor` suggests for a table; imported here, because logs do without."""
    from assay.flows.doctor import examine_file
    from assay.tasks.doctor.roles import Told

    return examine_file(str(pool), Told()).spec
