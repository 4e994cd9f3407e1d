"""The command for a pipeline: is a measure where it has to be, and is the new system no worse?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import click

from assay.evalcore.errors import AssayError, BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import Verdict, verdict_of_interval
from assay.flows.cli.json_types import CheckedJson, CheckedPoolJson, CheckJson
from assay.flows.cli.output import FINITE, json_option, print_json, store_named, store_option
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.record.standing import current_standing
from assay.tasks.pool.same_source import FrozenPool, SourceChanged, refuse_changed_source
from assay.tasks.report import wording
from assay.tasks.report.standing import Standing
from assay.tasks.spec.evaluation import Spec

_EXIT: dict[Verdict, Literal[0, 3, 4]] = {"ok": 0, "breach": 3, "inconclusive": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One estimate of the newest round beside the limit that it is judged against: the lower and the upper
    end of what is allowed, None where there is none, and the verdict ok, breach or inconclusive."""

    row: MeasureEstimate
    low: float | None
    high: float | None
    verdict: Verdict

    @property
    def limit(self) -> str:
        """The limit in words: `at least 0.8`, `at most 0.1`, or both joined by "and" where the measure has
        to stay between two values. It is empty where neither end is set."""
        ends = (("at least", self.low), ("at most", self.high))
        return " and ".join(f"{word} {end:g}" for word, end in ends if end is not None)

    def to_json(self) -> CheckJson:
        """One entry of the list `checks` that `assay check --json` prints: the estimate with its interval
        and confidence, the ends of the limit, and the verdict. The key `question` is there only where
        several questions are asked."""
        row = self.row
        entry: CheckJson = {
            "measure": row.measure, "class": row.class_name, "system": row.system, "versus": row.versus,
            "segment": row.segment, "value": row.value, "undefined_reason": row.undefined_reason,
            "lower": row.lower, "upper": row.upper, "confidence": row.confidence,
            "min": self.low, "max": self.high, "verdict": self.verdict,
        }
        if row.question is not None:
            entry["question"] = row.question
        return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPool:
    """The pool of an evaluation, after its source was compared with it."""

    pool: FrozenPool
    source: str
    not_compared: str | None    # why not; None where the source holds the pool

    @property
    def text(self) -> str:
        """One line about the pool: how many items it has and when it was frozen, and whether its source
        still holds it, or why the two could not be compared."""
        if self.not_compared is None:
            return f"pool: {self.pool.text}; {self.source} holds it"
        return f"pool: {self.pool.text}; not compared with what is there now: {self.not_compared}"

    def to_json(self) -> CheckedPoolJson:
        """The entry `pool` of what `assay check --json` prints: items, digest, date of the freeze and
        source. `same` is true where the source holds the pool, and null, with the reason in
        `not_compared`, where nobody could look."""
        pool, reason = self.pool, self.not_compared
        return {
            "items": pool.items, "digest": pool.digest, "frozen": pool.frozen, "source": self.source,
            "same": True if reason is None else None, "not_compared": reason,
        }


@click.command()
@click.argument("name")
@click.option("--source", default=None, metavar="FILE",
              help="Demand that this file (or folder, or glob) holds the pool of the evaluation.")
@click.option("--measure", default=None, metavar="NAME", help="The measure to check [default: the first].")
@click.option("--min", "low", type=FINITE, default=None, metavar="X", help="It must be at least X.")
@click.option("--max", "high", type=FINITE, default=None, metavar="X", help="It must be at most X.")
@click.option("--class", "class_name", default=None, metavar="CLASS",
              help="Of this class, for a measure with a value for each.")
@click.option("--question", default=None, metavar="NAME",
              help="Of this question, where several are asked [default: the first].")
@click.option("--system", default=None, metavar="NAME", help="Of this system, where the pool holds several.")
@click.option("--baseline", default=None, metavar="NAME",
              help="Its difference from this system, the evaluation's baseline.")
@click.option("--markdown", is_flag=True, help="Print a Markdown table, for a pull request.")
@store_option
@json_option
def check(
    name: str, source: str | None, measure: str | None, low: float | None, high: float | None,
    class_name: str | None, question: str | None, system: str | None, baseline: str | None, markdown: bool,
    where: str | None, as_json: bool,
) -> int:
    """Compare an evaluation with a limit or with its baseline, for a pipeline that has to decide.

    Without --min and --max the limit is the spec's, or with --baseline 0: no worse.
    The verdict is about the whole interval, not the value: ok if all of it is within the limit.

    The numbers are about the frozen pool. If its source holds something else by now, the command is refused;
    if the source is not there, that is said. --source demands that a file is the pool, wherever it is.

    Exit code 0: ok; 3: breach; 4: inconclusive; 5: the evaluation has not finished.

    \b
    Example:
      assay check restaurant-dedup --min 0.8
      assay check restaurant-dedup --min 0.8 --source predictions.csv
      assay check two-models --baseline v1 --measure f1 --min -0.01 --markdown >> $GITHUB_STEP_SUMMARY
    """
    opened = open_evaluation(store_named(where), name)
    pool = _compared(opened, source)
    standing = current_standing(opened)
    if low is None and high is None:
        low, high = _limit(opened.spec, measure, baseline)
    finished = standing.state == "finished"
    rows = _of_question([row for row in standing.estimates if row.segment is None], question)
    # before the first round is closed there is nothing to look up
    estimates = _wanted(rows, name, measure, class_name, system, baseline) if rows or finished else []
    checks = [
        Checked(row=row, low=low, high=high, verdict=verdict_of_interval(row.lower, row.upper, low, high))
        for row in estimates
    ]
    code = _exit_code(checks) if finished else 5
    if as_json:
        result: CheckedJson = {
            "evaluation": name, "state": standing.state, "pool": pool.to_json(), "labels": standing.labels,
            "checks": [entry.to_json() for entry in checks], "exit_code": code,
        }
        print_json(result)
    else:
        click.echo(_markdown(standing, checks, pool) if markdown else _lines(standing, checks, pool))
    return code


def _compared(opened: Opened, source: str | None) -> ComparedPool:
    """The pool, compared with `source`, or else with its own one if that can be looked at.

    Raises SourceChanged where it holds something else; BadInput where `source` cannot be looked at.
    """
    pool, reason = FrozenPool.from_ledger(opened.ledger, opened.spec, opened.manifest), None
    try:
        refuse_changed_source(opened.ledger, opened.spec, opened.manifest, source=source)
    except SourceChanged:
        raise
    except AssayError as error:
        if source is not None:
            raise BadInput(f"--source: {error}") from None
        reason = str(error)
    return ComparedPool(pool=pool, source=source or pool.source, not_compared=reason)


def _limit(spec: Spec, measure: str | None, baseline: str | None) -> tuple[float | None, float | None]:
    """What counts as ok where the command does not say it. Raises BadInput where nothing does."""
    if baseline is not None:
        return (None, 0.0) if _is_error(spec, measure) else (0.0, None)
    if spec.limit is not None and measure in (None, spec.measure[0].name):
        return spec.limit.min, spec.limit.max
    raise BadInput("give --min, --max, or both: the spec has no limit for this measure")


def _is_error(spec: Spec, measure: str | None) -> bool:
    """Whether less of the measure is better; of the first one where none is named."""
    kind, one_class = spec.labels.outcome, spec.labels.one_class
    measures = [
        choice.of_two_classes(one_class) if kind is None else choice.outcome_measure(kind, spec.budget.labels)
        for choice in spec.measure
    ]
    measures = [choice for choice in measures if choice.name == measure] if measure else measures[:1]
    return any(choice.is_error for choice in measures)


def _of_question(rows: Sequence[MeasureEstimate], question: str | None) -> list[MeasureEstimate]:
    """The estimates of a question; of several, of the first unless one is named.  Raises BadInput."""
    names = list(dict.fromkeys(row.question for row in rows if row.question is not None))
    if question is not None and rows and question not in names:
        hint = f"it asks {', '.join(names)}" if names else "it asks one question; leave out --question"
        raise BadInput(f"--question: {question!r} is none of the evaluation's questions: {hint}")
    name = question or (names[0] if names else None)
    return [row for row in rows if row.question == name]


def _wanted(
    rows: Sequence[MeasureEstimate], name: str, measure: str | None, class_name: str | None,
    system: str | None, baseline: str | None,
) -> list[MeasureEstimate]:
    """The estimates that are asked about. Raises BadInput naming those there are."""
    if not rows:
        raise BadInput(f"evaluation {name!r} has no estimates; assay status {name} says why")
    measure = measure or rows[0].measure
    matches = [
        row for row in rows
        if row.measure == measure and row.versus == baseline
        and (class_name is None or row.class_name == class_name) and (system is None or row.system == system)
    ]
    if not matches:
        names = ", ".join(dict.fromkeys(row.what for row in rows))
        raise BadInput(f"evaluation {name!r} has no such estimate; it has {names}")
    return matches


def _exit_code(checks: Sequence[Checked]) -> Literal[0, 3, 4]:
    """Of the worst: a breach before what is inconclusive."""
    verdicts = {entry.verdict for entry in checks}
    worse: tuple[Verdict, ...] = ("breach", "inconclusive")
    return next((_EXIT[v] for v in worse if v in verdicts), 0)


def _lines(standing: Standing, checks: Sequence[Checked], pool: ComparedPool) -> str:
    lines = [
        f"  {entry.row.what}: {_value(entry.row)}, {entry.limit}: {entry.verdict}" for entry in checks
    ]
    return "\n".join([f"{standing.evaluation}: {_how_far(standing)}", *lines, f"  {pool.text}"])


def _markdown(standing: Standing, checks: Sequence[Checked], pool: ComparedPool) -> str:
    rows = [
        f"| {markdown_cell(c.row.what)} | {wording.value_or_reason(c.row)} | {wording.interval(c.row)} "
        f"| {c.limit} | {c.verdict} |"
        for c in checks
    ]
    table = []
    if checks:
        confidence = wording.percent(checks[0].row.confidence)
        table = [f"| measure | value | {confidence} interval | limit | verdict |",
                 "| --- | --- | --- | --- | --- |", *rows, ""]
    return "\n".join([
        f"**{markdown_cell(standing.evaluation)}**: {_how_far(standing)}", "", *table,
        markdown_cell(pool.text),
    ])


def _value(row: MeasureEstimate) -> str:
    value = wording.value_or_reason(row)
    return f"{value} ({wording.interval(row)})" if wording.has_interval(row) else value


def _how_far(standing: Standing) -> str:
    labels = wording.plural(standing.labels, "label", "labels")
    if standing.state == "finished":
        return f"{labels}, finished"
    suffix = "" if standing.estimates else "; no estimate before the first round is closed"
    return f"{labels} so far, not finished{suffix}"


def markdown_cell(text: str) -> str:
    """The text made safe for a cell of a Markdown table: backslashes and bars are escaped, `<` becomes an
    entity, so that no tag begins, and line breaks become spaces."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
