"""Samples of lm-evaluation-harness: `samples_TASK_DATE.jsonl`, written with `--log_samples`.

A line is a response: the prompt is the question, the target is the reference, every metric is a judge. Of a
question with choices the response is the choice with the highest likelihood. A task with several filters has
a line for each: they become one response, with a judge for each metric and filter.

The file `results_DATE.json` beside the samples says which model it was. Alone it holds totals, and nothing
that people could judge.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.tasks.connectors.importer import LogImporter, Place, read_as
from assay.tasks.connectors.log_text import (
    json_line,
    json_lines,
    parsed_object,
    short_values,
    text_of_messages,
)
from assay.tasks.connectors.records import Notes, SystemResponse, Verdict

_SAMPLE = re.compile(rb'\s*\{\s*"doc_id"\s*:\s*\d+\s*,\s*"doc"\s*:')
_RESULTS = re.compile(rb'\s*\{\s*"results"\s*:\s*\{')
_NAME = re.compile(r"(?:samples_)?(.+?)_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)$")
_OWN = frozenset((
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash",
))
_SAID = ("question", "response", "reference", "answer", "target", "text", "label")


class LmEvalSamples(LogImporter):
    """Samples of lm-evaluation-harness."""

    name = "lm-eval"
    reads = "samples of lm-evaluation-harness, samples_*.jsonl (lm_eval --log_samples)"

    def fits(self, place: Place) -> bool:
        """A first line that is a sample, or a file of results."""
        return _SAMPLE.match(place.start) is not None or _is_results(place)

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of each document; none of a file of results."""
        if _is_results(place):
            if not list(place.path.parent.glob("samples_*.jsonl")):
                notes.tell(f"{place.given} holds totals alone; run lm_eval with --log_samples")
            return
        stem = place.path.stem
        task, date = named.groups() if (named := _NAME.match(stem)) else (stem.removeprefix("samples_"), "")
        system = _model(place.path, date)
        lines: dict[str, list[int]] = defaultdict(list)
        for where, sample in json_lines(place.path):
            lines[str(sample.get("doc_id"))].append(where)
        for document, places in lines.items():
            samples = [json_line(place.path, where) for where in places]
            with read_as(place, f"the document {document}", "lm-evaluation-harness writes samples"):
                response = _response(samples, task, system, date, notes)
            if response is not None:
                yield response


def _is_results(place: Place) -> bool:
    return place.path.name.startswith("results") and _RESULTS.match(place.start) is not None


def _model(path: Path, date: str) -> str:
    """As the results of the same run say it; else the folder's name, which has __ for /."""
    results = path.with_name(f"results_{date}.json")
    if results.is_file():
        found = parsed_object(results, results.read_bytes(), "the whole").get("model_name")
        if found:
            return str(found)
    return path.absolute().parent.name.replace("__", "/")


def _response(
    samples: Sequence[dict[str, Any]], task: str, system: str, date: str, notes: Notes
) -> SystemResponse | None:
    first = samples[0]
    asked = _arguments(first["arguments"])
    found = _chosen(first, asked) or _generated(first, asked, notes)
    if found is None:
        notes.leave_out("likelihoods without a response")
        return None
    response, reference, chosen = found
    question = _prompt(asked[0][0], notes)
    judged = {name: value for sample in samples for name, value in _metrics(sample, len(samples) > 1, notes)}
    return SystemResponse(
        question_id=str(first["doc_id"]), system=system, task=task, run=date, question=question,
        response=response, choice=response if chosen else None, reference=reference, judged=judged,
        about=short_values(first["doc"], _SAID) if isinstance(first["doc"], dict) else {},
    )


def _arguments(given: Any) -> list[tuple[Any, Any]]:
    """(context, continuation or settings) of each request; two spellings are in use."""
    if isinstance(given, Mapping):
        return [(one.get("arg_0"), one.get("arg_1")) for one in given.values()]
    return [(one[0], one[1] if len(one) > 1 else None) for one in given]


def _chosen(
    sample: dict[str, Any], asked: Sequence[tuple[Any, Any]]
) -> tuple[str, str | None, bool] | None:
    """The likeliest choice and the right one; None where there are no choices."""
    given = sample["filtered_resps"]
    if len(asked) < 2 or len(given) < len(asked) or not all(isinstance(one, list) for one in given):
        return None
    choices = [str(continuation).strip() for _, continuation in asked]
    likelihoods = [float(one[0]) for one in given[: len(asked)]]
    target = str(sample.get("target"))
    place = int(target) if target.isdigit() and target not in choices else -1
    right = choices[place] if 0 <= place < len(choices) else target
    return choices[likelihoods.index(max(likelihoods))], right, True


def _generated(
    sample: dict[str, Any], asked: Sequence[tuple[Any, Any]], notes: Notes
) -> tuple[str, str | None, bool] | None:
    """The generated text and the target; None for likelihoods."""
    given = sample["resps"][0]
    if isinstance(given, list) and len(given) > 1 and all(isinstance(one, str) for one in given):
        notes.leave_out("further responses to one request")
    text = given[0] if isinstance(given, list) else given
    if not isinstance(text, str) or (len(asked) == 1 and isinstance(asked[0][1], str)):
        return None
    target = sample.get("target")
    return text, " | ".join(map(str, target)) if isinstance(target, list) else str(target), False


def _prompt(context: Any, notes: Notes) -> str | None:
    """The prompt as text; a chat is kept as JSON in it."""
    if isinstance(context, str) and context.startswith('[{"role"'):
        try:
            return text_of_messages(json.loads(context), notes)
        except ValueError:
            return context
    return text_of_messages(context, notes)


def _metrics(sample: dict[str, Any], several: bool, notes: Notes) -> Iterator[tuple[str, Verdict]]:
    """(metric, value); with the name of its filter where there are several."""
    for name in sample.get("metrics") or [key for key in sample if key not in _OWN]:
        value = sample.get(name)
        if isinstance(value, bool | int | float):
            yield (f"{name} {sample.get('filter')}" if several else name), value
        else:
            notes.leave_out(f"scores that are no single value: {name}")
