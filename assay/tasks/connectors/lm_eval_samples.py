"""Samples of lm-evaluation-harness: `samples_TASK_DATE.jsonl`, written with `--log_samples`.

A line is a response: the prompt is the question, the target is the reference, every metric is a judge. Of a
question with choices the response is the choice with the highest likelihood. A task with several filters has
a line for each: they speak of one response, each as a judge of its own.

The file `results_DATE.json` beside the samples says which model it was. Alone it holds totals, and nothing
that people could judge.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place, read_as
from assay.tasks.connectors.records import Notes, Remark, SystemResponse
from assay.tasks.connectors.turns import text_of

_NAME = re.compile(r"(?:samples_)?(.+?)_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)$")
_KEYS = frozenset((
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash", "schema_version",
))
_REPEATED = ("question", "response", "reference", "answer", "target", "text", "label")     # of a document


class LmEvalSamples(LogImporter):
    """Samples of lm-evaluation-harness."""

    name = "lm-eval"
    reads = "samples of lm-evaluation-harness, samples_*.jsonl (lm_eval --log_samples)"
    marks = ("doc_id doc", "doc_id prompt_0", "results configs", "results n-shot", "results versions")

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of each document, and each filter of it; none of a file of results."""
        if "doc_id" not in place.keys:
            if not list(place.path.parent.glob("samples_*.jsonl")):
                notes.tell(f"{place.address} holds totals alone; run lm_eval with --log_samples")
            return
        if "prompt_0" in place.keys:
            raise BadInput(f"{place.address}: was written by lm_eval before version 0.4 (--write_out), which "
                           "does not say what the model answered; run a newer one with --log_samples")
        stem = place.path.name.split(".json")[0]
        task, date = named.groups() if (named := _NAME.match(stem)) else (stem.removeprefix("samples_"), None)
        system = _model(place.path, date)
        for sample in place.values():
            document = f"the document {sample.get('doc_id')}"
            with read_as(place, document, "lm-evaluation-harness writes samples"):
                response = _response(sample, task, system, date, notes)
            if response is not None:
                yield response


def _model(path: Path, date: str | None) -> str:
    """As the results of the same run say it; else the folder's name, which has __ for /."""
    results = path.with_name(f"results_{date}.json")
    name = Place(str(results)).whole().get("model_name") if results.is_file() else None
    return str(name or path.absolute().parent.name.replace("__", "/"))


def _response(
    sample: Mapping[str, Any], task: str, system: str, date: str | None, notes: Notes
) -> SystemResponse | None:
    requests = _arguments(sample["arguments"])
    answer = _chosen(sample, requests) or _generated(sample, requests, notes)
    if answer is None:
        notes.leave_out("likelihoods without a response")
        return None
    response, reference, chosen = answer
    document = sample["doc"] if isinstance(sample["doc"], Mapping) else {}
    kind = str(sample.get("filter") or "")
    names = sample.get("metrics") or [
        key for key, value in sample.items() if key not in _KEYS and not isinstance(value, str)]
    return SystemResponse(
        question_id=str(sample["doc_id"]), system=system, task=task, run=date, response=response,
        question=_prompt(requests[0][0], notes), choice=response if chosen else None, reference=reference,
        remarks=[Remark(name=name, value=sample.get(name), source="" if kind == "none" else kind)
                 for name in names],
        about={name: value for name, value in document.items()
               if name not in _REPEATED and isinstance(value, str | bool | int | float)},
    )


def _arguments(requests: Any) -> list[tuple[Any, Any]]:
    """(context, continuation or settings) of each request; two spellings are in use."""
    if isinstance(requests, Mapping):
        return [(request.get("arg_0"), request.get("arg_1")) for request in requests.values()]
    return [(request[0], request[1] if len(request) > 1 else None) for request in requests]


def _chosen(
    sample: Mapping[str, Any], requests: Sequence[tuple[Any, Any]]
) -> tuple[str, str | None, bool] | None:
    """The likeliest choice and the right one; None where there are no choices."""
    answers = sample["filtered_resps"]
    if len(requests) < 2 or len(answers) < len(requests) or not all(isinstance(a, list) for a in answers):
        return None
    choices = [str(continuation).strip() for _, continuation in requests]
    likelihoods = [float(answer[0]) for answer in answers[: len(requests)]]
    target = str(sample.get("target"))
    place = int(target) if target.isdigit() and target not in choices else -1
    right = choices[place] if 0 <= place < len(choices) else target
    return choices[likelihoods.index(max(likelihoods))], right, True


def _generated(
    sample: Mapping[str, Any], requests: Sequence[tuple[Any, Any]], notes: Notes
) -> tuple[str, str | None, bool] | None:
    """The generated text and the target; None for likelihoods."""
    answers = sample["resps"][0]
    if isinstance(answers, list) and len(answers) > 1 and all(isinstance(text, str) for text in answers):
        notes.leave_out("further responses to one request")
    text = answers[0] if isinstance(answers, list) else answers
    if not isinstance(text, str) or (len(requests) == 1 and isinstance(requests[0][1], str)):
        return None
    target = sample.get("target")
    if target is not None:
        target = " | ".join(map(str, target)) if isinstance(target, list) else str(target)
    return text, target, False


def _prompt(context: Any, notes: Notes) -> str | None:
    """The prompt as text; a chat is kept as JSON in it."""
    if isinstance(context, str) and context.startswith('[{"role"'):
        try:
            return text_of(json.loads(context), notes)
        except ValueError:
            return context
    return text_of(context, notes)
