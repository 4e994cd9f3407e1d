"""`assay run FILE`: an evaluation without a spec, of a file in which every row is labelled."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.evalcore.errors import BadInput
from assay.flows.cli.columns import with_answers
from assay.flows.cli.working import working
from assay.tasks.doctor.told import Told
from assay.tasks.sources.files.names import format_of
from assay.tasks.spec.evaluation import load_spec

if TYPE_CHECKING:
    from assay.tasks.doctor.examination import Examination


def spec_of(given: Path, told: Told, can_ask: bool) -> Path:
    """The spec to run: `given`, or one that is written for the file `given`.

    Raises BadInput where the file has a problem, or its labels are not known.
    """
    if format_of(str(given)) is None and not given.is_dir():
        told.refuse_beside_a_spec(str(given))
        return given
    from assay.flows.cli.examining import watched
    from assay.flows.doctor.examine import examine_file

    def examined(said: Told) -> "Examination":
        with working(f"reading {given}") as tell:
            return examine_file(str(given), said, watched(tell))

    found = with_answers(told, examined, can_ask)
    problems = [f"{one.about}: {one.says} → {one.remedy}" for one in found.findings if one.level == "problem"]
    if problems or found.spec is None or found.roles is None:
        raise BadInput(f"{given} cannot be used yet:\n  " + "\n  ".join(problems))
    if not found.labelled:
        raise BadInput(
            f"{given}: no column has a label for every row, so nobody can answer; name the column with "
            f"--label, or let people answer: assay doctor {given} --write assay.yaml, then edit it"
        )
    path = _written(given, found.spec)
    click.echo(f"assay: columns: {found.roles.said}", err=True)
    for question in found.roles.questions:
        click.echo(f"assay: {question.asks} Taken: {question.taken!r} ({question.option})", err=True)
    click.echo(f"assay: wrote {path}, the spec of this try; edit it for the next one", err=True)
    return path


def _written(given: Path, text: str) -> Path:
    """The file of the spec; the same as an earlier one of the same text, so that a try can be resumed."""
    path = Path(f"{given.name.split('.')[0]}-trial.yaml")
    try:
        with path.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        if path.read_text(encoding="utf-8") != text:
            raise BadInput(
                f"{path} exists and holds another spec; run it (assay run {path}), or move it away"
            ) from None
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}; go to a folder you may write to") from None
    load_spec(path)
    return path
