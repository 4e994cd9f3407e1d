"""What a spec may say about the people who label, and what it is told where it says something else."""

import pytest
from doubles.small_pool import small_spec

from assay.evalcore.errors import BadInput

DESK = {"kind": "simulated", "labels": "labels.csv"}


@pytest.mark.parametrize(("changes", "field"), [
    ({"deadline": {}}, "deadline.round_hours"),
    ({"deadline": {"round_hours": 0}}, "deadline.round_hours"),
    ({"deadline": {"round_hours": float("inf")}}, "deadline.round_hours"),
    ({"deadline": {"round_hours": "three days"}}, "deadline.round_hours"),
    ({"deadline": {"round_hours": 72, "then": "give up"}}, "deadline.then"),
    ({"deadline": {"round_hours": 72, "after": 3}}, "deadline.after"),
    ({"deadline": 72}, "deadline"),
    ({"skipped": "ignore"}, "skipped"),
    ({"question": "two\nlines"}, "question"),
    ({"question": " "}, "question"),
    ({"question": "x" * 201}, "question"),
    ({"guidelines": "\n \n"}, "guidelines"),
    ({"guidelines": ["a", "list"]}, "guidelines"),
    ({"adjudication": {"rule": "oracle"}}, "adjudication.rule"),
    ({"adjudication": {"rule": "dawid-skene"}}, "adjudication.rule"),      # of one answer each
    ({"desk": {**DESK, "gold": {"rate": 0.1}}}, "desk.gold.labels"),
    ({"desk": {**DESK, "gold": {"labels": "g.csv", "rate": 0}}}, "desk.gold.rate"),
    ({"desk": {**DESK, "gold": {"labels": "g.csv", "rate": 0.6}}}, "desk.gold.rate"),
    ({"desk": {**DESK, "gold": "g.csv"}}, "desk.gold"),
    ({"desk": {**DESK, "ask_again": "sometimes"}}, "desk.ask_again"),
    ({"desk": {**DESK, "ask_again": {"when": "often"}}}, "desk.ask_again.when"),
    ({"desk": {**DESK, "ask_again": {"chance": 0}}}, "desk.ask_again.chance"),
    ({"desk": {**DESK, "ask_again": {"moves": 2}}}, "desk.ask_again.moves"),
])
def test_a_mistake_is_told_with_its_field_and_what_is_wrong(tmp_path, changes, field):
    with pytest.raises(BadInput) as refused:
        small_spec(tmp_path, n=10, **changes)
    message = str(refused.value)
    assert f"{field}: " in message or f"{field} " in message, message
    assert "Traceback" not in message
    assert "pydantic" not in message


@pytest.mark.parametrize(("said", "when"), [(True, "always"), (False, "never"), ({}, "known")])
def test_asking_again_is_said_in_a_word(tmp_path, said, when):
    spec = small_spec(tmp_path, n=10, desk={**DESK, "ask_again": said})
    assert spec.desk.again.when == when
    several = small_spec(tmp_path, n=10, desk={**DESK, "ask_again": said, "annotators_per_item": 2})
    assert several.desk.again.when == "never"


def test_question_and_guidelines_reach_the_desk_and_leave_no_trace_where_there_are_none(tmp_path):
    spec = small_spec(tmp_path, n=10, question=" Same person? ", guidelines="Be strict.\nReally.")
    assert (spec.labelling.question, spec.labelling.guidelines) == ("Same person?", "Be strict.\nReally.")
    assert spec.to_json()["question"] == "Same person?"
    assert not {"question", "guidelines"} & set(small_spec(tmp_path, n=10).to_json())
