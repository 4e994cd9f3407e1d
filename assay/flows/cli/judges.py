"""The command that looks at judges: what moves them away from people, and audits of old calibrations."""

from textwrap import fill

import click

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.questions import asks_several
from assay.evalcore.printed import printed
from assay.evalcore.weighted.judge_audit import AuditVerdict, JudgeAudit
from assay.flows.cli.check import markdown_cell
from assay.flows.cli.json_types import JudgesJson
from assay.flows.cli.output import FINITE, json_option, print_json, store_named, store_option, working
from assay.flows.judges import audits_of_judges, effects_of_features, read_judge_checks, read_judges
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.weighted import read_sample
from assay.tasks.report.data import JudgeChecks
from assay.tasks.report.guesses import (
    AuditLine,
    EffectLine,
    JudgeLine,
    JudgeSection,
    judge_checks_in_words,
    judges_in_words,
)

_EXIT_CODES: dict[AuditVerdict, int] = {"pass": 0, "fail": 3, "inconclusive": 4}


@click.command("judges")
@click.argument("name")
@click.option("--features", default=None, metavar="F[,F]",
              help="What may move a judge: columns of the pool, or length(a shown column) [default: those of "
                   "the spec].")
@click.option("--audit", "earlier", default=None, metavar="EVALUATION",
              help="Audit the calibration that the labels of this earlier evaluation give [default: that of "
                   "the spec].")
@click.option("--margin", type=FINITE, default=None,
              help="With --audit: how far off it may be, in the unit of the value, or a share of the items.")
@click.option("--judge", default=None, metavar="NAME", help="With --audit: this judge alone.")
@click.option("--markdown", is_flag=True, help="Print Markdown tables, for a pull request.")
@store_option
@json_option
def judges_command(
    name: str, features: str | None, earlier: str | None, margin: float | None, judge: str | None,
    markdown: bool, where: str | None, as_json: bool,
) -> int:
    """How good an evaluation's judges are, what moves them away from people, and audits of them.

    All from labels that were bought, weighted to the pool; nobody is asked. An audit holds the calibration by
    an earlier evaluation's labels against the labels of this one: it passes where the whole interval lies
    within the margin, and fails where it lies beyond.

    Exit code with an audit: 0 pass, 3 fail, 4 inconclusive; else 0.

    \b
    Example:
      assay judges answers-november --features 'length(answer),position,format'
      assay judges answers-november --audit answers-october --margin 0.2
    """
    if (earlier is None) != (margin is None):
        raise BadInput("--audit and --margin go together: an evaluation, and how far off it may be")
    if margin is not None and not 0 < margin < float("inf"):
        raise BadInput(f"--margin is {margin:g}; give a number above 0")
    if markdown and as_json:
        raise BadInput("--markdown and --json are two forms of the same: give one")
    if judge is not None and earlier is None:
        raise BadInput("--judge picks a judge to audit; give --audit and --margin, or leave it out")
    with working(f"looking at the judges of {name}"):
        opened = open_evaluation(store_named(where), name)
        if asks_several(opened.question):
            raise BadInput(f"evaluation {name!r} asks several questions, and judges are looked at where one "
                           "is asked")
        sample = read_sample(opened)
        judges = read_judges(opened, current_standing(opened), sample)
        if features is None and earlier is None:
            checks = read_judge_checks(opened, sample) or JudgeChecks()
        else:
            listed = [part.strip() for part in (features or "").split(",") if part.strip()]
            checks = JudgeChecks(
                effects=effects_of_features(opened, sample, listed) if listed else None,
                audits=() if earlier is None or margin is None else audits_of_judges(
                    opened, sample, earlier, margin, judge
                ),
            )
        if judges is None and checks == JudgeChecks():
            effects_of_features(opened, sample, [])     # says why there is nothing to look at
    verdict = _together(checks.audits)
    if as_json:
        result: JudgesJson = {
            "evaluation": name, "labels": len(sample.rows), "revision": sample.revision,
            "checks": printed(checks), "verdict": verdict,
        }
        if judges is not None:
            result["judges"] = printed(judges)
        print_json(result)
    else:
        title = f"{name}: judges by {len(sample.rows):,} labels"
        section = None if judges is None else judges_in_words(judges)
        click.echo(_markdown(title, section, checks) if markdown else title)
        if not markdown:
            _print(section, checks)
    return 0 if verdict is None else _EXIT_CODES[verdict]


def _together(audits: tuple[JudgeAudit, ...]) -> AuditVerdict | None:
    """Of several judges: one that fails fails all."""
    verdicts: tuple[AuditVerdict, ...] = ("fail", "inconclusive", "pass")
    return next((verdict for verdict in verdicts if verdict in {audit.verdict for audit in audits}), None)


def _print(judges: JudgeSection | None, checks: JudgeChecks) -> None:
    for figure in judges.rows if judges else ():
        click.echo(f"  {figure.judge} {figure.figure}: {_said(figure)}")
    section = judge_checks_in_words(checks)
    if section.rows:
        click.echo("What moves it away from people, all intervals together:")
    for row in section.rows:
        mark = " *" if row.beyond_chance else ""
        click.echo(f"  {row.judge}: {row.figure}, {row.feature}: {_said(row)}{mark}")
    if section.audited:
        click.echo("The old calibration, calibrated minus label:")
    for line in section.audited:
        click.echo(f"  {line.judge} {line.part}: {_said(line)}, {line.verdict}")
    for text in (*section.lines, *section.verdicts, *section.notes):
        click.echo(fill(text, 100, initial_indent="  ", subsequent_indent="    "))


def _said(line: JudgeLine | EffectLine | AuditLine) -> str:
    return f"undefined: {line.undefined}" if line.undefined else f"{line.value} ({line.interval})"


def _markdown(title: str, judges: JudgeSection | None, checks: JudgeChecks) -> str:
    section = judge_checks_in_words(checks)
    lines = [f"### {markdown_cell(title)}", ""]
    lines += _table(("Judge", "Figure", "Estimate", "Interval"), [
        (row.judge, row.figure, *_known(row.undefined, row.value, row.interval))
        for row in (judges.rows if judges else ())
    ])
    lines += _table(("Judge", "Feature", "Figure", "Change", "Interval of all together"), [
        (row.judge, row.feature, row.figure, *_known(row.undefined, row.value, row.interval))
        for row in section.rows
    ])
    lines += _table(("Judge", "Calibrated minus label", "Off by", "Interval", "Verdict"), [
        (row.judge, row.part, *_known(row.undefined, row.value, row.interval), row.verdict)
        for row in section.audited
    ])
    for text in (*section.lines, *section.verdicts, *section.notes):
        lines += [markdown_cell(text), ""]
    return "\n".join(lines).rstrip()


def _known(undefined: str | None, value: str, interval: str) -> tuple[str, str]:
    return (f"undefined: {undefined}", "") if undefined else (value, interval)


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Nothing without a row."""
    if not rows:
        return []
    lines = [heads, ("---",) * len(heads), *rows]
    return [*("| " + " | ".join(map(markdown_cell, row)) + " |" for row in lines), ""]
