"""The report for machines: the contract JSON of every command, and one Parquet row per round and measure."""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import NotRequired

from typing_extensions import TypedDict

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.forecast.audit import AuditPrice
from assay.evalcore.printed import printed
from assay.evalcore.weighted.judges import Judges, ReliabilityBin
from assay.evalcore.weighted.sample import ScoreBin, WrongPredictions
from assay.tasks.ledger.closed_round import RoundEstimate
from assay.tasks.report.data import ReportData
from assay.tasks.report.standing import EvaluationJson


class RoundJson(TypedDict):
    """What was known when a round closed."""

    round: int
    asked: int                       # newly
    labels: int                      # so far
    estimates: list[MeasureEstimate]


class ReportJson(EvaluationJson):
    """The file report.json."""

    history: list[RoundJson]
    annotators: NotRequired[AnnotatorQuality]      # how people did, where it is known
    audit: NotRequired[AuditPrice]                 # only where a wide interval is announced
    judges: NotRequired[Judges]                    # only where the pool has judges
    errors: NotRequired[WrongPredictions]                # only where there are predictions
    score_axis: NotRequired[list[ScoreBin]]        # of two classes: where the labels went
    reliability: NotRequired[list[ReliabilityBin]]  # of classes with probabilities


def report_json(data: ReportData) -> bytes:
    """`report.json`: the contract, under "history" what was known after every round, and what is known of
    people, judges and errors.
    """
    history = [
        {"round": past.round, "asked": past.asked, "labels": past.labels, "estimates": printed(past.rows)}
        for past in data.history
    ]
    beside = {
        "annotators": data.annotators, "audit": data.audit_price, "judges": data.judges,
        "errors": data.errors, "score_axis": data.score_axis, "reliability": data.reliability,
    }
    whole = {**data.contract(), "history": history} | {
        name: printed(part) for name, part in beside.items() if part not in (None, (), [])
    }
    return (json.dumps(whole, indent=2, allow_nan=False) + "\n").encode()


def report_parquet(data: ReportData) -> bytes:
    """`report.parquet`: one row per round and estimate; estimates reissued later follow."""
    return parquet_of([data])


def parquet_of(several: Sequence[ReportData]) -> bytes:
    """The same of several evaluations, one after the other."""
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
        for data in several
        for past in rounds_and_reissue(data)
        for row in past.rows
    ]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def rounds_and_reissue(data: ReportData) -> list[RoundEstimate]:
    """The history, and the current estimates where it does not end with them (a revision, or no history)."""
    past = list(data.history)
    if data.known is None or (past and past[-1].rows == data.estimates):
        return past
    return [*past, replace(data.known, asked=0, positives=None)]
