"""The commands that only read: status, report, compare, and verify, which recomputes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from assay.evalcore.errors import BadInput
from assay.flows.cli.output import (
    FolderToWrite,
    file_link,
    json_option,
    print_json,
    store_flag,
    store_named,
    store_option,
    working,
)
from assay.flows.cli.standing import print_comparison, print_standing, with_outlook
from assay.flows.record.ahead import extend_command, kept_outlook, more_labels, read_outlook
from assay.flows.record.finished import standings as all_standings
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.record.standing import current_standing
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import means_monitor, monitors
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report import wording
from assay.tasks.report.standing import Standing

if TYPE_CHECKING:
    from assay.flows.cli.json_types import EveryStandingJson, MonitorStandingJson
    from assay.flows.verify.ledger import Verification
    from assay.tasks.report.history.record import HistoryRow


_EXIT_CODES = {
    "ok": 0, "breach": 3, "inconclusive": 4, "waiting": 5, "stale": 5, "unlabelled": 4, "missing": 4,
    "empty": 0, "small": 0, "failed": 1,
}


@click.command()
@click.argument("name", required=False)
@click.option("--forecast", is_flag=True,
              help="With a NAME: simulate how many labels are still to come, if no forecast is kept.")
@store_option
@json_option
def status(name: str | None, forecast: bool, where: str | None, as_json: bool) -> int:
    """Say where an evaluation stands, or all of them, from the ledger alone; no desk is asked.

    Monitors too, by their newest window; `assay history` shows all of them.

    With a NAME the exit code is the evaluation's (5 while it is not finished), or for a monitor: 3 the
    newest judged window is in breach, else the newest window's state: 0 ok, 4 inconclusive, unlabelled or
    missing, 5 waiting for people, 1 failed. Without a NAME it is 0, or 1 if the record of one of them
    cannot be read.

    \b
    Example:
      assay status
      assay status restaurant-dedup --json | jq .state
      assay status restaurant-dedup --forecast
    """
    store = store_named(where)
    if name is None:
        return _all(store, as_json)
    if means_monitor(store, name):
        return _monitor(store, name.removeprefix(layout.MONITORS_PREFIX), as_json)
    opened = open_evaluation(store, name)
    standing = current_standing(opened)
    if forecast:
        with working("forecasting") as tell:
            ahead = read_outlook(opened, standing, lambda done, total: tell("simulating worlds", done, total))
    else:
        ahead = kept_outlook(opened, standing)
    standing = with_outlook(standing, ahead)
    if as_json:
        print_json(standing.to_json())
    else:
        labels = more_labels(opened, standing)
        command = extend_command(opened, standing, labels)
        command = command and command + store_flag(store.url)
        print_standing(standing, opened.limit_text, labels, command=command)
    return standing.exit_code


def _monitor(store: Store, name: str, as_json: bool) -> int:
    """Say where a monitor stands: its newest window."""
    from assay.flows.monitor.history import read_monitor_history
    from assay.tasks.report.history.record import row_by_question
    from assay.tasks.report.history.words import no_data_in_words

    history = read_monitor_history(store, name)
    rows = history.rows
    if as_json:
        result: MonitorStandingJson = {
            "monitor": name, "window": rows[-1].window if rows else None,
            "state": rows[-1].state if rows else None,
        }
        print_json(result)
        return standing_code(rows)
    text = no_data_in_words(history) or "no window has been opened yet"
    if rows and not history.without_data:
        question_rows = row_by_question(rows[-1])
        text = f"window {rows[-1].window}: " + "; ".join(
            _of_question(part, with_measure=len(question_rows) > 1) for part in question_rows
        )
    click.echo(f"{name}: a monitor; {text.rstrip('.')}; all windows: assay history {name}")
    return standing_code(rows)


def _of_question(row: "HistoryRow", *, with_measure: bool) -> str:
    """`in breach, 3.1 (2.9 to 3.3)`; where several questions are asked, `Mean of tone in breach, ...`."""
    from assay.tasks.report import wording
    from assay.tasks.report.history.words import STATES, beyond_in_words, value_in_words

    place = row.overall
    value = "" if place is None else f", {value_in_words(place.measured)}"
    state = "" if place is None else beyond_in_words(place)
    name = f"{wording.measure_name(row.verdict.measure)} " if with_measure and row.verdict else ""
    return f"{name}{state or STATES[row.state]}{value}"


def standing_code(rows: "Sequence[HistoryRow]") -> int:
    """3 where the newest judged window is in breach, else the code of the newest window; 0 without one. The
    exit code of commands that show a monitor: 0 ok, 4 inconclusive, 5 waiting."""
    judged = [row for row in rows if row.verdict is not None]
    if judged and judged[-1].state == "breach":
        return 3
    return _EXIT_CODES[rows[-1].state] if rows else 0


def _all(store: Store, as_json: bool) -> int:
    pairs = all_standings(store)
    standings = [standing for _, standing in pairs if isinstance(standing, Standing)]
    damaged = {name: str(error) for name, error in pairs if not isinstance(error, Standing)}
    watching = monitors(store)
    if as_json:
        result: EveryStandingJson = {
            "store": store.url, "evaluations": [standing.to_json() for standing in standings],
        }
        if watching:
            result["monitors"] = watching
        if damaged:
            result["damaged"] = damaged
        print_json(result)
    elif not standings and not damaged and not watching:
        click.echo(f"no evaluation has begun in {store.url}")
    for standing in standings if not as_json else []:
        print_standing(standing, note=False)
    for name in watching if not as_json else []:
        click.echo(f"{name}: a monitor; see assay history {name}")
    for name, message in damaged.items():
        click.echo(f"{name}: cannot be read: {message}", err=True)
    return 1 if damaged else 0


class _ReportOptions(TypedDict):
    """What a report may have beside the page."""

    out: Path | None
    evidence: bool
    latex: bool
    bundle: Path | None
    sign_with: Path | None
    time_server: str | None


@click.command("report")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--out", type=FolderToWrite(), default=None, metavar="FOLDER",
              help="Where to write the files [default: ./assay-report-NAME].")
@click.option("--evidence", is_flag=True,
              help="Add evidence.zip: probabilities, seeds, digests, versions, who saw which fields.")
@click.option("--latex", is_flag=True,
              help="For a paper: add report.tex, a table and a paragraph of methods, and report.bib.")
@click.option("--bundle", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
              help="Write one file with the report and all that it rests on, for `assay verify --bundle`.")
@click.option("--sign-with", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Sign the bundle with this private key of Ed25519, in PEM [default: ASSAY_SIGNING_KEY].")
@click.option("--time-server", default=None, metavar="URL",
              help="Have the bundle stamped by this server of RFC 3161.")
@store_option
@json_option
def report_command(
    names: tuple[str, ...], where: str | None, as_json: bool, **asked: Unpack[_ReportOptions]
) -> int:
    """Write an evaluation's report: HTML for people, JSON and Parquet for programs.

    Several NAMES make one page with a table of all, their intervals on one scale for each measure, and a link
    to the report of each. The default folder is then named after all of them.

    The exit code is the evaluation's, as for `status`; of several: 3 if one breached its limit, else 5 if
    one is not finished, else 4 if one is inconclusive, else 0.

    \b
    Example:
      assay report restaurant-dedup --out reports/restaurant --evidence
      assay report dedup-october dedup-november
      assay report restaurant-dedup --latex
      assay report restaurant-dedup --bundle evidence.zip --sign-with key.pem
    """
    from assay.flows.report.gather import report_data
    from assay.tasks.report.files import render_report, write_files
    from assay.tasks.report.latex import latex_files
    from assay.tasks.report.several import folder_of, several_files, several_json

    if len(set(names)) < len(names):
        raise BadInput(f"{', '.join(names)}: an evaluation is named twice; name each once")
    out, evidence, latex = asked["out"], asked["evidence"], asked["latex"]
    store = store_named(where)
    if _only_bundle(names, asked):
        return _bundle(store, names[0], asked, as_json)
    standings, gathered, packs = [], [], {}
    with working(f"writing the report of {', '.join(names)}") as tell:
        for name in names:
            opened = open_evaluation(store, name)
            standings.append(current_standing(opened))
            gathered.append(report_data(opened, standings[-1]))
            if evidence:
                tell("gathering the evidence")
                packs[f"{name}/evidence.zip" if names[1:] else "evidence.zip"] = _evidence(opened)
            if latex:
                made = latex_files(gathered[-1])
                packs |= {f"{name}/{file}" if names[1:] else file: blob for file, blob in made.items()}
        folder = out or Path(folder_of(names))
        files = {**(several_files(gathered) if names[1:] else render_report(gathered[0])), **packs}
        write_files(files, folder)
    if as_json:
        print_json(several_json(gathered) if names[1:] else standings[0].to_json())
    file_names = [name for name in files if not names[1:] or name.startswith("reports.")]
    for name in file_names:
        click.echo(f"wrote {file_link(folder / name)}", err=as_json)
    codes = {standing.exit_code for standing in standings}
    return next(code for code in (3, 1, 5, 4, 0) if code in codes)


def _only_bundle(names: tuple[str, ...], asked: _ReportOptions) -> bool:
    """Whether a bundle is asked for, which holds the rest. Raises BadInput for options that do nothing."""
    if asked["bundle"] is None:
        without = [name for name in ("sign_with", "time_server") if asked[name] is not None]
        if without:
            option = without[0].replace("_", "-")
            raise BadInput(f"--{option}: there is nothing to sign or stamp; add --bundle FILE")
        return False
    if names[1:]:
        raise BadInput("--bundle: a bundle is of one evaluation; write one for each")
    beside = [name for name in ("out", "evidence", "latex") if asked[name]]
    if beside:
        raise BadInput(f"--{beside[0]}: has no effect beside --bundle, which holds report and evidence")
    return True


def _bundle(store: Store, name: str, asked: _ReportOptions, as_json: bool) -> int:
    """Write the bundle of an evaluation; returns the exit code of its standing."""
    from assay.flows.report.bundle import GatheredBundle, ledger_keys
    from assay.flows.report.gather import report_data
    from assay.tasks.report.bundle import write_bundle
    from assay.tasks.signatures import read_signing_key

    file, key = Path(asked["bundle"] or ""), read_signing_key(asked["sign_with"])
    opened = open_evaluation(store, name)
    keys = ledger_keys(opened)
    standing = current_standing(opened)
    with working(f"writing the bundle of {name}"):
        gathered = GatheredBundle(opened, report_data(opened, standing), file, keys)
        write_bundle(file, gathered.about, gathered.contents(), key, asked["time_server"])
    if as_json:
        print_json(standing.to_json())
    click.echo(f"wrote {file_link(file)}", err=as_json)
    if key is None:
        click.echo("assay: nobody signed it: --sign-with FILE, or ASSAY_SIGNING_KEY", err=True)
    return standing.exit_code


def _evidence(opened: Opened) -> bytes:
    from assay.flows.report.evidence import gather_evidence
    from assay.tasks.report.evidence import evidence_zip

    return evidence_zip(gather_evidence(opened))


@click.command()
@click.argument("name")
@store_option
@json_option
def compare(name: str, where: str | None, as_json: bool) -> int:
    """Systems side by side: every measure, the differences from the baseline, and which is better.

    A verdict rests on intervals that hold for all systems together. Exit code 0: every difference of the
    first measure is decided; 4: at least one is open.

    \b
    Example:
      assay compare two-models
      assay compare two-models --json | jq '.differences[] | [.system, .value, .comparison.verdict]'
    """
    from assay.flows.report.gather import report_data
    from assay.tasks.report.comparison import comparison_json, decided

    opened = open_evaluation(store_named(where), name)
    data = report_data(opened, current_standing(opened))
    if data.systems is None:
        raise BadInput(
            f"evaluation {name!r} has one system; to compare several, name them under pool.systems of a spec"
        )
    if as_json:
        print_json(comparison_json(data, data.systems))
    else:
        print_comparison(data, data.systems)
    return 0 if decided(data.estimates) else 4


class _VerifyOptions(TypedDict):
    """What a ledger or a bundle has to have."""

    seal: str | None
    contains: str | None
    bundle: Path | None
    key: Path | None
    time_root: Path | None


@click.command("verify")
@click.argument("name", required=False)
@click.option("--bundle", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Verify the evaluation in this bundle, without a store.")
@click.option("--key", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="The public key of Ed25519, in PEM, that the bundle has to be signed with.")
@click.option("--time-root", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="The certificate, in PEM, that the bundle's time stamp has to rest on.")
@click.option("--seal", default=None, metavar="DIGEST",
              help="Check that the newest seal has this digest, which you noted earlier.")
@click.option("--contains", default=None, metavar="DIGEST",
              help="Check that one of the seals has this digest, which you noted when it was the newest.")
@store_option
@json_option
def verify_command(
    name: str | None, where: str | None, as_json: bool, **asked: Unpack[_VerifyOptions]
) -> int:
    """Recompute an evaluation from its ledger, offline: draws, labels, estimates, verdict.

    For a monitor (NAME, or monitors/NAME if an evaluation has the same name), recompute its verdicts.

    Somebody who may write to the store can replace a whole ledger by another that agrees with itself, or cut
    off its last rounds. Only the digest of the newest seal, printed here and kept elsewhere, finds that.
    --seal: it is still the newest. --contains: more may have come since.

    Exit code 0: everything agrees; 1: something differs, and every key concerned is named.

    \b
    Example:
      assay verify restaurant-dedup
      assay verify restaurant-dedup --json | jq .differences
      assay verify --bundle evidence.zip --key maintainers.pem
    """
    from assay.flows.verify.ledger import checked_seal
    from assay.flows.verify.ledger import verify as recompute

    expected, among = checked_seal(asked["seal"]), checked_seal(asked["contains"], "--contains")
    if asked["bundle"] is not None:
        return _verified(_of_bundle(asked["bundle"], name, where, asked), as_json)
    if asked["key"] is not None or asked["time_root"] is not None:
        raise BadInput("--key and --time-root are of a bundle; add --bundle FILE")
    if name is None:
        raise BadInput("name the evaluation, or a bundle with --bundle FILE")
    store = store_named(where)
    if means_monitor(store, name):
        from assay.flows.verify.monitor import verify_monitor

        with working(f"verifying {name}"):
            result = verify_monitor(store, name.removeprefix(layout.MONITORS_PREFIX), expected, among)
    else:
        with working(f"verifying {name}") as tell:
            result = recompute(
                store, name, expected, among,
                lambda done, rounds: tell("rounds recomputed", done, rounds),
            )
    return _verified(result, as_json)


def _of_bundle(bundle: Path, name: str | None, where: str | None, asked: _VerifyOptions) -> "Verification":
    from assay.flows.verify.bundle import verify_bundle
    from assay.flows.verify.ledger import checked_seal
    from assay.tasks.signatures import read_pem

    if where is not None or asked["contains"] is not None:
        raise BadInput(
            "--bundle: reads no store, and its log ends with the seal that it names; leave out --store and "
            "--contains"
        )
    key, root = (None if path is None else read_pem(path) for path in (asked["key"], asked["time_root"]))
    with working(f"verifying {bundle}") as tell:
        result = verify_bundle(
            bundle, key, root, checked_seal(asked["seal"]),
            lambda done, rounds: tell("rounds recomputed", done, rounds),
        )
    if name not in (None, result.evaluation):
        raise BadInput(f"{bundle}: is the bundle of {result.evaluation!r}, not of {name!r}")
    return result


def _verified(result: "Verification", as_json: bool) -> int:
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
    return 0 if result.verified else 1


def _plain(text: str) -> str:
    """A text from a bundle, of which nothing moves the cursor of a terminal."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _recomputed(result: "Verification") -> str:
    if result.evaluation.startswith(layout.MONITORS_PREFIX):
        return wording.plural(result.rounds, "verdict")
    revised = f", {wording.plural(result.revisions, 'revision')}" if result.revisions else ""
    return f"{wording.plural(result.rounds, 'round')} and {wording.plural(result.labels, 'label')}{revised}"


def _print(result: "Verification") -> None:
    state = "finished" if result.finished else "not finished"
    if result.evaluation.startswith(layout.MONITORS_PREFIX):
        state = "monitor"
    if result.verified:
        click.echo(f"{result.evaluation}: verified ({state})")
    else:
        click.echo(f"{result.evaluation}: NOT VERIFIED ({state})")
        for mismatch in result.differences:
            click.echo(f"  {_plain(f'{mismatch.key}: {mismatch.difference}')}")
    click.echo(
        f"  {_recomputed(result)} recomputed; "
        f"{result.keys_checked} of {wording.plural(result.keys, 'key')} compared with digests; the others "
        "are times, posts and what is not sealed yet"
    )
    if result.seal:
        click.echo(f"  seal {result.seal}")
    if result.remedy:
        click.echo(f"  what to do: {_plain(result.remedy)}")
    for note in result.notes:
        click.echo(f"  note: {_plain(note)}")
