"""Bring logs or tables of another tool in: recognise what they are, write the pool, suggest a spec."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.earlier_runs import EarlierRun, earlier_runs_of_pool, with_earlier_runs
from assay.tasks.connectors.records import Layout, Notes, Written
from assay.tasks.connectors.registry import recognised
from assay.tasks.connectors.tables import columns_of_pool, refuse_existing_pool
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.sources.reader import open_source
from assay.tasks.spec.census import never_met_by_all
from assay.tasks.spec.evaluation import written_spec
from assay.tasks.spec.strict_yaml import parse_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtIn:
    """The result of an import: which importer read which places, the pool it wrote, a suggested spec in YAML
    that has been checked as `begin` checks one, and notes on what was not imported."""

    format: str                 # the importer's name
    places: tuple[str, ...]     # what was read
    written: Written
    spec: str | None            # YAML to start from, which has been checked as `begin` checks it
    notes: tuple[str, ...]      # what is not imported, and what was noticed


def bring_in(
    sources: Sequence[str | Path], to: Path, format: str | None = None, layout: Layout | None = None,
    earlier: Sequence[str | Path] = (),
) -> BroughtIn:
    """Write the pool `to`, which must not exist.

    sources    files, folders or addresses of one format
    format   the name of an importer; None: whichever recognises the content
    layout   of logs with several systems; None: side by side where that is natural
    earlier  logs of earlier systems that answered the same questions: their results become judges

    Raises BadInput naming the file and what is wrong with it, and where a format is unknown or ambiguous.
    """
    refuse_existing_pool(to)
    notes = Notes()
    importer, places = recognised(sources, format, notes)
    written = importer.write(places, to, layout, notes)
    try:
        spec = usable_spec(written, notes) if written.drafts else None
        if earlier and spec is None:
            raise BadInput("--earlier: what is imported is a table and no log, so nothing says what its "
                           "results are; name the columns of earlier results under pool.earlier")
        if earlier and spec is not None:
            runs = [run for log in earlier for run in _earlier_runs(log, format, notes)]
            joined = with_earlier_runs(to, spec, runs, notes)
            written = replace(written, columns=columns_of_pool(to), drafts=(lambda: joined,))
            spec = usable_spec(written, notes)
    except BaseException:
        to.unlink()
        raise
    return BroughtIn(
        format=importer.name, places=tuple(place.address for place in places), written=written,
        spec=_suggested(to) if spec is None else spec, notes=tuple(notes.lines),
    )


def usable_spec(written: Written, notes: Notes) -> str:
    """The first draft of a pool that `begin` would take, checked against each row; what was wrong with those
    before it is noted. Raises BadInput where it would take none."""
    refused: list[str] = []
    for draft in written.drafts:
        text = draft()
        try:
            spec = written_spec(parse_yaml(text, "the suggested spec"), "the suggested spec")
            source = open_source(spec.pool.source, spec.pool.id)
            checker = RowChecker(spec, [file.path for file in source.files])
            for batch in source.batches(checker.columns):
                checker.check(batch)
            if never := never_met_by_all(spec, written.rows):
                raise BadInput(f"$.target.half_width {never}")
        except BadInput as error:
            refused.append(str(error))
            continue
        if refused:
            notes.tell(f"the suggested spec does with less, because: {refused[0]}")
        return text
    raise BadInput(f"no evaluation can begin with what is imported: {refused[-1]}")


def _earlier_runs(source: str | Path, format: str | None, notes: Notes) -> list[EarlierRun]:
    """The systems of one earlier log."""
    with TemporaryDirectory() as folder:
        pool, aside = Path(folder) / "earlier.parquet", Notes()
        importer, places = recognised([source], format, aside)
        written = importer.write(places, pool, "responses", aside)
        if not written.drafts:
            raise BadInput(f"--earlier {source}: is a table and no log; name its columns under pool.earlier")
        return earlier_runs_of_pool(pool, usable_spec(written, aside), str(source), notes)


def _suggested(pool: Path) -> str | None:
    """What `assay doctor` suggests for a table; imported here, because logs do without."""
    from assay.flows.doctor import examine_file
    from assay.tasks.doctor.roles import Told

    return examine_file(str(pool), Told()).spec
