"""Output of promptfoo: `promptfoo eval -o FILE`, .json, .jsonl or .csv, and what its web page saves.

A result is a response: the rendered prompt is the question. A column of the table, a provider with a prompt,
is a system; a provider alone is one where it has one column. Judges are: whether all assertions passed, the
score, and each named metric. The reference is the text that an assertion compares with.

A CSV file has the variables of a test, then for each prompt a column with the response, and others beside it
(Status, Score, Named Scores, Metric: NAME, Grader Reason, Comment) or in it: `[PASS] (1.00) ...`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place, read_as
from assay.tasks.connectors.records import LogEntry, Notes, SystemResponse
from assay.tasks.connectors.shapes import Scores, Shape, text_at, value_at
from assay.tasks.connectors.turns import parsed_or_text, text_of, text_or_json

_COMPARE = ("equals", "contains", "icontains", "similar", "factuality", "model-graded-factuality")
_SHORT = 40      # characters of a prompt's label that can be part of a name


class PromptfooOutput(LogImporter):
    """The importer of output of promptfoo: every result is a response, every provider with a prompt a
    system; whether all assertions passed, the score and named metrics are judges."""

    name = "promptfoo"
    reads = "output of promptfoo (promptfoo eval -o out.json, out.jsonl or out.csv)"
    marks = (
        "evalId results", "results:version results:results", "results:results:provider", "promptIdx testIdx",
        "results:provider results:vars", "head:prompts body:outputs", "table:head table:body",
        "vars gradingResult", "results:table results:results",
    )
    record, written = "result", "promptfoo writes results"
    lost = "results that ended in an error, or without a response"
    counts_repeats = True
    shape = Shape(
        question_id="test", system="system", run="run", status="failureReason",
        about=("testCase.metadata", "vars"), scores=(
            Scores(at="passed", reason="reason"), Scores(at="graded"), Scores(at="namedScores")),
    )

    def fits(self, place: Place) -> bool:
        """Its keys, or the columns of its CSV files."""
        return super().fits(place) or (bool(_response_columns(place.columns)) and "vars" not in place.keys)

    def records(self, place: Place, notes: Notes) -> Iterator[LogEntry]:
        """Results, each with the names of its test and its system."""
        with read_as(place, "a result", self.written):
            systems = _systems([_column(result) for result in _results(place)])
        tests: dict[str, str] = {}
        for result in _results(place):
            variables = text_or_json(result.get("vars"))
            test = result.get("testIdx", tests.setdefault(variables, str(len(tests))))
            passed, graded = value_at(result, "success|gradingResult.pass"), result.get("gradingResult") or {}
            yield {**result, "test": str(test), "system": systems[_column(result)],
                   "passed": None if passed is None else {
                       "passed": {"value": passed, "reason": text_at(graded, "reason")}},
                   "graded": {} if result.get("score") is None else {"score": result["score"]}}

    def response(self, record: LogEntry, notes: Notes) -> SystemResponse | None:
        """What the provider put out, as text."""
        held = record.get("response")
        output = held.get("output") if isinstance(held, Mapping) else held
        parts = value_at(record, "gradingResult.componentResults") or ()
        if len(parts) > 1 and output is not None:
            notes.leave_out("assertions one by one, but for named metrics", len(parts))
        prompt = record.get("prompt")
        raw = prompt.get("raw") if isinstance(prompt, Mapping) else prompt
        chat = parsed_or_text(raw) if '"role"' in str(raw) else raw
        return self.shape.response_of(
            record, notes, question=text_of(chat, notes), reference=_reference(parts),
            response=None if output is None else text_or_json(output))


def _results(place: Place) -> Iterator[LogEntry]:
    """Results, each with the id of its run where there is one; from a table, its cells as results."""
    rows = _response_columns(place.columns)
    for number, value in enumerate(place.values()):
        run, inside = value.get("evalId"), value.get("results")
        inside = inside.get("results") or inside.get("table") if isinstance(inside, Mapping) else inside
        table = value if "head" in value else inside if isinstance(inside, Mapping) else value.get("table")
        results: Iterator[LogEntry]
        if rows:
            results = _of_row(number, value, place.columns)
        elif isinstance(inside, list):
            results = iter(inside)
        else:
            results = _cells(table) if isinstance(table, Mapping) else iter([value])
        yield from ({"run": run, **result} for result in results)


def _cells(table: LogEntry) -> Iterator[dict[str, Any]]:
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


_BESIDE = {"status": "status", "score": "score", "named scores": "namedScores", "grader reason": "reason",
           "comment": "comment"}
_NUMBER, _VARIABLE = re.compile(r" \(\d+\)\Z"), re.compile(r"\{\{\s*(\w+)\s*\}\}")
_HEADING = re.compile(r"\[([^\]]+)\] (.*)", re.DOTALL)
_VERDICT = re.compile(r"\[(PASS|FAIL|ERROR)\] ?(?:\((-?[\d.]+)(?:, ([^)\n]*))?\)\s+)?(.*?)"
                      r"(?:\n\s*(?:Pass|Fail) Reason: (.*))?\Z", re.DOTALL)


def _beside(name: str) -> str:
    """What a column beside a response holds; no letter for any other column.

    CSV: what stands beside a response, by the names that the columns have; a number stands behind a name that
    several columns have.
    """
    return "metric" if name.startswith("Metric: ") else _BESIDE.get(_NUMBER.sub("", name).lower(), "")


def _response_columns(columns: Sequence[str]) -> list[int]:
    """The places of the columns of a CSV file that hold responses; none of another file."""
    headed = [place for place, name in enumerate(columns) if _HEADING.match(name)]
    return headed or [place - 1 for place, name in enumerate(columns) if place and "Grader Reason" in columns
                      and _beside(name) and not _beside(columns[place - 1])]


def _of_row(number: int, row: LogEntry, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The results of a row: variables stand before the first response, what is beside one behind it."""
    starts = _response_columns(columns)
    variables = {name: row[name] for place, name in enumerate(columns) if name in row and place not in starts
                 and (place < starts[0] or not _beside(name))}
    for index, (start, end) in enumerate(pairwise([*starts, len(columns)])):
        held = {_beside(name): row[name] for name in columns[start + 1 : end] if name in row}
        metrics = {_NUMBER.sub("", name.removeprefix("Metric: ")): row[name]
                   for name in columns[start + 1 : end] if name in row and _beside(name) == "metric"}
        text, heading = str(row.get(columns[start], "")), _HEADING.match(columns[start])
        if within := _VERDICT.match(text):
            status, score, scores, text, reason = within.groups()
            held = {"status": status, "score": score, "reason": reason, **held}
            metrics |= dict(part.split(": ", 1) for part in (scores or "").split(", ") if ": " in part)
        provider, label = heading.groups() if heading else ("", columns[start])
        filled = _VARIABLE.sub(lambda name: str(variables.get(name[1], name[0])), label)
        metrics = {**dict(held.get("namedScores") or {}), **metrics}
        yield {
            "promptIdx": index, "testIdx": number, "provider": provider, "vars": variables,
            "prompt": {"label": label, "raw": filled if _VARIABLE.search(label) else variables},
            "response": {"output": text if text or "status" in held else None}, "score": held.get("score"),
            "namedScores": metrics, "failureReason": held.get("status"),
            "success": {"PASS": True, "FAIL": False}.get(str(held.get("status"))),
            "gradingResult": {"reason": held.get("reason")},
        }


_Column = tuple[Any, str, str]


def _column(result: LogEntry) -> _Column:
    """(number, provider, label of the prompt)."""
    provider, prompt = result.get("provider") or "", result.get("prompt") or {}
    name = value_at(provider, "label|id") if isinstance(provider, Mapping) else provider
    label = value_at(prompt, "label|raw") or "" if isinstance(prompt, Mapping) else str(prompt)
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


def _reference(parts: Iterable[object]) -> str | None:
    """What the first assertion that compares with a text compares with."""
    for part in parts:
        if value_at(part, "assertion.type") in _COMPARE:
            value = value_at(part, "metadata.renderedAssertionValue|assertion.value")
            if isinstance(value, str | int | float):
                return text_or_json(value)
    return None
