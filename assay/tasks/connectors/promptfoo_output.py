"""Output of promptfoo: `promptfoo eval -o FILE`, .json or .jsonl.

A result is a response: the rendered prompt is the question. A provider is a system; with several prompts, a
provider with a prompt is. Judges are: whether all assertions passed, the score, and each named metric. The
reference is the text that an assertion compares with.

JSON Lines are read line by line; JSON as a whole.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter, Place
from assay.tasks.connectors.log_text import SHORT, json_lines, parsed_object, short_values, text_of_messages
from assay.tasks.connectors.records import Notes, SystemResponse, Verdict

_OUTPUT = re.compile(rb'\s*\{\s*("evalId"\s*:|"results"\s*:\s*\{\s*"version"\s*:)')
_COMPARE = ("equals", "contains", "icontains", "similar", "factuality", "model-graded-factuality")
_ERROR = 2       # a result's `failureReason`: no response


class PromptfooOutput(LogImporter):
    """Output of promptfoo."""

    name = "promptfoo"
    reads = "output of promptfoo (promptfoo eval -o out.json, or out.jsonl)"

    def fits(self, place: Place) -> bool:
        """JSON that begins as an output does, or a first line that is a result."""
        line = place.start.lstrip().split(b"\n", 1)[0]
        result = line.startswith(b"{") and b'"promptIdx"' in line and b'"testIdx"' in line
        return _OUTPUT.match(place.start) is not None or result

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every result that has a response."""
        run, results = _results(place)
        try:
            prompts = list(dict.fromkeys(_label(result) for result in results()))
            yield from (one for result in results() if (one := _response(result, run, prompts, notes)))
        except (KeyError, TypeError, AttributeError) as error:
            raise BadInput(
                f"{place.given}: a result is not as promptfoo writes them ({type(error).__name__}: {error}); "
                "is the file sound?"
            ) from None


def _results(place: Place) -> tuple[str, Callable[[], Iterator[dict[str, Any]]]]:
    """The id of the run, and what gives its results, from the first one each time."""
    if _OUTPUT.match(place.start) is None:
        return "", lambda: (result for _, result in json_lines(place.path))
    output = parsed_object(place.path, place.path.read_bytes(), "the whole")
    found = (output.get("results") or {}).get("results") or ()
    return str(output.get("evalId") or ""), lambda: iter(found)


def _response(
    result: dict[str, Any], run: str, prompts: Sequence[str], notes: Notes
) -> SystemResponse | None:
    output = (result.get("response") or {}).get("output")
    if output is None or result.get("failureReason") == _ERROR:
        notes.leave_out("results that ended in an error, or without a response")
        return None
    graded = result.get("gradingResult") or {}
    told = {**((result.get("testCase") or {}).get("metadata") or {}), **(result.get("vars") or {})}
    return SystemResponse(
        question_id=str(result["testIdx"]), system=_system(result, prompts), run=run,
        question=_prompt(result.get("prompt") or {}, notes),
        response=output if isinstance(output, str) else json.dumps(output, ensure_ascii=False),
        reference=_reference(graded), judged=_judged(result), about=short_values(told),
        reasons={"passed": graded["reason"]} if isinstance(graded.get("reason"), str) else {},
    )


def _label(result: dict[str, Any]) -> str:
    prompt = result.get("prompt") or {}
    return str(prompt.get("label") or prompt.get("raw") or "")


def _system(result: dict[str, Any], prompts: Sequence[str]) -> str:
    """The provider; with several prompts the prompt too: its label if that is short, else its number."""
    provider, label = result.get("provider") or {}, _label(result)
    name = str(provider.get("label") or provider.get("id") or "")
    if len(prompts) == 1:
        return name
    short = len(label) <= SHORT and "{{" not in label
    return f"{name}, {label}" if short else f"{name}, prompt {prompts.index(label) + 1}"


def _prompt(prompt: dict[str, Any], notes: Notes) -> str | None:
    """The rendered prompt as text; a chat is JSON in it."""
    raw = prompt.get("raw")
    if isinstance(raw, str) and raw.lstrip().startswith("[") and '"role"' in raw:
        try:
            return text_of_messages(json.loads(raw), notes)
        except ValueError:
            return raw
    return text_of_messages(raw, notes)


def _reference(graded: dict[str, Any]) -> str | None:
    """What the first assertion that compares with a text compares with."""
    for part in graded.get("componentResults") or ():
        asserted = part.get("assertion") or {}
        if asserted.get("type") in _COMPARE:
            value = (part.get("metadata") or {}).get("renderedAssertionValue", asserted.get("value"))
            if isinstance(value, str):
                return value
    return None


def _judged(result: dict[str, Any]) -> dict[str, Verdict | None]:
    judged: dict[str, Verdict | None] = {"passed": bool(result.get("success"))}
    score = result.get("score")
    if isinstance(score, int | float):
        judged["score"] = score
    named = result.get("namedScores") or {}
    return judged | {name: value for name, value in named.items() if isinstance(value, int | float)}
