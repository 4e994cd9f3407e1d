"""The commands of monitors: monitor, history and backfill."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill

import click

from assay.evalcore.printed import printed
from assay.flows.alerts import deliver
from assay.flows.cli.json_types import ScheduledJson, TickJson
from assay.flows.cli.look import standing_code
from assay.flows.cli.output import (
    FolderToWrite,
    file_link,
    json_option,
    print_json,
    store_for,
    store_named,
    store_option,
    working,
)
from assay.flows.monitor.funding import decisions_in_words, funding_of
from assay.flows.monitor.history import (
    figures_of,
    publish_history,
    read_monitor_history,
    with_judges,
    write_pages,
)
from assay.flows.monitor.run import Tick
from assay.flows.monitor.tick import backfill, tick
from assay.flows.monitor.versions import open_monitor, register
from assay.tasks import telemetry
from assay.tasks.alerts.outbox import Delivery, deliveries_in_words, undelivered
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import monitors, mute_at
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report import wording
from assay.tasks.report.files import write_files
from assay.tasks.report.history.record import (
    HistoryRow,
    MonitorHistory,
    consequence_of,
    history_by_question,
    runs_without_data,
)
from assay.tasks.report.history.table import (
    history_parquet,
    joined_windows,
    judge_in_words,
    place_interval,
    recent_of,
)
from assay.tasks.report.history.words import (
    STATES,
    again_in_words,
    beyond_in_words,
    decided_with_windows,
    no_data_in_words,
    response_in_words,
    windows_in_words,
)
from assay.tasks.settings import Settings
from assay.tasks.spec.monitor import load_monitor_spec


@click.command("monitor")
@click.argument("spec", type=click.Path(path_type=Path), metavar="SPEC")
@store_option
@click.option("--once", is_flag=True, help="Do what is due now, here, without a Prefect server.")
@click.option("--window", default=None, metavar="WINDOW",
              help="With --once: this window only, due or not, such as 2026-11-20.")
@click.option("--pages", type=FolderToWrite(), default=None, metavar="FOLDER",
              help="With --once: also write the pages of the monitor to FOLDER/NAME [default: ASSAY_PAGES].")
@json_option
def monitor_command(
    spec: Path, where: str | None, once: bool, window: str | None, pages: Path | None, as_json: bool
) -> int:
    """Watch a stream of predictions: every window of time becomes an evaluation, and gets a verdict.

    Registers the monitor of SPEC in its ledger and, as a scheduled deployment, with the Prefect server at
    PREFECT_API_URL. With --once nothing is scheduled: everything due is done here, and the alerts that wait
    are sent. The exit code says what happened: 3 a breach was found, or the newest judged window is in
    breach; 1 a window failed, or an alert or page was not delivered; else the newest window's state: 0 ok,
    4 inconclusive, unlabelled or missing, 5 waiting for people.

    \b
    Example:
      assay monitor dedup-monitor.yaml
      assay monitor dedup-monitor.yaml --once --window 2026-11-20
      assay monitor dedup-monitor.yaml --once --pages reports/
    """
    if not once and (window is not None or pages is not None):
        raise click.UsageError("--window and --pages can only be used with --once")
    full_spec = load_monitor_spec(spec)
    store = store_for(where, full_spec)
    is_new = register(store, full_spec)
    if (is_new or not once) and (short := funding_of(full_spec, datetime.now(UTC)).in_words):
        click.echo(f"assay: {short}", err=True)
    if not once:
        from assay.flows.monitor.deployment import deploy_monitor

        deployed = deploy_monitor(full_spec, store.url, open_monitor(store, full_spec.name).all[-1].number)
        if as_json:
            scheduled: ScheduledJson = {
                "monitor": full_spec.name, "deployment": deployed.name, "paused": deployed.paused,
            }
            print_json(scheduled)
        else:
            click.echo(f"{full_spec.name}: {deployed.in_words}")
        if ahead := decisions_in_words(store, full_spec.name):
            click.echo(f"assay: {ahead}", err=True)
        if not ("://" in full_spec.pool.source or Path(full_spec.pool.source).is_absolute()):
            click.echo(
                f"assay: pool.source: {full_spec.pool.source!r} is relative: the monitor's runs read it from "
                f"{Path.cwd()}, but sweeps and the receiver may run in other folders; use "
                "an absolute path or s3://", err=True,
            )
        return 0
    moment = datetime.now(UTC)
    with working(f"looking at the windows of {full_spec.name}"):
        done = tick(store, full_spec.name, moment=moment, only=[] if window is None else [window])
    if is_new and (ahead := decisions_in_words(store, full_spec.name)):
        click.echo(f"assay: {ahead}", err=True)
    settings = Settings() if pages is None else Settings(pages=pages)
    return _after_a_run(store, done, settings, moment, [] if window is None else [window], as_json=as_json)


@click.command("backfill")
@click.argument("name")
@click.option("--from", "first", required=True, metavar="WINDOW", help="The first window, as in 2026-11-20.")
@click.option("--to", "last", default=None, metavar="WINDOW",
              help="The last window [default: the newest that is due].")
@store_option
@json_option
def backfill_command(name: str, first: str, last: str | None, where: str | None, as_json: bool) -> int:
    """Look at windows of the monitor NAME however late it is: their files came too late, or were mended.

    They are opened, labelled and judged as any window, by the version of the spec of their time. Labels are
    those of this month; the newest window gets them first, and those that windows still to come this month
    need are left alone.

    \b
    Example:
      assay backfill dedup --from 2026-11-03 --to 2026-11-09
    """
    store, moment = store_named(where), datetime.now(UTC)
    with working(f"looking at the windows of {name} from {first} on"):
        done = backfill(store, name, from_window=first, to_window=last, moment=moment)
    return _after_a_run(store, done, Settings(), moment, done.looked_at, as_json=as_json)


def _after_a_run(
    store: Store, done: Tick, settings: Settings, moment: datetime, only: Sequence[str], *, as_json: bool
) -> int:
    """Publish, deliver and say what a run did; the exit code. only: the windows that somebody named."""
    name = done.monitor
    history = read_monitor_history(store, name)
    problems = publish_history(store, name, settings, moment, history)
    deliveries = deliver(store, [layout.monitor_ledger(name)])
    if as_json:
        print_json(_tick_json(history, done, deliveries))
    else:
        click.echo(f"{name}: {', '.join(filter(None, [done.summary(), deliveries_in_words(deliveries)]))}")
        _print_history(history, _SHOWN_WINDOWS)
    for windows, message in told_once(done.failed | done.awaited | done.left_out):
        click.echo(f"assay: {windows}: {message}", err=True)
    for message in problems:
        click.echo(f"assay: {message}", err=True)
    return _exit_code(done, history, only, failed=bool(done.failed or problems) or undelivered(deliveries))


@click.command()
@click.argument("name", required=False)
@click.option("--out", type=FolderToWrite(), default=None, metavar="FOLDER",
              help="Also write history.html, .json and .parquet here, and a page for each judged window.")
@click.option("--parquet", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
              help="Also write a row for each window and segment to this file.")
@click.option("--prometheus", "prometheus_file", type=click.Path(path_type=Path, dir_okay=False),
              default=None, metavar="FILE",
              help="Also write figures for Prometheus's textfile collector, such as FOLDER/assay.prom.")
@click.option("--otel", "send_otel", is_flag=True,
              help="Also send the figures by OTLP, to where OTEL_EXPORTER_OTLP_ENDPOINT says.")
@store_option
@json_option
def history(
    name: str | None, out: Path | None, parquet: Path | None, prometheus_file: Path | None, send_otel: bool,
    where: str | None, as_json: bool,
) -> int:
    """A monitor's windows: the measure with its interval, the verdicts, and what they cost.

    Without NAME, the monitors that there are.

    \b
    Example:
      assay history dedup
      assay history dedup --out history/ --store s3://bucket/ledger
      assay history dedup --prometheus /var/lib/node_exporter/assay-dedup.prom
    """
    store = store_named(where)
    if name is None:
        if as_json or out or parquet or prometheus_file or send_otel:
            raise click.UsageError("say which monitor; `assay history` alone lists them")
        return _list_monitors(store)
    history = with_judges(store, read_monitor_history(store, name))
    if as_json:
        print_json(history.to_json())
    else:
        _print_history(history)
    written = []
    if out is not None:
        write_pages(history, out)
        written += sorted(out.glob("history.*"))
    if parquet is not None:
        write_files({parquet.name: history_parquet(history)}, parquet.parent)
        written.append(parquet)
    if prometheus_file is not None:
        telemetry.write_textfile(figures_of(store, history, datetime.now(UTC)), prometheus_file)
        written.append(prometheus_file)
    for file in written:
        click.echo(f"wrote {file_link(file)}", err=as_json)
    if send_otel:
        telemetry.send_by_otlp(figures_of(store, history, datetime.now(UTC)))
        click.echo("sent the figures by OTLP", err=as_json)
    return 0


def _list_monitors(store: Store) -> int:
    names = monitors(store)
    for name in names:
        rows = read_monitor_history(store, name).rows
        newest = f"window {rows[-1].window}: {STATES[rows[-1].state]}" if rows else "no window yet"
        click.echo(f"{name}: {newest}; {wording.plural(len(rows), 'window')}; assay history {name}")
    if not names:
        click.echo(f"no monitor is in {store.url}; register one with `assay monitor SPEC`")
    return 0


_RESPONSES = 5   # to incidents, the newest
_SHOWN_WINDOWS = 30   # windows, after a look


def _print_history(history: MonitorHistory, limit: int | None = None) -> None:
    """limit: of the windows the newest so many; None for all."""
    if not history.rows:
        click.echo("  no window has been opened yet")
        return
    for number, of in enumerate(history_by_question(history)):
        rows = of.rows if limit is None else of.rows[-limit:]
        wide, span = max(len(of.measure), 10), max(18, *(len(place_interval(row.overall)) for row in rows))
        click.echo(
            f"  {'window':<14} {of.measure:<{wide}} {'interval':<{span}} {'last windows':<28} {'labels':>6} "
            f"{'bought':>6}  verdict"
        )
        if len(rows) < len(history.rows) and not number:
            earlier = Counter(row.state for row in history.rows[: -len(rows)])
            states = ", ".join(f"{count:,} {state}" for state, count in earlier.most_common())
            advice = f"see assay history {history.monitor}"
            click.echo(f"  {earlier.total():,} earlier windows: {states}; {advice}")
        for run in runs_without_data(rows):
            click.echo("  " + _line(run, wide, span))
    if (silent := no_data_in_words(history)) is not None:
        issue = history.without_data[-1].wrong
        click.echo(fill(silent + (f" Of the last: {issue.why}" if issue else ""), 100, initial_indent="  ",
                        subsequent_indent="    "))
    means = [row.recent for row in history.rows if row.recent is not None]
    if means:
        newest = f"last windows: the mean of as many as brackets say; the newest {joined_windows(means[-1])}"
        click.echo(fill(newest, 100, initial_indent="  ", subsequent_indent="    "))
    for change in history.judges:
        click.echo(f"  {judge_in_words(change)}")
    for version in history.amendments:
        reason = f" ({version.reason})" if version.reason else ""
        click.echo(
            f"  version {version.number} from {version.first} on: {', '.join(version.changed)}{reason}. "
            f"{consequence_of(version)}"
        )
    for response in history.responses[-_RESPONSES:]:
        click.echo(f"  {response_in_words(response)}")
    muted = mute_at(history.mutes, datetime.now(UTC))
    if muted is not None:
        click.echo(f"  alerts are muted until {muted.until:%Y-%m-%d %H:%M} UTC: {muted.reason}")
    labels = wording.plural(history.bought, "label", "labels")
    windows = wording.plural(len(history.rows), "window", "windows")
    cost = wording.cost_in_words(history.bought, history.ownership)
    click.echo(f"  {labels} bought for {windows}" + (f", {cost}" if cost else ""))
    if whose := history.ownership.in_words:
        click.echo(f"  owner: {whose}")


def _line(run: Sequence[HistoryRow], wide: int, span: int) -> str:
    """Of a window, or of several without data; wide, span: of the columns of the measure and the interval."""
    row = run[0]
    if row.has_no_data and len(run) > 1:
        return f"{windows_in_words(run)}: {STATES[row.state]}, {wording.plural(len(run), 'window')}"
    m = row.verdict.overall.measured if row.verdict else None
    value = "" if m is None else wording.estimate_text(m.value, m.lower, m.upper)
    hints = [row.state]
    if row.overall is not None and (beyond := beyond_in_words(row.overall)):
        hints.append(beyond)
    if row.overall is not None and (hint := decided_with_windows(row.overall)):
        hints.append(hint)
    if row.verdict and row.verdict.labels_to_decide:
        hints.append(f"about {wording.plural(row.verdict.labels_to_decide, 'more label')} would decide")
    if row.verdict and row.asked:
        hints.append(f"{wording.plural(row.asked, 'more label')} asked for")
    called_out = [s.segment for s in row.verdict.segments if s.verdict == "breach"] if row.verdict else []
    if called_out:
        hints.append(f"in breach: {', '.join(map(str, called_out))}")
    if row.wrong and not row.has_no_data:
        hints.append(row.wrong.why if not row.verdict else f"{row.wrong.state}: {row.wrong.why}")
    if row.raised:
        hints.append(f"signals: {', '.join(signal.name for signal in row.raised)}")
    if text := again_in_words(row):
        hints.append(text)
    labels = m.labels if m else 0
    return (
        f"{row.window:<14} {value:<{wide}} {place_interval(row.overall):<{span}} "
        f"{recent_of(row.recent):<28} {labels:>6} {row.bought:>6}  {'; '.join(hints)}"
    )


def told_once(messages: Mapping[str, str]) -> list[tuple[str, str]]:
    """(windows, message): what differs in numbers alone, such as dates, is told once, of the newest. The
    newest window's message stands for all that differ from it in numbers alone."""
    windows: dict[str, list[str]] = {}
    for window, message in messages.items():
        windows.setdefault(re.sub(r"\d+", "#", message), []).append(window)
    return [
        (f"window {names[0]}" if len(names) == 1 else
         f"{len(names)} windows, {min(names)} to {max(names)}", messages[max(names)])
        for names in windows.values()
    ]


def _tick_json(history: MonitorHistory, done: Tick, delivered: Sequence[Delivery]) -> TickJson:
    deliveries = printed(delivered)
    return {
        **history.to_json(),
        "opened": [o.evaluation for o in done.opened],
        "verdicts": [
            {"window": v.window, "verdict": v.verdict, "reissue": v.reissue} for v in done.verdicts
        ],
        "waiting": done.waiting,
        "failed": done.failed,
        "awaited": done.awaited,
        "left_out": done.left_out,
        "deliveries": deliveries,
    }


def _exit_code(done: Tick, history: MonitorHistory, only: Sequence[str], failed: bool) -> int:
    """A breach first, so that nothing hides it; then a failure; then the state of the newest window."""
    stands = standing_code([row for row in history.rows if not only or row.window in only])
    if stands == 3 or any(verdict.verdict == "breach" for verdict in done.verdicts):
        return 3
    return 1 if failed else stands
