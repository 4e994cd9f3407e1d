"""The commands of monitors: monitor, history."""

from datetime import UTC, datetime
from pathlib import Path

import click

from assay.evalcore.types import JsonObject
from assay.flows.cli.output import file_link, json_option, print_json, store_for, store_named, store_option
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.registry import register
from assay.flows.monitor.run import Tick
from assay.flows.monitor.tick import tick
from assay.tasks.ledger.monitoring.mutes import mute_at
from assay.tasks.report import wording
from assay.tasks.report.history.record import History, HistoryRow, consequence_of
from assay.tasks.spec.monitor import load_monitor_spec

_EXIT_CODES = {
    "ok": 0, "breach": 3, "inconclusive": 4, "waiting": 5, "stale": 5, "unlabelled": 4, "missing": 4,
    "empty": 0, "small": 0, "failed": 1,
}


@click.command()
@click.argument("spec", type=click.Path(path_type=Path), metavar="SPEC")
@store_option
@click.option("--once", is_flag=True, help="Do what is due now, here, without a Prefect server.")
@click.option("--window", default=None, metavar="WINDOW",
              help="With --once: this window only, due or not, such as 2026-11-20.")
@json_option
def monitor(spec: Path, where: str | None, once: bool, window: str | None, as_json: bool) -> int:
    """Watch a stream of predictions: every window of time becomes an evaluation, and gets a verdict.

    Registers the monitor of SPEC in its ledger and, as a scheduled deployment, with the Prefect server at
    PREFECT_API_URL. With --once nothing is scheduled: everything due is done here, and the exit code
    tells the state of the newest window (3 breach; 4 inconclusive, unlabelled or missing; 5 waiting for
    people; 1 a window failed).

    \b
    Example:
      assay monitor dedup-monitor.yaml
      assay monitor dedup-monitor.yaml --once --window 2026-11-20
    """
    if window is not None and not once:
        raise click.UsageError("--window can only be used with --once")
    asked = load_monitor_spec(spec)
    store = store_for(where, asked)
    register(store, asked)
    if not once:
        from assay.flows.monitor.deployment import deploy_monitor

        deployed = deploy_monitor(asked, store.url)
        if as_json:
            print_json({"monitor": asked.name, "deployment": deployed})
        else:
            click.echo(f"{asked.name}: scheduled as {deployed}")
        if not ("://" in asked.pool.source or Path(asked.pool.source).is_absolute()):
            click.echo(
                f"assay: pool.source: {asked.pool.source!r} is relative: the monitor's runs read it from "
                f"{Path.cwd()}, but sweeps and the receiver may run in other folders; use "
                "an absolute path or s3://", err=True,
            )
        return 0
    done = tick(store, asked.name, now=datetime.now(UTC), only=window)
    history = read_monitor_history(store, asked.name)
    if as_json:
        print_json(history.to_json() | _tick_json(done))
    else:
        click.echo(f"{asked.name}: {done.summary()}")
        _print_history(history)
    for name, message in (done.failed | done.awaited | done.left_out).items():
        click.echo(f"assay: window {name}: {message}", err=True)
    return _exit_code(done, history, window)


@click.command()
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=None, metavar="FOLDER",
              help="Also write history.html, history.json and history.parquet here.")
@store_option
@json_option
def history(name: str, out: Path | None, where: str | None, as_json: bool) -> int:
    """A monitor's windows: the measure with its interval, the verdicts, and what they cost.

    \b
    Example:
      assay history dedup
      assay history dedup --out history/ --store s3://bucket/ledger
    """
    told = read_monitor_history(store_named(where), name)
    if as_json:
        print_json(told.to_json())
    else:
        _print_history(told)
    if out is not None:
        from assay.tasks.report import write_files
        from assay.tasks.report.history.files import history_files

        write_files(history_files(told), out)
        for written in sorted(out.iterdir()):
            click.echo(f"wrote {file_link(written)}", err=as_json)
    return 0


def _print_history(told: History) -> None:
    measure = told.measure
    if not told.rows:
        click.echo("  no window has been opened yet")
        return
    click.echo(f"  {'window':<14} {measure:<10} {'interval':<18} {'labels':>6} {'bought':>6}  verdict")
    for row in told.rows:
        click.echo("  " + _line(row))
    for one in told.amendments:
        reason = f" ({one.reason})" if one.reason else ""
        click.echo(
            f"  version {one.number} from {one.first} on: {', '.join(one.changed)}{reason}. "
            f"{consequence_of(one)}"
        )
    muted = mute_at(told.mutes, datetime.now(UTC))
    if muted is not None:
        click.echo(f"  alerts are muted until {muted.until:%Y-%m-%d %H:%M} UTC: {muted.reason}")
    bought = wording.plural(told.bought, "label", "labels")
    windows = wording.plural(len(told.rows), "window", "windows")
    click.echo(f"  {bought} bought for {windows}")


def _line(row: HistoryRow) -> str:
    m = row.verdict.overall.measured if row.verdict else None
    value = "" if m is None else wording.shown(m.value, m.lower, m.upper)
    bounded = m is not None and m.lower is not None and m.upper is not None
    interval = wording.ends(m.value, m.lower, m.upper) if m is not None and bounded else ""
    hints = [row.state]
    if row.verdict and row.verdict.labels_to_decide:
        hints.append(f"about {wording.plural(row.verdict.labels_to_decide, 'more label')} would decide")
    if row.verdict and row.asked:
        hints.append(f"{wording.plural(row.asked, 'more label')} asked for")
    called_out = [s.segment for s in row.verdict.segments if s.verdict == "breach"] if row.verdict else []
    if called_out:
        hints.append(f"in breach: {', '.join(map(str, called_out))}")
    if row.wrong:
        hints.append(row.wrong.why if not row.verdict else f"{row.wrong.state}: {row.wrong.why}")
    if row.raised:
        hints.append(f"signals: {', '.join(signal.name for signal in row.raised)}")
    if row.revision:
        hints.append(f"revision {row.revision}")
    labels = m.labels if m else 0
    return f"{row.window:<14} {value:<10} {interval:<18} {labels:>6} {row.bought:>6}  {'; '.join(hints)}"


def _tick_json(done: Tick) -> JsonObject:
    return {
        "opened": [o.evaluation for o in done.opened],
        "verdicts": [
            {"window": v.window, "verdict": v.verdict, "revision": v.revision} for v in done.verdicts
        ],
        "waiting": done.waiting,
        "failed": done.failed,
        "awaited": done.awaited,
        "left_out": done.left_out,
    }


def _exit_code(done: Tick, told: History, window: str | None) -> int:
    if done.failed:
        return 1
    rows = [row for row in told.rows if window is None or row.window == window]
    if not rows:
        return 0
    return _EXIT_CODES[rows[-1].state]
