"""The report as files: `report.html` for people, `report.json` and `report.parquet` for machines.

    data = ReportData(...)              # gathered by a flow from the ledger
    files = render_report(data)         # bytes, nothing written
    paths = write_report(data, folder)  # the three files, each replaced whole
"""

import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired

from typing_extensions import TypedDict

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.evalcore.errors import AssayError
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.forecast.audit import AuditPrice
from assay.evalcore.printed import FORMAT_NUMBER, PRINTED_FORMAT, json_file, printed
from assay.evalcore.weighted.judges import Judges, ReliabilityBin
from assay.evalcore.weighted.sample import ScoreBin, WrongPredictions
from assay.tasks.ledger.record import understood
from assay.tasks.report.data import IN_JSON, JudgeChecks, ReportData, rounds_and_reissue
from assay.tasks.report.standing import EvaluationJson


class ReportNotWritten(AssayError):
    """The folder of the report cannot be written to; the message names it and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """The paths of the three files of a written report: the page, the JSON and the Parquet table."""

    html: Path
    json: Path
    parquet: Path


def render_report(data: ReportData) -> dict[str, bytes]:
    """File name -> bytes. The same data gives the same bytes."""
    from assay.tasks.report.page import report_html

    return {
        "report.html": report_html(data),
        "report.json": report_json(data),
        "report.parquet": report_parquet(data),
    }


def write_report(data: ReportData, folder: Path) -> ReportFiles:
    """Write the three files into `folder` (made if missing); an older report there is replaced.

    Raises ReportNotWritten when the folder cannot be made or written to.
    """
    write_files(render_report(data), folder)
    return ReportFiles(
        html=folder / "report.html", json=folder / "report.json", parquet=folder / "report.parquet"
    )


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write these files into `folder` (made if missing), in order, each replaced whole. A process that ends
    in between leaves each file old or new, never in part.

    Raises ReportNotWritten.
    """
    for name, blob in files.items():
        partial = folder / f"{name}.partial"
        try:
            partial.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(blob)
            os.replace(partial, folder / name)
        except OSError as error:
            with suppress(OSError):   # half a file helps nobody, and takes the space that was lacking
                partial.unlink(missing_ok=True)
            raise ReportNotWritten(
                f"cannot write {name} to {folder}: {error.strerror}; choose another folder, or give this one "
                "space and the right to write"
            ) from error


class RoundJson(TypedDict):
    """What was known when a round closed: how many items were newly asked in it, the labels so far, and the
    estimates."""

    round: int
    asked: int                       # newly
    labels: int                      # so far
    estimates: list[MeasureEstimate]


class ReportJson(EvaluationJson):
    """The content of report.json: where the evaluation stands, its estimates round by round, and, where they
    apply, what is known of annotators, judges, wrong predictions and calibration."""

    rests_on: str                                  # what the interval takes without being shown
    history: list[RoundJson]
    annotators: NotRequired[AnnotatorQuality]      # how people did, where it is known
    ceiling: NotRequired[list[MeasureEstimate]]    # people against each other, where two answer each item
    audit: NotRequired[AuditPrice]                 # only where a wide interval is announced
    judges: NotRequired[Judges]                    # only where the pool has judges
    judge_checks: NotRequired[JudgeChecks]         # only where the spec asks
    errors: NotRequired[WrongPredictions]                # only where there are predictions
    score_axis: NotRequired[list[ScoreBin]]        # of two classes: where the labels went
    reliability: NotRequired[list[ReliabilityBin]]  # of classes with probabilities


def report_json(data: ReportData) -> bytes:
    """`report.json`: the contract, under "history" what was known after every round, and what is known of
    people, judges and errors. UTF-8 with two spaces of indentation; undefined numbers are null."""
    history = [
        {"round": past.round, "asked": past.asked, "labels": past.labels, "estimates": printed(past.rows)}
        for past in data.history
    ]
    document = {**data.contract(), "rests_on": data.rests_on, "history": history} | {
        finding.name: printed(part) for finding in IN_JSON
        if (part := finding.value_in(data)) not in (None, (), [])
    }
    with understood(data.evaluation):    # a number that no measure has
        return json_file(document)


def report_parquet(data: ReportData) -> bytes:
    """`report.parquet`: one row per round and estimate; estimates reissued later follow."""
    return parquet_of([data])


def parquet_of(reports: Sequence[ReportData]) -> bytes:
    """A Parquet file, in bytes, with a row for each evaluation, round and estimate, evaluation after
    evaluation: the measure, what it is of, its value and interval, and what it rests on."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [
            ("evaluation", pa.string()),
            ("round", pa.int64()),
            ("measure", pa.string()),
            ("system", pa.string()),
            ("versus", pa.string()),
            ("class", pa.string()),
            ("at", pa.float64()),
            ("segment", pa.string()),
            ("value", pa.float64()),
            ("undefined_reason", pa.string()),
            ("lower", pa.float64()),
            ("upper", pa.float64()),
            ("confidence", pa.float64()),
            ("interval", pa.string()),
            ("labels", pa.int64()),
            ("revision", pa.int64()),
            ("random_labels", pa.int64()),
            ("unlabelled_share", pa.float64()),
            ("unseen_bound", pa.int64()),
        ]
    )
    rows = [
        {"evaluation": data.evaluation, "round": past.round}
        | {name: value for name, value in printed(row).items() if name in schema.names}
        | {name: getattr(row.not_excluded, name, None) for name in ("unlabelled_share", "unseen_bound")}
        for data in reports
        for past in rounds_and_reissue(data)
        for row in past.rows
    ]
    sink = io.BytesIO()
    numbers = {FORMAT_NUMBER: str(PRINTED_FORMAT)}
    table = pa.Table.from_pylist(rows, schema=schema.with_metadata(numbers))
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()
