"""Output of promptfoo: `promptfoo eval -o FILE`, .json or .jsonl, and the table that its web page saves.

A result is a response: the rendered prompt is the question. A column of the table, a provider with a prompt,
is a system; a provider alone is one where it has one column. Judges are: whether all assertions passed, the
score, and each named metric. The reference is the text that an assertion compares with.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place, read_as
from assay.tasks.connectors.records import Notes, Remark, SystemResponse
from assay.tasks.connectors.turns import text_of, text_or_json

_COMPARE = ("equals", "contains", "icontains", "similar", "factuality", "model-graded-factuality")
_ERROR = 2       # a result's `failureReason`: no response
_SHORT = 40      # characters of a prompt's label that can be part of a name


class PromptfooOutput(LogImporter):
    """Output of promptfoo."""

    name = "promptfoo"
    reads = "output of promptfoo (promptfoo eval -o out.json, or out.jsonl)"
    marks = (
        "evalId results", "results:version results:results", "results:results:provider", "promptIdx testIdx",
        "results:provider results:vars", "head:prompts body:outputs", "table:head table:body",
        "vars gradingResult", "results:table results:results",
    )

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every result that has a response."""
        with read_as(place, "a result", "promptfoo writes results"):
            systems = _systems([_column(result) for _, result in _results(place)])
        times: Counter[tuple[Any, ...]] = Counter()
        tests: dict[str, str] = {}
        for number, (run, result) in enumerate(_results(place), 1):
            with read_as(place, f"result {number:,}", "promptfoo writes results"):
                variables = json.dumps(result.get("vars"), sort_keys=True, default=str)
                test = str(result.get("testIdx", tests.setdefault(variables, str(len(tests)))))
                column = _column(result)
                times[test, column] += 1
                response = _response(result, notes)
            if response is None:
                notes.leave_out("results that ended in an error, or without a response")
                continue
            yield SystemResponse(
                question_id=test, system=systems[column], run=run, repeat=times[test, column], **response
            )


def _results(place: Place) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """The id of the run, where there is one, and a result; from a table, its cells as results."""
    for value in place.values():
        run, inside = value.get("evalId"), value.get("results")
        inside = inside.get("results") or inside.get("table") if isinstance(inside, Mapping) else inside
        table = value if "head" in value else inside if isinstance(inside, Mapping) else value.get("table")
        if isinstance(inside, list):
            yield from ((run, result) for result in inside)
        elif isinstance(table, Mapping):
            yield from ((run, result) for result in _cells(table))
        else:
            yield run, value


def _cells(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    head, names = table["head"]["prompts"], table["head"].get("vars") or []
    for number, row in enumerate(table["body"]):
        for place, (prompt, cell) in enumerate(zip(head, row["outputs"], strict=True)):
            yield {
                **{key: cell.get(key) for key in ("namedScores", "score", "gradingResult", "failureReason")},
                "success": cell.get("pass"),
                "promptIdx": place, "testIdx": row.get("testIdx", number), "provider": prompt.get("provider"),
                "prompt": {"raw": cell.get("prompt") or prompt.get("raw"), "label": prompt.get("label")},
                "response": {"output": cell.get("text")}, "testCase": row.get("test"),
                "vars": dict(zip(names, row.get("vars") or (), strict=False)),
            }


_Column = tuple[Any, str, str]


def _column(result: Mapping[str, Any]) -> _Column:
    """(number, provider, label of the prompt)."""
    provider, prompt = result.get("provider") or "", result.get("prompt") or {}
    name = provider.get("label") or provider.get("id") if isinstance(provider, Mapping) else provider
    label = prompt.get("label") or prompt.get("raw") or "" if isinstance(prompt, Mapping) else str(prompt)
    number = result.get("promptIdx")
    return number, str(name or ""), "" if number is None and "{{" not in label else str(label)


def _systems(columns: list[_Column]) -> dict[_Column, str]:
    """A name for each: the provider; with several prompts the prompt too, its label if that is short, else
    its number; a number again for what is still alike."""
    prompts = list(dict.fromkeys(label for _, _, label in columns))
    names: dict[_Column, str] = {}
    for column in dict.fromkeys(columns):
        _, provider, label = column
        short = len(label) <= _SHORT and "{{" not in label
        suffix = label if short else f"prompt {prompts.index(label) + 1}"
        names[column] = provider if len(prompts) == 1 else f"{provider}, {suffix}"
    total, times = Counter(names.values()), Counter[str]()
    for column, name in names.items():
        times[name] += 1
        names[column] = f"{name} ({times[name]})" if total[name] > 1 else name
    return names


def _response(result: Mapping[str, Any], notes: Notes) -> dict[str, Any] | None:
    held = result.get("response")
    output = held.get("output") if isinstance(held, Mapping) else held
    if output is None or result.get("failureReason") == _ERROR:
        return None
    graded = result.get("gradingResult") or {}
    score, named = result.get("score"), result.get("namedScores") or {}
    if len(parts := graded.get("componentResults") or ()) > 1:
        notes.leave_out("assertions one by one, but for named metrics", len(parts))
    return {
        "question": _prompt(result.get("prompt"), notes),
        "response": output if isinstance(output, str) else json.dumps(output, ensure_ascii=False),
        "reference": _reference(graded),
        "remarks": [
            *(Remark(name=name, value=value, reason=why) for name, value, why in (
                ("passed", result.get("success", graded.get("pass")), graded.get("reason")),
                ("score", score, None)) if value is not None),
            *(Remark(name=name, value=value) for name, value in named.items()),
        ],
        "about": {**((result.get("testCase") or {}).get("metadata") or {}), **(result.get("vars") or {})},
    }


def _prompt(prompt: Any, notes: Notes) -> str | None:
    """The rendered prompt as text; a chat is JSON in it."""
    raw = prompt.get("raw") if isinstance(prompt, Mapping) else prompt
    if isinstance(raw, str) and raw.lstrip().startswith("[") and '"role"' in raw:
        try:
            return text_of(json.loads(raw), notes)
        except ValueError:
            return raw
    return text_of(raw, notes)


def _reference(graded: Mapping[str, Any]) -> str | None:
    """What the first assertion that compares with a text compares with."""
    for part in graded.get("componentResults") or ():
        asserted = part.get("assertion") or {}
        if asserted.get("type") in _COMPARE:
            value = (part.get("metadata") or {}).get("renderedAssertionValue", asserted.get("value"))
            if isinstance(value, str | int | float):
                return text_or_json(value)
    return None
