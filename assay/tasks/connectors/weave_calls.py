"""Calls of W&B Weave: `get_calls` or the export of its page, as JSON, JSON Lines or CSV.

    an evaluation    its calls `Evaluation.predict_and_score`: an example, the output, a judge for each scorer
    other calls      those without a parent, with what people and scorers said of them (`feedback`)

In a CSV file `inputs.example.question` is the key `question` of the example.  What the API of evaluations
answers (`eval_results/query`) is read too.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256

from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.records import LogEntry, Notes
from assay.tasks.connectors.shapes import Scores, Shape, members, text_at, value_at
from assay.tasks.connectors.turns import text_or_json

_SCORED = ("Evaluation.predict_and_score", "Evaluation.predictAndScore")
_REFERENCES = ("expected", "expected_output", "target", "reference", "ground_truth", "ideal", "answer",
               "label")
# of feedback: what its type begins with, where its value stands, and whether a person gave it
_FEEDBACK = (("wandb.annotation.", "payload.value", True), ("wandb.runnable.", "payload.output", False),
             ("wandb.reaction", "payload.emoji|payload.alias", True))


class WeaveCalls(LogImporter):
    """Calls of Weave."""

    name = "weave"
    reads = "calls of W&B Weave (.json, .jsonl or .csv of get_calls or of its page)"
    marks = ("op_name trace_id", "op_name inputs output", "rows:row_digest rows:evaluations")
    record, lost = "call", "calls that ended in an error, or without a response"
    shape = Shape(
        id="id", run="run", system="model", task="op", question_id="question_id", question="asked",
        response="answer", reference="expected", error="exception", status="summary.weave.status",
        scores=(Scores(at="scores", value="given"), Scores(
            at="feedback", source="source", time="created_at", person="who", people=("person",))),
    )

    def records(self, place: Place, notes: Notes) -> Iterator[LogEntry]:
        """Calls that score an example; where there is none, those without a parent."""
        evaluated = any("rows" in call or _op(call) in _SCORED for call in place.values())
        for call in place.values():
            if "rows" in call:
                yield from (_scored(trial, notes) for trial in _trials(call["rows"]))
            elif _op(call) in _SCORED:
                yield _scored(call, notes)
            elif not evaluated and value_at(call, "parent_id") is None:
                feedback = value_at(call, "summary.weave.feedback|feedback")
                yield {
                    **call, "op": _op(call), "asked": value_at(call, "inputs"), "model": _op(call),
                    "answer": value_at(call, "output"), "run": "", "question_id": text_at(call, "id"),
                    "feedback": [*_feedback(feedback, notes)]}
            else:
                notes.leave_out("the inner calls of evaluations and traces")


def _trials(rows: object) -> Iterator[LogEntry]:
    """What the API of evaluations answers, as calls."""
    for row in members(rows):
        for evaluation in members(row.get("evaluations")):
            for trial in members(evaluation.get("trials")):
                yield {
                    "id": trial.get("predict_and_score_call_id"), "digest": row.get("row_digest"),
                    "parent_id": evaluation.get("evaluation_call_id"), "output": trial,
                    "inputs": {"example": row.get("raw_data_row")}}


def _scored(call: LogEntry, notes: Notes) -> LogEntry:
    """A call that scores an example, with its parts at the paths of the shape."""
    example, run = value_at(call, "inputs.example"), text_at(call, "parent_id")
    if isinstance(example, str) and example.startswith("weave:"):
        notes.leave_out("examples of which only the address is there: export with expanded references")
    keys = example if isinstance(example, Mapping) and len(example) > 1 else ()
    right = next((name for name in _REFERENCES if name in keys), None)
    model = value_at(call, "inputs.model.name|inputs.model._class_name|inputs.model")
    return {
        **call, "run": run, "expected": example.get(right) if keys else None,
        "asked": {name: example[name] for name in keys if name != right} or example,
        "question_id": call.get("digest") or sha256(text_or_json(example).encode()).hexdigest()[:16],
        "scores": value_at(call, "output.scores"),
        "answer": value_at(call, "output.output|output.model_output"),
        "model": _last_name(model) if isinstance(model, str) else run,
    }


def _last_name(address: str) -> str:
    """`predict` of weave:///team/project/op/predict:v1."""
    return address.rpartition("/")[2].partition(":")[0]


def _op(call: LogEntry) -> str:
    return _last_name(text_at(call, "op_name"))


def _feedback(entries: object, notes: Notes) -> Iterator[LogEntry]:
    for entry in members(entries):
        kind = text_at(entry, "feedback_type")
        form = next((form for form in _FEEDBACK if kind.startswith(form[0])), None)
        if form is None:
            notes.leave_out(f"feedback without a verdict, of {kind}")
            continue
        start, value, by_person = form
        yield {"name": kind.removeprefix(start) if start.endswith(".") else "reaction",
               "value": value_at(entry, value), "created_at": entry.get("created_at"),
               **({"source": text_at(entry, "creator|wb_user_id"), "who": "person"} if by_person else {})}
