"""Samples of lm-evaluation-harness: `samples_TASK_DATE.jsonl`, written with `--log_samples`.

A line is a response: the prompt is the question, the target is the reference, every metric is a judge. Of a
question with choices the response is the choice with the highest likelihood. A task with several filters has
a line for each: they speak of one response, each as a judge of its own.

The file `results_DATE.json` beside the samples says which model it was. Alone it holds totals, and nothing
that people could judge.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.records import LogEntry, Notes, Remark, SystemResponse
from assay.tasks.connectors.shapes import Shape
from assay.tasks.connectors.turns import parsed_or_text, text_of

_NAME = re.compile(r"(?:samples_)?(.+?)_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)$")
_KEYS = frozenset((
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash", "schema_version", "system", "task", "date",
))
_REPEATED = ("question", "response", "reference", "answer", "target", "text", "label")     # of a document


class LmEvalSamples(LogImporter):
    """The importer of samples of lm-evaluation-harness: every line is a response, every metric a judge, and
    lines of several filters speak of one response."""

    name = "lm-eval"
    reads = "samples of lm-evaluation-harness, samples_*.jsonl (lm_eval --log_samples)"
    marks = ("doc_id doc", "doc_id prompt_0", "results configs", "results n-shot", "results versions")
    written = "lm-evaluation-harness writes samples"
    lost = "likelihoods without a response"
    shape = Shape(system="system", task="task", run="date", reference="target")

    def record_name(self, number: int, record: LogEntry) -> str:
        """A document, by its number."""
        return f"the document {record.get('doc_id')}"

    def records(self, place: Place, notes: Notes) -> Iterator[LogEntry]:
        """Each document, and each filter of it; none of a file of results."""
        if "doc_id" not in place.keys:
            if not list(place.path.parent.glob("samples_*.jsonl")):
                notes.tell(f"{place.address} holds totals alone; run lm_eval with --log_samples")
            return
        if "prompt_0" in place.keys:
            raise BadInput(f"{place.address}: was written by lm_eval before version 0.4 (--write_out), which "
                           "does not say what the model answered; run a newer one with --log_samples")
        stem = place.path.name.split(".json")[0]
        task, date = named.groups() if (named := _NAME.match(stem)) else (stem.removeprefix("samples_"), None)
        run = {"task": task, "date": date, "system": _model(place.path, date)}
        yield from ({**sample, **run} for sample in place.values())

    def response(self, record: LogEntry, notes: Notes) -> SystemResponse | None:
        """The likeliest choice, or what was generated."""
        asked = record["arguments"]      # requests, in one of two spellings
        requests = [(request.get("arg_0"), request.get("arg_1")) for request in asked.values()] if isinstance(
            asked, Mapping) else [(request[0], request[1] if len(request) > 1 else None) for request in asked]
        answer = _chosen(record, requests) or _generated(record, requests, notes)
        if answer["response"] is None:
            return None
        document = record["doc"] if isinstance(record["doc"], Mapping) else {}
        kind = str(record.get("filter") or "")
        names = record.get("metrics") or [
            key for key, value in record.items() if key not in _KEYS and not isinstance(value, str)]
        context = requests[0][0]
        chat = isinstance(context, str) and context.startswith('[{"role"')
        return self.shape.response_of(
            record, notes, question_id=str(record["doc_id"]),
            question=text_of(parsed_or_text(context) if chat else context, notes),
            remarks=[Remark(name=name, value=record.get(name), source="" if kind == "none" else kind)
                     for name in names],
            about={name: value for name, value in document.items()
                   if name not in _REPEATED and isinstance(value, str | bool | int | float)},
            **answer,
        )


def _model(path: Path, date: str | None) -> str:
    """As the results of the same run say it; else the folder's name, which has __ for /."""
    results = path.with_name(f"results_{date}.json")
    name = Place(str(results)).whole().get("model_name") if results.is_file() else None
    return str(name or path.absolute().parent.name.replace("__", "/"))


def _chosen(sample: LogEntry, requests: Sequence[tuple[object, object]]) -> dict[str, Any] | None:
    """The likeliest choice and the right one; None where there are no choices."""
    answers = sample["filtered_resps"]
    if len(requests) < 2 or len(answers) < len(requests) or not all(isinstance(a, list) for a in answers):
        return None
    choices = [str(continuation).strip() for _, continuation in requests]
    likelihoods = [float(answer[0]) for answer in answers[: len(requests)]]
    target = str(sample.get("target"))
    place = int(target) if target.isdecimal() and len(target) < 9 and target not in choices else -1
    likeliest = choices[likelihoods.index(max(likelihoods))]
    return {"response": likeliest, "choice": likeliest,
            "reference": choices[place] if 0 <= place < len(choices) else target}


def _generated(
    sample: LogEntry, requests: Sequence[tuple[object, object]], notes: Notes
) -> dict[str, Any]:
    """The generated text; none of likelihoods."""
    answers = sample["resps"][0]
    texts = answers if isinstance(answers, list) else [answers]
    text = notes.first_answer(texts) if all(isinstance(text, str) for text in texts) else texts[0]
    generated = isinstance(text, str) and not (len(requests) == 1 and isinstance(requests[0][1], str))
    return {"response": text if generated else None}
