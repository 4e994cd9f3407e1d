"""Test cases that DeepEval and ragas scored: a case is a response, a metric a judge.

    DeepEval   test_run_*.json, as `DEEPEVAL_RESULTS_FOLDER` keeps them, or the result of `evaluate` as JSON
    ragas      `result.to_pandas()` as .csv, .json or .jsonl: user_input, response, reference, and the
               metrics; before version 0.2: question, answer, contexts, ground_truth

Contexts and calls of tools are steps that people can unfold.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place, read_as
from assay.tasks.connectors.records import Notes, Remark, SystemResponse
from assay.tasks.connectors.responses.verdicts import reading_of, verdicts_of
from assay.tasks.connectors.traces.trajectory import tells_more, with_results
from assay.tasks.connectors.turns import (
    ToolCall,
    Turn,
    last_answer,
    last_question,
    parsed_or_text,
    text_or_json,
    trajectory_page,
    turns_of,
    value_named,
)


def _texts_of(turns: Sequence[Turn]) -> dict[str, Any] | None:
    """Question, response and trajectory of a conversation; None without an answer."""
    answer = last_answer(turns)
    if answer is None:
        return None
    return {"question": last_question(turns), "response": answer,
            "trajectory": trajectory_page(answer, turns) if tells_more(turns) else None}


class DeepevalResults(LogImporter):
    """Test runs of DeepEval."""

    name = "deepeval"
    reads = "test runs of DeepEval (test_run_*.json, or the result of evaluate as JSON)"
    marks = ("testCases", "conversationalTestCases", "testRunData:testCases", "test_cases", "test_results",
             "testResults")

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every test case that has one."""
        value = place.whole()
        run = value.get("testRunData", value)
        keys = ("testCases", "conversationalTestCases", "testResults")
        cases = [case for key in keys for case in value_named(run, key) or ()]
        settings = run.get("hyperparameters")
        model = str(settings.get("model") or "") if isinstance(settings, Mapping) else ""
        times: Counter[str] = Counter()
        for number, case in enumerate(cases, 1):
            with read_as(place, f"test case {number}", "DeepEval writes test cases"):
                texts = _texts_of(_turns_of_case(case, notes))
                if texts is None:
                    notes.leave_out("test cases without a response")
                    continue
                name = str(case.get("name") or case.get("order", number - 1))
                times[f"{name} {texts['question']}"] += 1
                reference = value_named(case, "expectedOutput") or value_named(case, "expectedOutcome")
                data = value_named(case, "additionalMetadata") or case.get("metadata") or {}
                yield SystemResponse(
                    question_id=name, system=model or "model", run=run.get("identifier"), **texts,
                    repeat=times[f"{name} {texts['question']}"], remarks=[*_metrics(case)],
                    reference=None if reference is None else text_or_json(reference), about=data,
                )


def _metrics(case: Mapping[str, Any]) -> Iterator[Remark]:
    for metric in value_named(case, "metricsData") or value_named(case, "metricsMetadata") or ():
        score = metric.get("score")
        value = "error" if metric.get("error") else metric.get("success") if score is None else score
        yield Remark(name=metric["name"] if "name" in metric else metric["metric"], value=value,
                     reason=metric.get("reason"))


def _turns_of_case(case: Mapping[str, Any], notes: Notes) -> list[Turn]:
    if case.get("turns"):
        return [
            Turn(role=str(turn["role"]), text=str(turn.get("content") or ""), calls=_steps(turn))
            for turn in case["turns"]
        ]
    return [*turns_of(case.get("input"), "user", notes), *_between(_steps(case)),
            *turns_of(value_named(case, "actualOutput"), "assistant", notes)]


def _steps(case: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """What was retrieved, then the tools that were called."""
    calls = [
        ToolCall(name=str(call["name"]), arguments=text_or_json(value_named(call, "inputParameters")),
                 result=None if call.get("output") is None else text_or_json(call["output"]))
        for call in value_named(case, "toolsCalled") or ()
    ]
    return (*_retrieved(value_named(case, "retrievalContext")), *calls)


def _retrieved(contexts: Any) -> tuple[ToolCall, ...]:
    if not contexts:
        return ()
    texts = map(text_or_json, contexts if isinstance(contexts, list) else [contexts])
    return (ToolCall(name="retrieval", result="\n\n".join(texts)),)


def _between(calls: tuple[ToolCall, ...]) -> list[Turn]:
    return [Turn(role="assistant", calls=calls)] if calls else []


_OLD_NAMES = {"question": "user_input", "answer": "response", "contexts": "retrieved_contexts",
              "ground_truth": "reference", "ground_truths": "reference"}
_COLUMNS = frozenset((
    "user_input", "retrieved_contexts", "reference_contexts", "response", "multi_responses", "reference",
    "rubrics", "reference_tool_calls", "reference_topics", "persona_name", "query_style", "query_length",
    "synthesizer_name",
))
_NO_SCORES = ("id", "index", "unnamed", "column", "latency", "duration", "time", "cost", "token", "length")


class RagasResults(LogImporter):
    """Results of ragas."""

    name = "ragas"
    reads = "results of ragas (to_pandas() as .csv, .json, .jsonl or .parquet)"
    marks = ("user_input", "question answer contexts", "question contexts ground_truth")

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every row that has one."""
        rows = [{_OLD_NAMES.get(name, name) if "user_input" not in row else name: value
                 for name, value in row.items()} for row in place.values()]
        names = dict.fromkeys(name for row in rows for name in row if name not in _COLUMNS)
        scores = [name for name in names if _is_score(name, [row.get(name) for row in rows])]
        for number, row in enumerate(rows, 1):
            with read_as(place, f"row {number}", "ragas writes rows"):
                texts = _texts_of(_turns_of_row(row, notes))
                reference = row.get("reference")
            if texts is None:
                notes.leave_out("rows without a response")
                continue
            yield SystemResponse(
                question_id=str(number), system="model", run=None, **texts,
                reference=None if reference is None else text_or_json(reference),
                remarks=[Remark(name=name, value=row.get(name, "")) for name in scores],
                about={name: value for name, value in row.items() if name not in _COLUMNS | {*scores}},
            )


def _is_score(name: str, values: Sequence[Any]) -> bool:
    """Whether a column holds what a metric says: numbers, truths, or names of which one is good; and no codes
    (007), counts or ids."""
    words = re.split(r"[^a-z]+", name.casefold())
    if any(word.removesuffix("s") in _NO_SCORES for word in words):
        return False
    readings = Counter(reading_of(value) for value in values if not isinstance(value, list | Mapping))
    numbers = [float(reading.value) for reading in readings.elements() if reading.kind == "number"]
    counts = len(set(numbers)) == len(numbers) > 10 and all(number.is_integer() for number in numbers)
    codes = any(reading.kind == "name" and str(reading.value).isdigit() for reading in readings)
    scale = verdicts_of(readings).scale
    return scale is not None and not (counts or codes) and (not scale.names or scale.good_end is not None)


def _turns_of_row(row: Mapping[str, Any], notes: Notes) -> list[Turn]:
    user_input = row["user_input"]
    messages = user_input if isinstance(user_input, list) else [{"role": "user", "content": user_input}]
    turns = [*with_results(turns_of(messages, "user", notes)),
             *_between(_retrieved(parsed_or_text(row.get("retrieved_contexts"))))]
    if row.get("response") not in (None, ""):
        turns.append(Turn(role="assistant", text=text_or_json(row["response"])))
    return turns
