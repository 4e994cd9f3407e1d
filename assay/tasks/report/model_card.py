"""A model card's part on evaluation, in Markdown: data, sampling, uncertainty and limits.

Its sections are what Annex IV, 2(g), of the EU's AI Act asks of the technical documentation of a high-risk
system (procedures of testing, the data they used and its main characteristics, metrics of accuracy), and what
MEASURE 2.1, 2.3 and 2.5 of NIST's AI Risk Management Framework ask to be documented (test sets, metrics and
tools; performance under conditions like those of deployment; limits of generalising).
"""

import re
from collections.abc import Iterator

from assay.tasks.report import sentences, wording
from assay.tasks.report.data import ReportData, whole_pool_rows

_MOST_SOURCES = 10   # files of a pool that a card names
_MARKS = re.compile(r"([\\`*_{}\[\]<>|#])")


def model_card(data: ReportData) -> bytes:
    """The text; the same data gives the same bytes."""
    return ("\n".join(_lines(data)) + "\n").encode()


def _lines(data: ReportData) -> Iterator[str]:
    yield f"# Evaluation {_plain(data.evaluation)}"
    yield ""
    if data.state != "finished":
        yield "**Interim figures: the evaluation has not finished.**"
        yield ""
    yield _plain(sentences.headline(data))
    yield ""
    yield "| measure | estimate | interval | confidence | labels |"
    yield "| --- | --- | --- | --- | --- |"
    for row in data.estimates:
        if row in whole_pool_rows(data) or row.segment is not None:
            where = f" in {row.segment}" if row.segment else ""
            cells = (
                sentences.named_row(row) + where, wording.estimate_text(row.value, row.lower, row.upper),
                wording.interval(row), wording.percent(row.confidence), wording.grouped_digits(row.labels),
            )
            yield f"| {' | '.join(map(_plain, cells))} |"
    yield from _section("Data", _data(data))
    yield from _section("Sampling", _sampling(data))
    yield from _section("Uncertainty", _uncertainty(data))
    yield from _section("Limits", _limits(data))
    yield ""
    yield ("*For Annex IV, 2(g), of the EU AI Act and MEASURE 2.1, 2.3 and 2.5 of the NIST AI RMF: a part of "
           "what they ask for, and no finding of conformity.*")


def _section(title: str, points: Iterator[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    for point in points:
        yield f"- {_plain(point)}"


def _data(data: ReportData) -> Iterator[str]:
    items = wording.plural(data.pool.n, "item")
    yield f"Predictions of {items}, frozen before the first label. SHA-256 of them: {data.pool.digest}."
    shown, more = data.pool.sources[:_MOST_SOURCES], len(data.pool.sources) - _MOST_SOURCES
    yield f"Read from {', '.join(shown)}{f' and {more} more' if more > 0 else ''}."
    if data.question:
        yield f"What was asked of each labelled item: {data.question}"
    yield (f"Labels of {wording.plural(data.labels, 'item')}"
           f"{f', of which {data.known_before} were known before' if data.known_before else ''}; "
           f"{wording.plural(data.undecided, 'item')} could not be decided.")
    if data.revision:
        yield f"Answers that changed afterwards are taken into account: revision {data.revision}."


def _sampling(data: ReportData) -> Iterator[str]:
    yield sentences.sampling(data)
    yield (f"{wording.plural(data.rounds, 'round')}, method {data.method}, random seed {data.seed}; every "
           "chance is in evidence/draws.csv.")
    yield sentences.stopped(data)
    yield from sentences.extended(data.extensions, data.confidence_asked)


def _uncertainty(data: ReportData) -> Iterator[str]:
    kinds = dict.fromkeys(sentences.interval_kind(row.interval) for row in data.estimates)
    yield f"Intervals: {'; '.join(kinds)}."
    yield from filter(None, (data.interval_note, sentences.trusted(data)))
    yield from sentences.warnings(data.estimates)


def _limits(data: ReportData) -> Iterator[str]:
    ours = [row for row in data.estimates if row.about != "population"]
    yield ("The figures are about the frozen items alone: other items, times and people are not covered."
           if ours else "The figures are about the population that the frozen items were drawn from.")
    segments = sorted({row.segment for row in data.estimates if row.segment})
    yield f"Measured by segment: {', '.join(segments)}." if segments else \
        "No segment was measured by itself, so nothing is said of differences between groups."
    if data.undecided:
        yield "Items that people could not decide have no label; the estimates treat them as the report says."
    yield ("Labels count as right, as people or programs gave them; robustness, security and effects on "
           "people were not measured.")


def _plain(text: str) -> str:
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
