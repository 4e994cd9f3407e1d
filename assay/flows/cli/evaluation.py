"""The commands that move an evaluation: run, begin, advance, extend.

`assay run FILE` needs no spec: it writes one for a file in which every row is labelled.
"""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import click

from assay.evalcore.errors import BadInput
from assay.evalcore.forecast.labels_needed import Outlook
from assay.flows.alerts import deliver
from assay.flows.cli.doctor import can_ask, columns_told, with_answers
from assay.flows.cli.output import (
    SOURCE,
    FiniteRange,
    json_option,
    print_json,
    store_flag,
    store_for,
    store_named,
    store_option,
    working,
)
from assay.flows.cli.standing import ProgressDisplay, before_it_starts, print_standing, with_outlook
from assay.flows.record.ahead import extend_command, more_labels, read_outlook
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.record.standing import current_standing
from assay.tasks.alerts.outbox import deliveries_in_words, undelivered
from assay.tasks.doctor.roles import Told
from assay.tasks.ledger.layout import manifest
from assay.tasks.operating_system import INTERRUPTED, with_slashes
from assay.tasks.pool.same_source import FrozenPool
from assay.tasks.report import wording
from assay.tasks.report.standing import Standing
from assay.tasks.sources.files.file import (
    format_of,
    is_glob,
    no_predictions,
    stem_of_source,
    supported_formats,
    trial_name,
)
from assay.tasks.spec.evaluation import load_spec
from assay.tasks.table_address import is_table

spec_argument = click.argument("spec", type=click.Path(path_type=Path), metavar="SPEC")
name_option = click.option(
    "--name", default=None, metavar="NAME",
    help="Name the evaluation so, not as the spec does: in a pipeline, a name with the commit in it.",
)


@click.command()
@click.argument("spec", type=SOURCE, metavar="SPEC_OR_FILE")
@columns_told
@name_option
@store_option
@click.option("--wait", type=FiniteRange(min=0), default=None, metavar="MINUTES",
              help="How long to wait for people; 0 looks once [default: no limit].")
@json_option
def run(
    spec: str, told: Told, name: str | None, where: str | None, wait: float | None, as_json: bool
) -> int:
    """Begin an evaluation and drive it until it stops.

    Shows each round as it closes, and waits for people in between. At the end, the alerts that wait are sent.
    Interrupt it at any time: nothing is lost, and the same command resumes. If another spec has begun under
    the same name, or the file of predictions has changed since, the command is refused.

    FILE instead of a spec is for a first try, on predictions with known labels: its columns are guessed as
    `assay doctor` does, a spec is written beside you, and labels are taken from the file. Nobody is asked.

    \b
    Example:
      assay run predictions.csv --label is_spam
      assay run restaurant.yaml
      assay run restaurant.yaml --store s3://bucket/ledger --json | jq .estimates
      assay run restaurant.yaml --name restaurant-$GITHUB_SHA --wait 0
    """
    from assay.flows.evaluation.advance import Patience, drive
    from assay.flows.evaluation.begin import begin_evaluation

    path = spec_to_run(spec, told, can_ask(as_json))
    full_spec = load_spec(path, name)
    store = store_for(where, full_spec)
    with ProgressDisplay(full_spec.budget.labels).running() as progress:
        progress.say(f"preparing {full_spec.name}")
        opened = begin_evaluation(store, full_spec, progress=progress.frozen)
        ahead = _outlook(opened, progress)
        for line in before_it_starts(opened, ahead):
            progress.note(line)
        patience = Patience.from_settings(in_all=None if wait is None else wait * 60)
        try:
            standing = drive(
                store, opened.name, patience=patience, on_round=progress.round, on_wait=progress.waiting
            )
            if standing.state == "finished" and not progress.rounds:
                progress.note(f"{opened.name} has finished before: nothing was asked. To evaluate anew, give "
                              "the spec another name")
        except KeyboardInterrupt:
            standing = current_standing(opened)
            click.echo(f"assay: interrupted; nothing is lost; to resume: assay run {path}"
                       + (f" --name {name}" if name else ""), err=True)
            _say(opened, standing, as_json, ahead)
            return INTERRUPTED
    delivered = deliver(store, [opened.name])
    if delivered:
        click.echo(f"assay: {deliveries_in_words(delivered)}", err=True)
    code = _say(opened, standing, as_json, ahead)
    return 1 if undelivered(delivered) and code != 3 else code


@click.command("begin")
@spec_argument
@name_option
@store_option
@json_option
def begin_command(spec: Path, name: str | None, where: str | None, as_json: bool) -> int:
    """Freeze the pool of a spec and open its evaluation; ask nobody yet.

    One that has begun stays as it is; if its spec or its file of predictions has changed since, the command
    is refused.

    \b
    Example:
      assay begin restaurant.yaml && assay advance restaurant-dedup
    """
    from assay.flows.evaluation.begin import begin_evaluation

    full_spec = load_spec(spec, name)
    store = store_for(where, full_spec)
    before = store.exists(manifest(full_spec.name))
    with ProgressDisplay(full_spec.budget.labels).running() as progress:
        progress.say(f"preparing {full_spec.name}")
        opened = begin_evaluation(store, full_spec, progress=progress.frozen)
        ahead = _outlook(opened, progress)
    standing = with_outlook(current_standing(opened), ahead)
    if as_json:
        print_json(standing.to_json())
    else:
        pool = FrozenPool.from_ledger(opened.ledger, opened.spec, opened.manifest).text
        flag = store_flag(opened.ledger.store.url)
        began = "had begun before, with" if before else "began with"
        click.echo(f"{opened.name}: {began} {pool}; next: assay advance {opened.name}{flag}")
        for line in before_it_starts(opened, ahead):
            click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="    "))
    return 0


@click.command("advance")
@click.argument("name")
@click.option("--look-again", is_flag=True,
              help="Read the answers of all closed rounds again; changed answers become a revision.")
@click.option("--close-round", is_flag=True,
              help="Close the open round although answers are missing; those given are weighted for them.")
@click.option("--round", type=click.IntRange(min=1),
              help="With --close-round: the round to close. If it is closed already, nothing is closed.")
@store_option
@json_option
def advance_command(
    name: str, look_again: bool, close_round: bool, round: int | None, where: str | None, as_json: bool
) -> int:
    """Do everything that is due in an evaluation, and say what it waits for.

    It can be run at any time, twice at the same time, and after any crash.

    \b
    Example:
      assay advance restaurant-dedup --json | jq .waiting_for
      assay advance restaurant-dedup --look-again
      assay advance restaurant-dedup --close-round --round 3
    """
    from assay.flows.evaluation.advance import advance

    if round is not None and not close_round:
        raise click.UsageError("--round says which round --close-round closes: give both, or only the latter")
    store = store_named(where)
    opened = open_evaluation(store, name)
    with ProgressDisplay(opened.rule.budget).running() as progress:
        progress.say(f"advancing {name}")
        standing = advance(
            store, name, on_round=progress.round, look_again=look_again,
            close_round=(round or "open") if close_round else None,
        )
        ahead = _outlook(opened, progress)
    return _say(opened, standing, as_json, ahead)


@click.command("extend")
@click.argument("name")
@click.option("--labels", type=click.IntRange(min=1), required=True, metavar="N",
              help="The new budget in all, labels bought so far included.")
@click.option("--by", default=None, metavar="WHO", help="Who asks for it [default: your login name].")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the ledger.")
@store_option
@json_option
def extend_command_line(
    name: str, labels: int, by: str | None, reason: str, where: str | None, as_json: bool
) -> int:
    """Give a finished evaluation a larger budget, and ask for the next labels.

    Labels and design stay. The ledger records the extension, and the same command twice extends once. Because
    people extend after they have seen the result, intervals are wider from then on.

    \b
    Example:
      assay extend restaurant-dedup --labels 340 --reason "too close to the limit"
    """
    from assay.flows.evaluation.advance import advance
    from assay.flows.evaluation.finish import extend

    store = store_named(where)
    made = extend(store, name, labels, by=_login() if by is None else by, reason=reason)
    if not made.anew:
        click.echo(f"assay: it was extended to {wording.plural(labels, 'label')} before", err=True)
    with ProgressDisplay(labels).running() as progress:
        progress.say(f"advancing {name}")
        standing = advance(store, name, on_round=progress.round)
    return _say(open_evaluation(store, name), standing, as_json)


def _login() -> str:
    """The name of whoever runs this; empty where the machine knows none."""
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _outlook(opened: Opened, progress: ProgressDisplay) -> Outlook | None:
    """The forecast from where it stands; None once it is finished."""
    standing = current_standing(opened)
    if standing.state != "finished":
        progress.say("forecasting")
    return read_outlook(opened, standing, progress.worlds)


def _say(
    opened: Opened, standing: Standing, as_json: bool, ahead: Outlook | None = None
) -> int:
    standing = with_outlook(standing, ahead)
    if as_json:
        print_json(standing.to_json())
        return standing.exit_code
    labels = more_labels(opened, standing)
    flag = store_flag(opened.ledger.store.url)
    command = extend_command(opened, standing, labels)
    print_standing(standing, opened.limit_text, labels, command=command and command + flag)
    if standing.known is not None:
        click.echo(f"  report: assay report {opened.name}{flag}")
    return standing.exit_code


if TYPE_CHECKING:
    from assay.tasks.doctor.examination import Examination


def spec_to_run(source: str, hints: Told, can_ask: bool) -> Path:
    """The spec to run: `source`, or one that is written for the file `source`.

    Raises BadInput where the file has a problem, where two columns could be the same thing, or where its
    labels are not known.
    """
    if (unread := no_predictions(source)) is not None:
        raise BadInput(unread)
    if not _is_source(source):
        hints.refuse_beside_a_spec(source)
        return Path(source)
    from assay.flows.cli.doctor import watched
    from assay.flows.doctor import examine_file

    def examined(answers: Told) -> "Examination":
        with working(f"reading {source}") as tell:
            return examine_file(source, answers, watched(tell), forecast=False)   # `run` makes its own

    examination = with_answers(hints, examined, can_ask)
    if examination.roles is not None:
        click.echo(f"assay: columns: {examination.roles.in_one_line}", err=True)
    problems = [f"{f.about}: {f.says} → {f.remedy}" for f in examination.findings if f.level == "problem"]
    if problems or not examination.labelled:
        for finding in examination.findings:      # freezing says the same, where it comes to that
            if finding.about == "source" and finding.level == "ok":
                click.echo(f"assay: {finding.says}", err=True)
    if problems or examination.spec is None or examination.roles is None:
        raise BadInput(f"{source} cannot be used yet:\n  " + "\n  ".join(problems))
    if not examination.labelled:
        raise BadInput(_unlabelled(source, examination))
    path, is_new = _written(source, examination.spec)
    if examination.roles.numbered:
        click.echo("assay: no column names each item, so the number of its row does, from 1 (--id)", err=True)
    for line in examination.measured_lines:
        click.echo(f"assay: {line}", err=True)
    for question in examination.roles.questions:
        click.echo(f"assay: {question.asks} Taken: {question.taken!r} ({question.option})", err=True)
    wrote = "wrote" if is_new else "goes on with"
    click.echo(f"assay: {wrote} {path}, the spec of this try; edit it for the next one", err=True)
    return path


def _is_source(source: str) -> bool:
    """Whether it is predictions rather than a spec. Raises BadInput for a name that is neither's."""
    suffix = Path(source).suffix.lower()
    if format_of(source) is not None or is_glob(source) or Path(source).is_dir() or source.endswith("/"):
        return True
    if suffix in ("", ".yaml", ".yml") and "://" not in source:
        return False
    if "://" in source and not suffix:
        return True        # a folder in a bucket
    raise BadInput(
        f"{source}: its name is neither that of a spec (.yaml, .yml, on this disk) nor of predictions; "
        f"{supported_formats()}. A table of text may be called .csv or .tsv, whatever separates its values"
    )


def _unlabelled(source: str, examination: "Examination") -> str:
    label = None if examination.roles is None else examination.roles.label
    people = f"let people answer: assay doctor {source} --write assay.yaml, then edit it"
    if label is None:
        return (f"{source}: no column is called a label, so nobody can answer; name the column with --label, "
                f"or {people}")
    reason = next((finding.says for finding in examination.findings if finding.about == label), "")
    return (f"{source}: column {label!r} has no label for every row, so nobody can answer: {reason}. "
            f"Put the labelled rows into a file of their own, name another column with --label, or {people}")


def _written(source: str, text: str) -> tuple[Path, bool]:
    """The file of the spec, and whether it is new: a try of the same spec goes on where it was.

    A file of another spec stays as it is. This one gets the next number then, in its name and in that of the
    evaluation, so that both can be compared.
    """
    name = trial_name(source)
    place = source if is_table(source) else with_slashes(source)
    stem = stem_of_source(place).strip("*?[]") or "evaluation"
    for number in range(1, _MOST_TRIAL_SPECS + 1):
        ending = "" if number == 1 else f"-{number}"
        path = Path(f"{stem}-trial{ending}.yaml")
        content = text.replace(f"name: {name}\n", f"name: {name}{ending}\n", 1)
        try:
            with path.open("x", encoding="utf-8") as opened:
                opened.write(content)
        except FileExistsError:
            if path.read_text(encoding="utf-8") == content:
                return path, False
            continue
        except OSError as error:
            raise BadInput(
                f"cannot write {path}: {error.strerror}; go to a folder you may write to"
            ) from None
        load_spec(path)
        return path, True
    raise BadInput(f"there are {_MOST_TRIAL_SPECS} specs beside {path} already; remove those you do not need")


_MOST_TRIAL_SPECS = 99   # files beside one another: the numbers have two digits
