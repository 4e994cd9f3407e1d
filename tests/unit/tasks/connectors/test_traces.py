"""Traces made by the real packages: what people are shown, and what goes along."""

import json
import re
from html.parser import HTMLParser

import pyarrow.parquet as pq
import pytest
import yaml
from services.logs import LOGS

from assay.evalcore.errors import BadInput
from assay.flows.connectors import bring_in
from assay.tasks.connectors.records import Notes
from assay.tasks.connectors.traces.trajectory import TracedSpan, conversation, response_of_trace
from assay.tasks.connectors.turns import MOST_SHOWN, ToolCall, Turn, trajectory_page, turns_of
from assay.tasks.desks.label_studio.page.fields import sanitised
from assay.tasks.spec.evaluation import load_spec

TRACES = ["otel/collector.jsonl", "otel/console.json", "phoenix/frame.json", "phoenix/frame.parquet",
          "phoenix/listed.json", "langfuse/observations.jsonl", "langfuse/traces.json",
          "langsmith/runs.jsonl"]
JUDGED = ["otel/collector.jsonl", "otel/console.json", "langfuse/traces.json", "langsmith/runs.jsonl",
          "deepeval/test_run.json", "ragas/result.csv", "ragas/result.json", "ragas/result.jsonl"]


def brought(tmp_path, given):
    """The rows by question, and the spec."""
    found = bring_in([given], tmp_path / "pool.parquet")
    (tmp_path / "spec.yaml").write_text(found.spec, encoding="utf-8")
    load_spec(tmp_path / "spec.yaml")
    rows = pq.read_table(tmp_path / "pool.parquet").to_pylist()
    return {row["question"]: row for row in rows}, yaml.safe_load(found.spec), found


@pytest.mark.parametrize("log", TRACES)
def test_a_trace_is_an_item_with_all_that_led_to_the_answer(tmp_path, log):
    rows, spec, found = brought(tmp_path, LOGS / log)
    assert len(rows) == 12 == found.written.rows
    row = rows["What is twice 3?"]
    # 3 is a multiple of 3, so the model says one too many
    assert (row["response"], row["model"]) == ("The answer is 7.", "made-small")
    assert row["item_id"] == row["trace_id"]
    assert row["trajectory"] == (
        "<h4>Final answer</h4><p>The answer is 7.</p><h4>How it came about</h4>"
        "<details><summary>system</summary><p>You double numbers.</p></details>"
        "<p><b>user</b></p><p>What is twice 3?</p>"
        "<details><summary>tool: double</summary><p>arguments</p><pre>{\n  &quot;n&quot;: 3\n}</pre>"
        "<p>result</p><pre>6</pre></details><p><b>assistant</b></p><p>The answer is 7.</p>"
    )
    assert spec["pool"]["display"] == ["question", "trajectory"]
    assert spec["pool"]["show_as"] == {"trajectory": "html"}


@pytest.mark.parametrize("log", JUDGED)
def test_scores_are_judges(tmp_path, log):
    rows, spec, _ = brought(tmp_path, LOGS / log)
    right = {question: row["judge"] == "correct" for question, row in rows.items()}
    assert right == {f"What is twice {i}?": i % 3 != 0 for i in range(12)}
    assert spec["pool"]["prediction"] == "judge"


def test_what_people_said_in_langfuse_is_a_label(tmp_path):
    rows, _, _ = brought(tmp_path, LOGS / "langfuse/traces.json")
    assert [rows[f"What is twice {i}?"]["label"] for i in range(4)] == ["incorrect", None, "correct", None]
    assert rows["What is twice 5?"]["topic"] == "odd"


def test_contexts_and_tools_of_test_cases_are_folded(tmp_path):
    rows, spec, _ = brought(tmp_path, LOGS / "deepeval/test_run.json")
    row = rows["What is twice 4?"]
    assert (row["item_id"], row["reference"], row["reason"]) == ("sum-4", "8", "looked for the number")
    assert "<summary>tool: retrieval</summary><p>result</p><pre>Twice a number is" in row["trajectory"]
    assert "<summary>tool: double</summary><p>arguments</p>" in row["trajectory"]
    assert spec["pool"]["display"] == ["question", "trajectory", "reference"]


def test_inspect_shows_the_calls_of_an_agent(tmp_path):
    rows, _, found = brought(tmp_path, LOGS / "inspect/agent.json")
    assert "<summary>tool: double</summary>" in rows["What is 4 + 4?"]["trajectory"]
    assert "<pre>8</pre>" in rows["What is 4 + 4?"]["trajectory"]
    assert not any("tool calls" in note for note in found.notes)


class Tags(HTMLParser):
    """The tags of a page, and that each is closed where it should be."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


EVIL = ["<script>alert(1)</script>", "</pre></details><img src=x onerror=alert(1)>", '"><svg onload=x>',
        "&lt;b&gt;", "</summary><iframe>", "<!--", "a\n<b>b"]


def test_every_text_is_escaped_and_the_desk_changes_nothing():
    turns = [Turn(role=evil, text=evil, calls=(ToolCall(name=evil, arguments=evil, result=evil),))
             for evil in EVIL]
    page = trajectory_page(EVIL[0], [*turns, *(Turn(role="tool", text=evil) for evil in EVIL)])
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.seen == {"h4", "p", "b", "br", "details", "summary", "pre"}
    kept = Tags()
    kept.feed(sanitised(page))
    assert kept.seen == tags.seen
    assert re.sub(r"\s", "", sanitised(page)).count("<details>") == page.count("<details>")


def test_long_texts_are_cut_and_say_so():
    page = trajectory_page("x" * (MOST_SHOWN + 7), ())
    assert page.endswith("x [7 more characters]</p>")


def turn(role, text, **more):
    return Turn(role=role, text=text, **more)


def model(number, given, said):
    return TracedSpan(trace="t", id=str(number), parent="0", kind="model", start=str(number), inputs=given,
                      outputs=said)


def test_messages_that_come_again_are_told_once_and_repeated_ones_stay():
    hello, yes, again = turn("user", "hello"), turn("user", "yes"), turn("assistant", "more?")
    root = TracedSpan(trace="t", id="0")
    told = conversation([
        root, model(1, [hello], [again]), model(2, [hello, again, yes], [again]),
        model(3, [hello, again, yes, again, yes], [turn("assistant", "done")]),
    ], root)
    assert [one.text for one in told] == ["hello", "more?", "yes", "more?", "yes", "done"]


def test_results_of_tools_go_to_their_calls():
    calls = (ToolCall(name="a", id="1"), ToolCall(name="b", id="2"))
    root = TracedSpan(trace="t", id="0")
    asked = [turn("user", "go"), turn("assistant", "", calls=calls)]
    told = conversation([root, model(1, asked[:1], asked[1:]), model(2, [
        *asked, turn("tool", "second", answers="2"), turn("tool", "first", answers="1"),
    ], [turn("assistant", "done")])], root)
    assert [(one.name, one.result) for one in told[1].calls] == [("a", "first"), ("b", "second")]
    assert [one.role for one in told] == ["user", "assistant", "assistant"]


def test_a_trace_without_a_model_is_told_by_its_first_span_and_its_tools():
    spans = [
        TracedSpan(trace="t", id="1", name="app", inputs=[turn("user", "q")],
                   outputs=[turn("assistant", "a")]),
        TracedSpan(trace="t", id="2", parent="1", kind="tool", name="look", inputs=[turn("tool", "x")],
                   outputs=[turn("tool", "y")], start="1"),
    ]
    found = response_of_trace(spans, Notes())
    assert (found.question, found.response, found.system) == ("q", "a", "app")
    assert found.trajectory.index("tool: look") < found.trajectory.rindex("<b>assistant</b>")


def test_a_trace_that_failed_is_counted():
    spans = [TracedSpan(trace="t", id="1", inputs=[turn("user", "q")], failed=True)]
    assert response_of_trace(spans, Notes()) is None


@pytest.mark.parametrize(("value", "expected"), [
    ("hello", [("user", "hello", 0)]),
    ({"role": "user", "parts": [{"type": "text", "content": "a"}]}, [("user", "a", 0)]),
    ([{"role": "assistant", "content": [{"type": "text", "text": "a"},
                                        {"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "b"}]}],
     [("assistant", "a", 1), ("tool", "b", 0)]),
    ({"messages": [{"type": "human", "content": "a"}, {"type": "ai", "content": "b"}]},
     [("user", "a", 0), ("assistant", "b", 0)]),
    ({"choices": [{"message": {"role": "assistant", "content": "a"}}]}, [("assistant", "a", 0)]),
    ({"question": "a", "k": 3}, [("user", "a", 0)]),
    ('{"a": 1, "b": 2}', [("user", '{"a": 1, "b": 2}', 0)]),
])
def test_messages_in_every_form(value, expected):
    assert [(one.role, one.text, len(one.calls)) for one in turns_of(value, "user", Notes())] == expected


def test_a_file_that_breaks_off_names_its_line(tmp_path):
    text = (LOGS / "langsmith/runs.jsonl").read_text()
    (tmp_path / "runs.jsonl").write_text(text[:-500])
    with pytest.raises(BadInput, match=r"runs\.jsonl: what begins in line 48 is not sound JSON"):
        bring_in([tmp_path / "runs.jsonl"], tmp_path / "pool.parquet")


def test_a_span_without_a_trace_is_refused(tmp_path):
    (tmp_path / "spans.json").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]}))
    with pytest.raises(BadInput, match=r"spans\.json: a span names no trace"):
        bring_in([tmp_path / "spans.json"], tmp_path / "pool.parquet")
