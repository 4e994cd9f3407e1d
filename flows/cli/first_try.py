"""`assay run FILE`: an evaluation without a spec, of a file in which every row is labelled."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.evalcore.errors import BadInput
from assay.flows.cli.columns import with_answers
from assay.flows.cli.working import working
from assay.tasks.doctor.told import Told
from assay.tasks.sources.files.names import format_of, no_predictions, trial_name
from assay.tasks.spec.evaluation import load_spec

if TYPE_CHECKING:
    from assay.tasks.doctor.examination import Examination


def spec_to_run(given: Path, told: Told, can_ask: bool) -> Path:
    """The spec to run: `given`, or one that is written for the file `given`.

    Raises BadInput where the file has a problem, where two columns could be the same thing, or where its
    labels are not known.
    """
    if (unread := no_predictions(str(given))) is not None:
        raise BadInput(unread)
    if format_of(str(given)) is None and not given.is_dir():
        told.refuse_beside_a_spec(str(given))
        return given
    from assay.flows.cli.examining import watched
    from assay.flows.doctor.examine import examine_file

    def examined(said: Told) -> "Examination":
        with working(f"reading {given}") as tell:
            return examine_file(str(given), said, watched(tell), forecast=False)   # `run` makes its own

    found = with_answers(told, examined, can_ask)
    if found.roles is not None:
        click.echo(f"assay: columns: {found.roles.said}", err=True)
    problems = [f"{one.about}: {one.says} → {one.remedy}" for one in found.findings if one.level == "problem"]
    if problems or not found.labelled:
        for one in found.findings:      # freezing says the same, where it comes to that
            if one.about == "source" and one.level == "ok":
                click.echo(f"assay: {one.says}", err=True)
    if problems or found.spec is None or found.roles is None:
        raise BadInput(f"{given} cannot be used yet:\n  " + "\n  ".join(problems))
    if not found.labelled:
        raise BadInput(_unlabelled(given, found))
    path, is_new = _written(given, found.spec)
    if found.roles.numbered:
        click.echo("assay: no column names each item, so the number of its row does, from 1 (--id)", err=True)
    for question in found.roles.questions:
        click.echo(f"assay: {question.asks} Taken: {question.taken!r} ({question.option})", err=True)
    wrote = "wrote" if is_new else "goes on with"
    click.echo(f"assay: {wrote} {path}, the spec of this try; edit it for the next one", err=True)
    return path


def _unlabelled(given: Path, found: "Examination") -> str:
    label = None if found.roles is None else found.roles.label
    people = f"let people answer: assay doctor {given} --write assay.yaml, then edit it"
    if label is None:
        return (f"{given}: no column is called a label, so nobody can answer; name the column with --label, "
                f"or {people}")
    why = next((one.says for one in found.findings if one.about == label), "")
    return (f"{given}: column {label!r} has no label for every row, so nobody can answer: {why}. "
            f"Put the labelled rows into a file of their own, name another column with --label, or {people}")


def _written(given: Path, text: str) -> tuple[Path, bool]:
    """The file of the spec, and whether it is new: a try of the same spec goes on where it was.

    A file of another spec stays as it is. This one gets the next number then, in its name and in that of the
    evaluation, so that both can be compared.
    """
    name = trial_name(str(given))
    for number in range(1, _MOST_TRIES + 1):
        ending = "" if number == 1 else f"-{number}"
        path = Path(f"{given.name.split('.')[0]}-trial{ending}.yaml")
        one = text.replace(f"name: {name}\n", f"name: {name}{ending}\n", 1)
        try:
            with path.open("x", encoding="utf-8") as opened:
                opened.write(one)
        except FileExistsError:
            if path.read_text(encoding="utf-8") == one:
                return path, False
            continue
        except OSError as error:
            raise BadInput(
                f"cannot write {path}: {error.strerror}; go to a folder you may write to"
            ) from None
        load_spec(path)
        return path, True
    raise BadInput(f"there are {_MOST_TRIES} specs beside {path} already; remove those you do not need")


_MOST_TRIES = 99
