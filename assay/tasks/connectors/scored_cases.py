"""Test cases that DeepEval and ragas scored: a case is a response, a metric a judge.

    DeepEval   test_run_*.json, as `DEEPEVAL_RESULTS_FOLDER` keeps them; of a metric its score
    ragas      `result.to_pandas()` as .csv, .json or .jsonl: user_input, response, reference, and the metrics

Contexts and calls of tools are steps that people can unfold.
"""

import ast
import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter, Place, read_as
from assay.tasks.connectors.log_text import parsed_object, short_values
from assay.tasks.connectors.records import Notes, SystemResponse, Verdict
from assay.tasks.connectors.traces.otel_spans import json_values
from assay.tasks.connectors.traces.trajectory import tells_more, with_results
from assay.tasks.connectors.turns import (
    ToolCall,
    Turn,
    only_text,
    parsed_or_text,
    text_or_json,
    trajectory_page,
    turns_of,
)

_TEST_RUN = re.compile(rb'\s*\{.{0,2000}"(?:testCases|conversationalTestCases)"\s*:\s*\[', re.S)


class DeepevalResults(LogImporter):
    """Test runs of DeepEval."""

    name = "deepeval"
    reads = "test runs of DeepEval (test_run_*.json)"

    def fits(self, place: Place) -> bool:
        """JSON that begins as a test run does."""
        return _TEST_RUN.match(place.start) is not None

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every test case that has one."""
        run = parsed_object(place.path, place.path.read_bytes(), "the whole")
        cases = [*(run.get("testCases") or ()), *(run.get("conversationalTestCases") or ())]
        given = run.get("hyperparameters")
        model = str(given.get("model") or "") if isinstance(given, Mapping) else ""
        for number, case in enumerate(cases, 1):
            with read_as(place, f"test case {number}", "DeepEval writes test cases"):
                found = _of_case(case, model, str(run.get("identifier") or ""), notes)
            if found is None:
                notes.leave_out("test cases without a response")
            else:
                yield found


def _of_case(case: Mapping[str, Any], model: str, run: str, notes: Notes) -> SystemResponse | None:
    turns = _turns_of_case(case, notes)
    answer = next((turn.text for turn in reversed(turns) if turn.role == "assistant" and turn.text), None)
    if answer is None:
        return None
    judged: dict[str, Verdict | None] = {}
    reasons: dict[str, str] = {}
    for metric in case.get("metricsData") or ():
        name = str(metric["name"])
        if metric.get("error"):
            notes.leave_out(f"metrics that failed, of {name}")
            continue
        judged[name] = metric.get("score")
        if isinstance(metric.get("reason"), str):
            reasons[name] = metric["reason"]
    asked = [turn for turn in turns if turn.role == "user"]
    reference = case.get("expectedOutput", case.get("expectedOutcome"))
    return SystemResponse(
        question_id=str(case.get("name") or case["order"]), system=model or "model", run=run,
        question=only_text(asked[-1:]), response=answer, judged=judged, reasons=reasons,
        reference=None if reference is None else text_or_json(reference),
        trajectory=trajectory_page(answer, turns) if tells_more(turns) else None,
        about=short_values(case.get("metadata") or {}),
    )


def _turns_of_case(case: Mapping[str, Any], notes: Notes) -> list[Turn]:
    if case.get("turns"):
        return [
            Turn(role=str(turn["role"]), text=str(turn.get("content") or ""), calls=_steps(turn))
            for turn in case["turns"]
        ]
    return [*turns_of(case.get("input"), "user", notes), *_between(_steps(case)),
            *turns_of(case.get("actualOutput"), "assistant", notes)]


def _steps(case: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """What was retrieved, then the tools that were called."""
    calls = [
        ToolCall(name=str(one["name"]), arguments=text_or_json(one.get("inputParameters")),
                 result=None if one.get("output") is None else text_or_json(one["output"]))
        for one in case.get("toolsCalled") or ()
    ]
    return (*_retrieved(case.get("retrievalContext")), *calls)


def _retrieved(contexts: Any) -> tuple[ToolCall, ...]:
    if not contexts:
        return ()
    texts = map(text_or_json, contexts if isinstance(contexts, list) else [contexts])
    return (ToolCall(name="retrieval", result="\n\n".join(texts)),)


def _between(calls: tuple[ToolCall, ...]) -> list[Turn]:
    return [Turn(role="assistant", calls=calls)] if calls else []


# ragas.

_COLUMNS = (
    "user_input", "retrieved_contexts", "reference_contexts", "response", "multi_responses", "reference",
    "rubrics", "reference_tool_calls", "reference_topics", "persona_name", "query_style", "query_length",
    "synthesizer_name",
)
_HEAD = re.compile(rb'(?:\xef\xbb\xbf)?[^\n]*\buser_input\b')


class RagasResults(LogImporter):
    """Results of ragas."""

    name = "ragas"
    reads = "results of ragas (to_pandas() as .csv, .json or .jsonl)"

    def fits(self, place: Place) -> bool:
        """A column, or a key, `user_input` in the first line or object."""
        start = place.start.lstrip()
        if start[:1] in (b"{", b"["):
            return b'"user_input"' in start[:_FAR] and b'"columns"' not in start[:40]
        return place.path.suffix == ".csv" and _HEAD.match(start) is not None

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every row that has one."""
        rows = json_values(place) if place.start.lstrip()[:1] in (b"{", b"[") else _csv_rows(place)
        for number, row in enumerate(rows, 1):
            with read_as(place, f"row {number}", "ragas writes rows"):
                found = _of_row(row, number, notes)
            if found is None:
                notes.leave_out("rows without a response")
            else:
                yield found


_FAR = 1 << 15     # bytes in which the first row names its columns


def _csv_rows(place: Place) -> Iterator[Mapping[str, Any]]:
    try:
        text = place.path.read_bytes().decode("utf-8-sig")
        for row in csv.DictReader(io.StringIO(text, newline=""), strict=True):
            if None in row or None in row.values():
                raise BadInput(
                    f"{place.given}: a row has more or fewer values than the heading; write it again"
                )
            yield {name: _cell(value) for name, value in row.items() if name and value != ""}
    except (ValueError, csv.Error) as error:
        raise BadInput(f"{place.given}: is no sound CSV file in UTF-8 ({error}); write it again") from None


def _cell(value: str) -> Any:
    """A number as one; a list as Python prints it, which is how a frame writes one."""
    if value.startswith("["):
        try:
            return ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value
    try:
        return float(value) if re.fullmatch(r"-?[0-9.]+(?:[eE][-+]?\d+)?", value) else value
    except ValueError:
        return value


def _of_row(row: Mapping[str, Any], number: int, notes: Notes) -> SystemResponse | None:
    said = row["user_input"]
    asked = with_results(turns_of(said if isinstance(said, list) else [{"role": "user", "content": said}],
                                  "user", notes))
    turns = [*asked, *_between(_retrieved(parsed_or_text(row.get("retrieved_contexts"))))]
    if row.get("response") not in (None, ""):
        turns.append(Turn(role="assistant", text=text_or_json(row["response"])))
    answer = next((turn.text for turn in reversed(turns) if turn.role == "assistant" and turn.text), None)
    if answer is None:
        return None
    others = {name: value for name, value in row.items() if name not in _COLUMNS}
    questions = [turn for turn in turns if turn.role == "user"]
    reference = row.get("reference")
    return SystemResponse(
        question_id=str(number), system="model", question=only_text(questions[-1:]), response=answer,
        reference=None if reference is None else text_or_json(reference),
        judged={name: value for name, value in others.items() if isinstance(value, bool | int | float)},
        trajectory=trajectory_page(answer, turns) if tells_more(turns) else None,
        about=short_values({n: v for n, v in others.items() if isinstance(v, str)}),
    )
