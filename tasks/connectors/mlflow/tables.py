"""`eval_results_table.json`, the table that `mlflow.evaluate` logs: a row for each question.

A column `NAME/score` is a judge's verdict, `NAME/justification` its reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.mlflow.assessments import verdict_of
from assay.tasks.connectors.mlflow.texts import text_of
from assay.tasks.connectors.notes import Notes
from assay.tasks.connectors.response import Plain, Response, Verdict

_RESPONSE = ("outputs", "output", "response", "predictions", "prediction", "answer")
_QUESTION = ("inputs", "input", "request", "question", "questions", "query", "prompt", "messages")
_REFERENCE = ("targets", "target", "ground_truth", "expected_response", "reference", "label")
_SCORE, _WHY = "/score", "/justification"


def is_table(content: Any) -> bool:
    """Whether parsed JSON is a table as MLflow logs them."""
    return isinstance(content, Mapping) and {"columns", "data"} == set(content)


def responses_of(table: Mapping[str, Any], place: str, notes: Notes) -> Iterator[Response]:
    """Of every row that has a response. Raises BadInput naming the place and the columns."""
    columns: Sequence[str] = table["columns"]
    answer, asked, expected = (_first(names, columns) for names in (_RESPONSE, _QUESTION, _REFERENCE))
    if answer is None:
        raise BadInput(
            f"{place}: no column holds responses: there are {', '.join(columns)}; responses are in one of "
            f"{', '.join(_RESPONSE)}. A table of a classifier needs no import: write it as CSV or Parquet"
        )
    taken = {answer, asked, expected}
    for number, values in enumerate(table["data"]):
        row = dict(zip(columns, values, strict=True))
        response = text_of(row[answer], notes)
        if response is None:
            notes.leave_out("rows without a response")
            continue
        judged, reasons = _judged(row, notes)
        yield Response(
            question_id=str(number), system="model", question=text_of(row.get(asked or ""), notes),
            response=response, reference=text_of(row.get(expected or ""), notes), judged=judged,
            reasons=reasons, about=_about(row, taken, notes),
        )


def _first(names: Sequence[str], columns: Sequence[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _judged(row: Mapping[str, Any], notes: Notes) -> tuple[dict[str, Verdict | None], dict[str, str]]:
    judged: dict[str, Verdict | None] = {}
    reasons: dict[str, str] = {}
    for column, value in row.items():
        if column.endswith(_SCORE):
            try:
                judged[column.removesuffix(_SCORE)] = verdict_of(value)
            except ValueError:
                notes.leave_out(f"scores that are lists or mappings, of {column}")
        elif column.endswith(_WHY) and isinstance(value, str):
            reasons[column.removesuffix(_WHY)] = value
    return judged, reasons


def _about(row: Mapping[str, Any], taken: set[str | None], notes: Notes) -> dict[str, Plain]:
    told: dict[str, Plain] = {}
    for column, value in row.items():
        if column in taken or column.endswith((_SCORE, _WHY)):
            continue
        if value is None or isinstance(value, bool | int | float | str):
            told[column] = value
        else:
            notes.leave_out(f"lists and mappings of the column {column}")
    return told
