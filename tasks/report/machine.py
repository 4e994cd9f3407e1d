"""The report for machines: the contract JSON of every command, and one Parquet row per round and measure."""

import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.printed import printed
from assay.evalcore.types import JsonObject
from assay.tasks.ledger.record import plain
from assay.tasks.report.data import ExtensionRow, Moved, ReportData, RoundRow
from assay.tasks.report.printed import (
    EvaluationJson,
    ExtensionPart,
    JointPart,
    KnownBeforePart,
    OutcomesPart,
    RevisionPart,
    RoundJson,
)


def contract(data: ReportData) -> EvaluationJson:
    """The object that `run`, `advance`, `status` and `report` print with `--json`.

    `joint_region` is there only where the method gives several measures a region, `revised` only after a
    revision, `extensions` only after one.
    """
    waiting_for: Any = None if data.waiting_for is None else dict(data.waiting_for)
    return {
        "evaluation": data.evaluation,
        "state": data.state,
        "waiting_for": waiting_for,
        "stopped_by": data.stopped_by,
        "verdict": data.verdict,
        "labels": data.labels,
        "rounds": data.rounds,
        "revision": data.revision,
        "estimates": [printed(row) for row in data.estimates],
        **known_before_part(data.known_before),
        **outcomes_part(data.outcomes),
        **joint_part(data.joint),
        **revision_part(data.revision, data.revised_items, data.moved),
        **extensions_part(data.extensions),
    }


def known_before_part(labels: int) -> KnownBeforePart:
    """The contract's `labels_known_before`: labels that were not bought; or nothing without any."""
    return {"labels_known_before": labels} if labels else {}


def outcomes_part(known: int | None) -> OutcomesPart:
    """The contract's `outcomes`: items whose label came by itself; or nothing without a source of them."""
    return {} if known is None else {"outcomes": {"known": known}}


def joint_part(joint: JointRegion | None) -> JointPart:
    """The contract's `joint_region`, or nothing."""
    return {} if joint is None else {"joint_region": plain(joint)}


def revision_part(revision: int, items: int, moved: Sequence[Moved]) -> RevisionPart:
    """The contract's `revised`: how many labels differ, and what that did; or nothing."""
    told: Any = [asdict(one) for one in moved]
    return {"revised": {"items": items, "moved": told}} if revision else {}


def extensions_part(extensions: Sequence[ExtensionRow]) -> ExtensionPart:
    """The contract's `extensions`: more labels that it was given after it had finished; or nothing."""
    told: Any = [asdict(one) for one in extensions]
    return {"extensions": told} if extensions else {}


def _people(data: ReportData) -> JsonObject:
    """How people did, where it is known."""
    return {} if data.annotators is None else {"annotators": asdict(data.annotators)}


def _audit(data: ReportData) -> JsonObject:
    """What would bring the wide interval down, where one is announced."""
    return {} if data.audit_price is None else {"audit": asdict(data.audit_price)}


def _judges(data: ReportData) -> JsonObject:
    """What the labels say of the judges, where there are any."""
    return {} if data.judges is None else {"judges": plain(data.judges)}


def _errors(data: ReportData) -> JsonObject:
    """The errors among the labelled items, where there are predictions."""
    if data.errors is None:
        return {}
    errors = data.errors
    return {"errors": {
        "labelled": errors.labelled,
        "count": errors.count,
        "stand_for": errors.weight,
        "items": [
            {
                "item_id": one.item_id, "predicted": one.predicted_text, "label": one.label_text,
                "score": one.score, "probability": one.probability, "round": one.round, "cell": one.cell,
                "asked": one.asked, "chance": one.chance, "chance_kind": one.chance_kind,
                "weight": one.weight,
            }
            for one in errors.items
        ],
    }}


def _labels_and_scores(data: ReportData) -> JsonObject:
    """Where the labels went on the axis of the score, and whether probabilities hold, with two classes."""
    return {
        **({"score_axis": [asdict(bin) for bin in data.score_axis]} if data.score_axis else {}),
        **({"reliability": [asdict(bin) for bin in data.reliability]} if data.reliability else {}),
    }


def report_json(data: ReportData) -> bytes:
    """`report.json`: the contract, under "history" what was known after every round, and how people did."""
    history: list[RoundJson] = [
        {
            "round": past.round,
            "asked": past.asked,
            "labels": past.labels,
            "estimates": [printed(row) for row in past.estimates],
        }
        for past in data.history
    ]
    whole = dict(contract(data)) | {"history": history}
    whole |= _people(data) | _audit(data) | _judges(data) | _errors(data) | _labels_and_scores(data)
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
        for row in past.estimates
    ]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def rounds_and_reissue(data: ReportData) -> list[RoundRow]:
    """The history, and the current estimates where it does not end with them (a revision, or no history)."""
    past = list(data.history)
    if past and list(past[-1].estimates) == list(data.estimates):
        return past
    return [*past, RoundRow(round=data.rounds, asked=0, labels=data.labels, estimates=data.estimates)]
