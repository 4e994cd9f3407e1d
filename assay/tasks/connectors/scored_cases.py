"""Test runs of DeepEval, and results of ragas: cases with metrics.

    DeepEval   `test_run_*.json` (`.deepeval`, or DEEPEVAL_RESULTS_FOLDER), or the result of `evaluate`
    ragas      `result.to_pandas()` as CSV, JSON, JSON Lines or Parquet; the columns of before 0.2 too

What was retrieved and calls of tools are steps that people can unfold.
"""

from collections.abc import Iterator

from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.records import LogEntry, Notes, SystemResponse
from assay.tasks.connectors.responses.verdicts import is_score
from assay.tasks.connectors.shapes import Scores, Shape, text_at, value_at
from assay.tasks.connectors.turns import ToolCall, Turn, parsed_or_text, text_or_json, turns_of, with_results


def _steps(record: object, contexts: str, calls: str = "") -> tuple[ToolCall, ...]:
    """What was retrieved, then the tools that were called."""
    retrieved = parsed_or_text(value_at(record, contexts))
    texts = map(text_or_json, retrieved if isinstance(retrieved, list) else [retrieved])
    return (*([ToolCall(name="retrieval", result="\n\n".join(texts))] if retrieved else ()), *(
        ToolCall(name=str(call["name"]), arguments=text_or_json(value_at(call, "inputParameters")),
                 result=None if call.get("output") is None else text_or_json(call["output"]))
        for call in value_at(record, calls) or ()))


def _between(calls: tuple[ToolCall, ...]) -> list[Turn]:
    return [Turn(role="assistant", calls=calls)] if calls else []


class DeepevalResults(LogImporter):
    """The importer of test runs of DeepEval: every test case is a response, every metric a judge."""

    name = "deepeval"
    reads = "test runs of DeepEval (test_run_*.json, or the result of evaluate as JSON)"
    marks = ("testCases", "conversationalTestCases", "testRunData:testCases", "test_cases", "test_results",
             "testResults")
    record, written, lost = "test case", "DeepEval writes test cases", "test cases without a response"
    counts_repeats = True
    shape = Shape(
        question_id="name|order", system="run.hyperparameters.model", run="run.identifier",
        reference="expectedOutput|expectedOutcome", about=("additionalMetadata|metadata",),
        scores=(Scores(at="metricsData|metricsMetadata", name="name|metric", value="score|success",
                       decisive="score", error="error"),),
    )

    def records(self, place: Place, notes: Notes) -> Iterator[LogEntry]:
        """Test cases, with what is said of the run."""
        value = place.whole()
        run = value.get("testRunData", value)
        about = {name: run.get(name) for name in ("identifier", "hyperparameters")}
        for key in ("testCases", "conversationalTestCases", "testResults"):
            for case in value_at(run, key) or ():
                yield {"run": about, **case}

    def response(self, record: LogEntry, notes: Notes) -> SystemResponse | None:
        """Of the conversation, or of a question with its steps and an answer."""
        calls = "toolsCalled"
        turns = [Turn(role=str(turn["role"]), text=str(turn.get("content") or ""),
                      calls=_steps(turn, "retrievalContext", calls)) for turn in record.get("turns") or ()]
        return self.shape.response_of(record, notes, turns or [
            *turns_of(record.get("input"), "user", notes),
            *_between(_steps(record, "retrievalContext", calls)),
            *turns_of(value_at(record, "actualOutput"), "assistant", notes)])


_OLD_NAMES = {"question": "user_input", "answer": "response", "contexts": "retrieved_contexts",
              "ground_truth": "reference", "ground_truths": "reference"}
_COLUMNS = frozenset((
    "user_input", "retrieved_contexts", "reference_contexts", "response", "multi_responses", "reference",
    "rubrics", "reference_tool_calls", "reference_topics", "persona_name", "query_style", "query_length",
    "synthesizer_name",
))


class RagasResults(LogImporter):
    """The importer of results of ragas, of versions before and after 0.2: every row is a response, every
    metric a judge."""

    name = "ragas"
    reads = "results of ragas (to_pandas() as .csv, .json, .jsonl or .parquet)"
    marks = ("user_input", "question answer contexts", "question contexts ground_truth")
    record, written, lost = "row", "ragas writes rows", "rows without a response"
    shape = Shape(
        question_id="number", reference="row.reference", about=("about",), scores=(Scores(at="scores"),))

    def records(self, place: Place, notes: Notes) -> Iterator[LogEntry]:
        """Rows, with their scores and other values apart."""
        own_names = {} if "user_input" in place.keys else _OLD_NAMES
        rows = [{own_names.get(name, name): value for name, value in row.items()} for row in place.values()]
        names = dict.fromkeys(name for row in rows for name in row if name not in _COLUMNS)
        scores = [name for name in names if is_score(name, [row.get(name) for row in rows])]
        notes.keep([name for name in names if name not in scores])
        for number, row in enumerate(rows, 1):
            yield {
                "number": str(number), "row": row, "scores": {name: row.get(name, "") for name in scores},
                "about": {name: value for name, value in row.items() if name not in {*_COLUMNS, *scores}},
            }

    def response(self, record: LogEntry, notes: Notes) -> SystemResponse | None:
        """Of a row."""
        row = record["row"]
        user_input = row.get("user_input")
        messages = user_input if isinstance(user_input, list) else [{"role": "user", "content": user_input}]
        answer = text_at(row, "response")
        return self.shape.response_of(record, notes, [
            *with_results(turns_of(messages, "user", notes)), *_between(_steps(row, "retrieved_contexts")),
            *([Turn(role="assistant", text=answer)] if answer else ())])
