"""Several evaluations side by side: one line for each, and their intervals on one scale for each measure.

Measures that differ, or are of different classes, are never drawn on one scale.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from assay.tasks.report import sentences, wording
from assay.tasks.report.data import EstimateRow, ReportData
from assay.tasks.report.figures.bars import scale_of_bars
from assay.tasks.report.figures.convergence import whole_pool_rows
from assay.tasks.report.table_lines import ForestTable, table_line

_MOST_NAMED = 4     # classes
_VERDICTS = {"ok": "ok", "breach": "breach", "inconclusive": "inconclusive", None: "no limit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationLine:
    """One evaluation, by its first measure."""

    name: str
    at: str              # the id of its part of the page
    measure: str
    value: str
    interval: str
    confidence: str
    verdict: str
    state: str           # ok, breach, inconclusive or nothing
    labels: str
    pool: str
    date: str


def at_a_glance(several: Sequence[ReportData]) -> list[EvaluationLine]:
    """A line for each."""
    return [_line(data, part_of(i)) for i, data in enumerate(several)]


def part_of(i: int) -> str:
    """The id of the part of the page that tells of one evaluation."""
    return f"evaluation-{i + 1}"


def by_measure(several: Sequence[ReportData]) -> list[ForestTable]:
    """A table for each measure of each kind of labels, with the evaluations that have it.

    Of measures that only one evaluation has, only its first is among them.
    """
    found: dict[Hashable, list[tuple[ReportData, EstimateRow]]] = {}
    for data in several:
        for row in whole_pool_rows(data):
            found.setdefault((row.what, _labels(data)), []).append((data, row))
    return [
        _table(pairs) for pairs in found.values()
        if len(pairs) > 1 or pairs[0][1].same(pairs[0][0].estimates[0])
    ]


def _table(pairs: Sequence[tuple[ReportData, EstimateRow]]) -> ForestTable:
    shown = [row for _, row in pairs]
    data, row = pairs[0]
    lowest, highest = scale_of_bars(shown, data.outcome)
    return ForestTable(
        name=sentences.named_row(row) + _of_labels(data),
        of="Evaluation",
        scale_from=wording.plain_number(lowest),
        scale_to=wording.plain_number(highest),
        rows=[(data.evaluation, table_line(data, row, lowest, highest)) for data, row in pairs],
    )


def _labels(data: ReportData) -> Hashable:
    """What labels are: measures of other labels are other measures."""
    if data.outcome is None:
        return data.positive, data.negative
    return data.outcome.name, tuple(data.outcome.parts)


def _of_labels(data: ReportData) -> str:
    """`, of “match”`; `, of cat, dog, bird`; nothing for numbers."""
    if data.outcome is None:
        return f", of “{data.positive}”"
    names = list(data.outcome.parts)
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f", of {', '.join(names[:_MOST_NAMED])}{more}"


def _line(data: ReportData, at: str) -> EvaluationLine:
    row = data.estimates[0]
    finished = data.finished or data.began
    return EvaluationLine(
        name=data.evaluation,
        at=at,
        measure=sentences.named_row(row),
        value=wording.value_or_reason(row),
        interval=wording.interval(row),
        confidence=wording.percent(row.confidence),
        verdict=_VERDICTS[data.verdict] if data.state == "finished" else "not finished",
        state=data.verdict or "",
        labels=wording.grouped_digits(data.labels),
        pool=wording.grouped_digits(data.pool.n),
        date="–" if finished is None else wording.moment(finished).partition(" ")[0],
    )


def comparing(several: Sequence[ReportData]) -> list[str]:
    """What may be read from evaluations side by side, and what may not."""
    pools: dict[str, list[str]] = {}
    for data in several:
        pools.setdefault(data.pool.digest, []).append(f"“{data.evaluation}”")
    same = [" and ".join([", ".join(names[:-1]), names[-1]]) for names in pools.values() if len(names) > 1]
    said = [
        "Each evaluation has labels and an interval of its own. That two intervals overlap does not show "
        "that the values are the same, and that they do not is no test at the stated confidence.",
    ]
    said += [f"{names} judge the same predictions." for names in same]
    if len(pools) > 1:
        said.append("Where the pools differ, values differ with the items as well as with the model.")
    said.append("To find out which of two systems is better on the same items, name both under pool.systems "
                "of one spec and run assay compare: it gives the difference an interval.")
    return said
