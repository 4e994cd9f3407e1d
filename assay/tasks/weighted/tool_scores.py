"""Labels and estimates as scores in the forms that other tools take in.

    langfuse    JSON Lines, each the body of POST /api/public/scores; an estimate is of a dataset run
    langsmith   JSON Lines, each the body of POST /feedback; an estimate is of a project (session)
    phoenix     one body of POST /v1/span_annotations, or of `log_span_annotations`; none of a project

Every score of a label says beside it what the labels come to: the estimates with their intervals.  Ids follow
from the evaluation and the item, so what is sent twice is there once.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.json_values import JsonObject

RIGHT, WRONG = ("correct", "yes", "true", "right"), ("incorrect", "no", "false", "wrong")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoresOut:
    """What another tool is told of one evaluation: of n labelled items their ids, labels and targets (the
    trace, span or run that the tool knows each by), and the estimates of the whole pool."""

    evaluation: str
    item_ids: Sequence[str]
    labels: Sequence[str | float]
    targets: Sequence[str]                   # trace, span or run of each item, as the tool names it
    estimates: Sequence[MeasureEstimate]     # of the whole pool
    run: str | None = None                   # what the estimates are of; None: they stand beside labels alone


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFormat:
    """How one tool takes in scores: the column that names what each is of, the function that writes the
    file's bytes and the file's suffix, what a run is there (None where estimates have no place), and in
    words what it keeps."""

    target: str                                       # the column that names what a score is of
    suffix: str                                       # of the file
    write: Callable[[ScoresOut], bytes]
    run: str | None                                   # what --run names; None: nothing
    what: str                                         # for people


def estimate_name(row: MeasureEstimate) -> str:
    """`accuracy`, `recall.cat`, `f1.new-old`, `tone.accuracy` of one of several questions: short names that
    dashboards can list, no two alike in one evaluation."""
    system = "-".join(name for name in (row.system, row.versus) if name)
    at = None if row.at is None else f"at {row.at:g}"
    curve = None if row.curve in (None, row.measure) else f"of {row.curve}"
    parts = (row.question, row.measure, curve, row.class_name, system, at, row.segment)
    return ".".join(part for part in parts if part)


def bounds(row: MeasureEstimate) -> JsonObject:
    """An estimate as it stands beside a score; what is undefined is left out."""
    values = {"value": row.value, "lower": row.lower, "upper": row.upper, "confidence": row.confidence,
              "labels": row.labels}
    return {name: value for name, value in values.items() if value is not None}


def _number(label: str | float) -> float | None:
    """1 and 0 for right and wrong, a grade or a number as it is; None for other names."""
    if not isinstance(label, str):
        return float(label)
    if label.lower() in (*RIGHT, *WRONG):
        return float(label.lower() in RIGHT)
    return None


def _beside(out: ScoresOut, item: str) -> JsonObject:
    return {
        "evaluation": out.evaluation, "item_id": item,
        "estimates": {estimate_name(row): bounds(row) for row in out.estimates},
    }


def _ends(out: ScoresOut) -> list[tuple[str, float, MeasureEstimate]]:
    """(name, number, estimate): the value and both ends of each estimate, where they are defined."""
    return [
        (f"{out.evaluation}.{estimate_name(row)}{part}", number, row)
        for row in out.estimates
        for part, number in (("", row.value), (".lower", row.lower), (".upper", row.upper))
        if number is not None
    ]


def _id(out: ScoresOut, *parts: str) -> str:
    return str(uuid5(NAMESPACE_URL, "\0".join(("assay", out.evaluation, *parts))))


def _says(row: MeasureEstimate) -> str:
    return f"{row.confidence:.0%} interval from {row.labels:,} labels by Assay"


def _lines(rows: Sequence[JsonObject]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _langfuse(out: ScoresOut) -> bytes:
    rows: list[JsonObject] = []
    for item, label, trace in zip(out.item_ids, out.labels, out.targets, strict=True):
        number = _number(label)
        rows.append({
            "id": _id(out, item), "traceId": trace, "name": out.evaluation,
            "value": str(label) if number is None else number,
            "dataType": "CATEGORICAL" if number is None else "NUMERIC",
            "comment": f"label by people: {label}", "metadata": _beside(out, item),
        })
    if out.run is not None:
        rows += [
            {"id": _id(out, "estimate", name), "datasetRunId": out.run, "name": name, "value": number,
             "dataType": "NUMERIC", "comment": _says(row)}
            for name, number, row in _ends(out)
        ]
    return _lines(rows)


def _langsmith(out: ScoresOut) -> bytes:
    rows: list[JsonObject] = []
    for item, label, run in zip(out.item_ids, out.labels, out.targets, strict=True):
        rows.append({
            "id": _id(out, item), "run_id": run, "trace_id": run, "key": out.evaluation,
            "score": _number(label), "value": label, "comment": "label by people",
            "feedback_source": {"type": "api", "metadata": _beside(out, item)},
        })
    if out.run is not None:
        rows += [
            {"id": _id(out, "estimate", name), "run_id": None, "trace_id": None, "session_id": out.run,
             "key": name, "score": number, "comment": _says(row), "feedback_source": {"type": "api"}}
            for name, number, row in _ends(out)
        ]
    return _lines(rows)


def _phoenix(out: ScoresOut) -> bytes:
    rows: list[JsonObject] = []
    for item, label, span in zip(out.item_ids, out.labels, out.targets, strict=True):
        number = _number(label)
        result: JsonObject = {} if number is None else {"score": number}
        rows.append({
            "span_id": span, "name": out.evaluation, "annotator_kind": "HUMAN",
            "result": {"label": str(label), **result}, "metadata": _beside(out, item),
            "identifier": _id(out, item),
        })
    return (json.dumps({"data": [*rows]}, ensure_ascii=False) + "\n").encode()


SCORE_FORMATS: Mapping[str, ScoreFormat] = {
    "langfuse": ScoreFormat(target="trace_id", suffix="jsonl", write=_langfuse, run="the id of a dataset run",
                            what="scores of traces"),
    "langsmith": ScoreFormat(target="trace_id", suffix="jsonl", write=_langsmith,
                             run="the id of a project (session)", what="feedback on runs"),
    "phoenix": ScoreFormat(target="span_id", suffix="json", write=_phoenix, run=None,
                           what="annotations of spans"),
}


def score_format(tool: str, run: str | None) -> ScoreFormat:
    """Raises BadInput where the tool has no place for what `run` names."""
    chosen = SCORE_FORMATS[tool]
    if run is not None and chosen.run is None:
        raise BadInput(f"--run: {tool} keeps {chosen.what} and none of a run; leave it out: the estimates "
                       "stand in the metadata of every score")
    return chosen
