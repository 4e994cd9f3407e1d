"""What is peculiar to CSV exports, to logs of OpenAI's evals, to runs of HELM, and to calls of Weave.

Forms as their documentation and sources have them; values made up.
"""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from services.log_writers import Case, helm, langsmith_experiment, openai_evals

import assay
from assay.evalcore.errors import BadInput
from assay.flows.connectors import bring_in


def brought(tmp_path, given, **more):
    """The rows by id, the spec, and the notes; an evaluation begins with it and asks."""
    found = bring_in([given], tmp_path / "pool.parquet", **more)
    spec = yaml.safe_load(found.spec)
    begun = assay.begin({**spec, "desk": {"kind": "caller"}, "store": str(tmp_path / "ledger")})
    assert len(begun.ask())
    rows = pq.read_table(tmp_path / "pool.parquet").to_pylist()
    return {row["item_id"]: row for row in rows}, spec, found.notes


def table(path, heading, *rows):
    with path.open("w", newline="") as opened:
        csv.writer(opened).writerows([heading, *rows])
    return path


def test_promptfoo_csv_with_a_column_for_each_thing_said(tmp_path):
    beside = ["Status", "Score", "Named Scores", "Metric: tone", "Grader Reason", "Comment"]
    file = table(
        tmp_path / "table.csv",
        ["Description", "topic", "[m] Tell of {{topic}}", *beside, "[n] Tell of {{topic}}", *beside],
        [
            "a",
            "cats",
            "Cats purr.",
            "PASS",
            "1.00",
            '{"tone":0.5}',
            "0.50",
            "fine",
            "",
            "Meow.",
            "FAIL",
            "0.00",
            "",
            "",
            "too short",
            "",
        ],
        [
            "b",
            "dogs",
            "Dogs bark.",
            "FAIL",
            "0.25",
            '{"tone":0.25}',
            "0.25",
            "bad",
            "",
            "",
            "ERROR",
            "0.00",
            "",
            "",
            "",
            "",
        ],
    )
    rows, _, notes = brought(tmp_path, file, layout="responses")
    assert {name: row["response"] for name, row in rows.items()} == {
        "0/m": "Cats purr.",
        "0/n": "Meow.",
        "1/m": "Dogs bark.",
    }
    row = rows["0/m"]
    assert (row["question"], row["judge_passed"], row["judge_score"], row["judge_tone"], row["reason"]) == (
        "Tell of cats",
        "correct",
        1.0,
        0.5,
        "fine",
    )
    assert (rows["0/n"]["judge_passed"], rows["1/m"]["judge_score"], row["description"]) == (
        "incorrect",
        0.25,
        "a",
    )
    assert "not imported: results that ended in an error, or without a response (1 times)" in notes


def test_promptfoo_csv_with_the_verdict_in_the_cell(tmp_path):
    cells = [
        "[PASS] (1.00, tone: 0.50)\n\nCats (all) purr.\n\nPass Reason: All assertions passed",
        "[FAIL] (0.00)\n\nMeow.\n\nFail Reason: too short",
    ]
    file = table(tmp_path / "out.csv", ["topic", "[m] p"], ["cats", cells[0]], ["dogs", cells[1]])
    rows, _, _ = brought(tmp_path, file)
    assert {
        row["question"]: (row["response"], row["judge_passed"], row["reason"]) for row in rows.values()
    } == {
        "cats": ("Cats (all) purr.", "correct", "All assertions passed"),
        "dogs": ("Meow.", "incorrect", "too short"),
    }
    assert rows["0"]["judge_tone"] == 0.5


def test_promptfoo_csv_with_the_status_alone_in_the_cell(tmp_path):
    file = table(
        tmp_path / "out.csv",
        ["topic", "[m] p", "Grader Reason", "Comment", "[n] p", "Grader Reason", "Comment"],
        ["cats", "[PASS] Cats purr.", "fine", "", "[FAIL] Meow.", "short", "indeed"],
        ["dogs", "[PASS] Dogs bark.", "good", "", "[ERROR] timed out", "", ""],
    )
    rows, _, _ = brought(tmp_path, file, layout="responses")
    assert {name: (row["response"], row["judge"], row["reason"]) for name, row in rows.items()} == {
        "0/m": ("Cats purr.", "correct", "fine"),
        "0/n": ("Meow.", "incorrect", "short"),
        "1/m": ("Dogs bark.", "correct", "good"),
    }


@pytest.mark.parametrize("names", [("inputs", "reference"), ("input", "reference_outputs")])
def test_an_experiment_of_langsmith_has_references_and_failures(tmp_path, names):
    asked, right = names
    file = table(
        tmp_path / "experiment.csv",
        [
            "",
            f"{asked}.question",
            "outputs.answer",
            f"{right}.answer",
            "feedback.correct",
            "feedback.tone",
            "error",
            "execution_time",
            "example_id",
            "id",
        ],
        *([n, f"q{n}?", f"a{n}", f"r{n}", n % 2, n / 4, "", 0.5, f"e{n}", f"i{n}"] for n in range(4)),
        [9, "q9?", "", "r9", "", "", "timed out", 0.5, "e9", "i9"],
    )
    rows, _, notes = brought(tmp_path, file)
    assert {
        row["question"]: (row["response"], row["reference"], row["judge_correct"], row["judge_tone"])
        for row in rows.values()
    } == {f"q{n}?": (f"a{n}", f"r{n}", "correct" if n % 2 else "incorrect", n / 4) for n in range(4)}
    assert any("ended in an error" in note for note in notes)


def test_a_download_of_langsmith_whose_columns_have_no_prefix(tmp_path):
    file = table(
        tmp_path / "x.csv",
        ["id", "inputs", "outputs", "reference_outputs", "correctness", "topic", "latency"],
        *(
            [
                f"i{n}",
                json.dumps({"question": f"q{n}?"}),
                json.dumps({"answer": f"a{n}"}),
                f"r{n}",
                n % 2,
                "cats",
                0.25,
            ]
            for n in range(4)
        ),
    )
    rows, _, _ = brought(tmp_path, file)
    assert {
        row["question"]: (row["response"], row["reference"], row["judge"], row["topic"])
        for row in rows.values()
    } == {f"q{n}?": (f"a{n}", f"r{n}", "correct" if n % 2 else "incorrect", "cats") for n in range(4)}
    assert not {"latency", "judge_latency"} & set(rows["i0"])


def test_experiments_on_the_same_examples_are_of_the_same_questions(tmp_path):
    six = [Case(n, f"q{n}?", f"a{n}", n % 2) for n in range(6)]
    for name in ("one", "two"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        [text] = langsmith_experiment(
            [case._replace(response=f"{name} {case.response}") for case in six]
        ).values()
        (tmp_path / "logs" / name / "x.csv").write_bytes(text.replace(b",r", b"," + name.encode()))
    rows, spec, _ = brought(tmp_path, tmp_path / "logs")
    assert len(rows) == 12
    assert spec["pool"]["cluster"] == "question"


def test_arrow_files_are_read_as_parquet_files_are(tmp_path):
    frame = pa.table({"user_input": ["q0", "q1"], "response": ["a0", "a1"], "faithfulness": [0.5, 1.0]})
    with pa.ipc.new_file(tmp_path / "result.arrow", frame.schema) as writer:
        writer.write_table(frame)
    rows, _, _ = brought(tmp_path, tmp_path / "result.arrow")
    assert [row["judge"] for row in rows.values()] == [0.5, 1.0]


def event(sample, kind, **data):
    return {
        "run_id": "r1",
        "event_id": 0,
        "sample_id": sample,
        "type": kind,
        "data": data,
        "created_at": "2026",
    }


def test_matches_of_openai_evals_have_an_expected_answer(tmp_path):
    lines = [{"spec": {"completion_fns": ["gpt-x"], "eval_name": "sums.s1.v0", "run_id": "r1"}}]
    for n in range(4):
        lines += [
            event(f"sums.s1.{n}", "sampling", prompt=f"{n} + 1?", sampled=[f"It is {n + n % 2}."]),
            event(
                f"sums.s1.{n}",
                "match",
                correct=n % 2 == 1,
                expected=f"{n + 1}",
                picked=None,
                sampled=f"It is {n + n % 2}.",
                options=[f"{n + 1}"],
            ),
        ]
    lines += [event("sums.s1.9", "error", type="E", message="timed out"), {"final_report": {"accuracy": 0.5}}]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    rows, spec, notes = brought(tmp_path, tmp_path / "log.jsonl")
    assert rows["sums.s1.1"] == {
        "item_id": "sums.s1.1",
        "question": "1 + 1?",
        "response": "It is 2.",
        "reference": "2",
        "judge": "correct",
        "task": "sums.s1.v0",
        "model": "gpt-x",
    }
    assert (rows["sums.s1.2"]["judge"], spec["pool"]["prediction"]) == ("incorrect", "judge")
    assert "not imported: samples without a response (1 times)" in notes


def test_what_a_grader_was_asked_is_no_response(tmp_path):
    [log] = openai_evals([Case(n, f"q{n}?", f"a{n}", "ABC"[n]) for n in range(3)]).values()
    lines = [json.loads(line) for line in log.splitlines()]
    lines += [event(f"t.dev.{n}", "sampling", prompt="Grade this", sampled=["A"]) for n in range(3)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    rows, spec, notes = brought(tmp_path, tmp_path / "log.jsonl")
    assert [(row["response"], row["judge"]) for row in rows.values()] == [
        ("a0", "A"),
        ("a1", "B"),
        ("a2", "C"),
    ]
    assert spec["labels"] == {"classes": ["A", "B", "C"]}
    assert any("further samplings" in note for note in notes)


OPTIONS = ("red", "green", "blue", "white")


def helm_run(folder, model, requests, stats):
    folder.mkdir(parents=True)
    spec = {
        "name": f"colours:method=x,model={model.replace('/', '_')}",
        "metric_specs": [],
        "adapter_spec": {"model": model, "method": "x"},
    }
    state = {"adapter_spec": spec["adapter_spec"], "request_states": requests}
    files = {
        "run_spec": spec,
        "scenario_state": state,
        "per_instance_stats": stats,
        "stats": [],
        "scenario": {},
    }
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))


def request(n, **more):
    references = [
        {"output": {"text": text}, "tags": ["correct"] if place == n % 4 else []}
        for place, text in enumerate(OPTIONS)
    ]
    return {
        "instance": {"id": f"id{n}", "input": {"text": f"Colour {n}?"}, "references": references},
        "train_trial_index": 0,
        "request": {"model": "m", "prompt": f"shots\nColour {n}?"},
        **more,
    }


def stats_of(n, **means):
    return {
        "instance_id": f"id{n}",
        "train_trial_index": 0,
        "stats": [
            {"name": {"name": name, "split": "test"}, "count": 1, "mean": mean}
            for name, mean in means.items()
        ],
    }


def test_letters_of_helm_are_choices_and_models_are_compared_by_them(tmp_path):
    for model, shift in (("a/one", 0), ("b/two", 1)):
        helm_run(
            tmp_path / "runs" / model.replace("/", "_"),
            model,
            [
                request(
                    n,
                    output_mapping=dict(zip("ABCD", OPTIONS, strict=True)),
                    result={
                        "success": True,
                        "completions": [{"text": f" {'ABCD'[(n + shift * (n % 3 == 0)) % 4]}"}],
                    },
                )
                | {"request": {"model": model, "prompt": "p"}}
                for n in range(24)
            ],
            [
                stats_of(n, exact_match=float(not shift or n % 3 != 0), num_prompt_tokens=9.0)
                for n in range(24)
            ],
        )
    rows, spec, notes = brought(tmp_path, tmp_path / "runs")
    assert rows["id3"]["question"] == "Colour 3?\n\nA) red\nB) green\nC) blue\nD) white"
    assert (rows["id3"]["choice_a_one"], rows["id3"]["choice_b_two"], rows["id3"]["reference"]) == (
        "D",
        "A",
        "D",
    )
    assert spec["labels"] == {"classes": ["A", "B", "C", "D"]}
    assert "not imported: metrics that count, time or bill (48 times)" in notes


def test_choices_that_helm_tried_one_by_one(tmp_path):
    helm_run(
        tmp_path / "run",
        "a/one",
        [
            request(
                n,
                reference_index=place,
                request_mode=mode,
                result={
                    "success": True,
                    "completions": [{"text": f"Colour {n}? {OPTIONS[place]}", "logprob": -1.0}],
                },
            )
            for n in range(4)
            for place in range(4)
            for mode in ("original", "calibration")
        ],
        [stats_of(n, exact_match=float(n < 3), predicted_index=float(n if n < 3 else 0)) for n in range(4)],
    )
    rows, _, _ = brought(tmp_path, tmp_path / "run")
    assert {name: (row["choice"], row["reference"], row["judge"]) for name, row in rows.items()} == {
        "id0": ("red", "red", "correct"),
        "id1": ("green", "green", "correct"),
        "id2": ("blue", "blue", "correct"),
        "id3": ("red", "white", "incorrect"),
    }


def test_a_run_of_helm_as_its_pages_have_it(tmp_path):
    (tmp_path / "run").mkdir()
    shown = [
        {
            "instance_id": f"id{n}",
            "train_trial_index": 0,
            "predicted_text": f"a{n}",
            "stats": {"exact_match": float(n % 2), "num_output_tokens": 3.0},
        }
        for n in range(4)
    ]
    instances = [request(n)["instance"] for n in range(4)]
    for name, value in (
        ("display_predictions", shown),
        ("instances", instances),
        ("run_spec", {"name": "colours:model=m", "adapter_spec": {"model": "m"}, "metric_specs": []}),
    ):
        (tmp_path / "run" / f"{name}.json").write_text(json.dumps(value))
    rows, _, _ = brought(tmp_path, tmp_path / "run")
    assert {row["question"]: (row["response"], row["reference"], row["judge"]) for row in rows.values()} == {
        f"Colour {n}?": (f"a{n}", OPTIONS[n], "correct" if n % 2 else "incorrect") for n in range(4)
    }


def test_statistics_of_helm_alone_say_what_is_missing(tmp_path):
    files = helm([Case(n, f"q{n}?", f"a{n}", 1.0) for n in range(4)])
    for name in ("per_instance_stats.json", "run_spec.json"):
        (tmp_path / name).write_bytes(files[name])
        with pytest.raises(BadInput, match=rf"{name}: says nothing of responses; scenario_state\.json"):
            bring_in([tmp_path / name], tmp_path / "pool.parquet")


def call(n, op, **more):
    return {
        "id": f"c{n}",
        "trace_id": f"t{n}",
        "parent_id": None,
        "op_name": f"weave:///team/project/op/{op}:v1",
        "started_at": "2026",
        "inputs": {"question": f"q{n}?"},
        "output": {"answer": f"a{n}"},
        "exception": None,
        **more,
    }


def test_an_evaluation_of_weave(tmp_path):
    calls = [call(9, "Evaluation.evaluate", inputs={"model": "m"}, output={"f1": 1})]
    for n in range(4):
        calls += [
            call(
                n,
                "Evaluation.predict_and_score",
                parent_id="c9",
                output={
                    "output": f"a{n}",
                    "model_latency": 0.1,
                    "scores": {"exact": {"correct": n % 2 == 1, "why": f"long {n}"}},
                },
                inputs={
                    "model": {"name": "my-model"},
                    "example": {"question": f"q{n}?", "expected": f"r{n}"},
                },
            ),
            call(f"{n}p", "Model.predict", parent_id=f"c{n}"),
        ]
    (tmp_path / "calls.json").write_text(json.dumps(calls))
    rows, _, notes = brought(tmp_path, tmp_path / "calls.json")
    assert {
        row["question"]: (row["response"], row["reference"], row["judge"], row["model"])
        for row in rows.values()
    } == {f"q{n}?": (f"a{n}", f"r{n}", "correct" if n % 2 else "incorrect", "my-model") for n in range(4)}
    assert "not imported: the inner calls of evaluations and traces (5 times)" in notes


def test_what_people_said_of_calls_of_weave_are_votes(tmp_path):
    def feedback(kind, payload, who):
        return {"feedback_type": kind, "payload": payload, "creator": who, "created_at": "2026"}

    calls = [
        call(
            n,
            "answer",
            summary={
                "weave": {
                    "feedback": [
                        feedback("wandb.annotation.Good", {"value": n % 2 == 1}, "ann"),
                        feedback("wandb.runnable.rule", {"output": {"right": True}}, "x"),
                        feedback("wandb.reaction.1", {"emoji": "👍"}, "bob"),
                        feedback("wandb.note.1", {"note": "so"}, "bob"),
                    ]
                }
            },
        )
        for n in range(4)
    ]
    calls.append(call(5, "answer", exception="ValueError"))
    (tmp_path / "calls.jsonl").write_text("\n".join(map(json.dumps, calls)))
    rows, _, notes = brought(tmp_path, tmp_path / "calls.jsonl")
    assert [
        (row["response"], row["label_good"], row["label_reaction"], row["judge"]) for row in rows.values()
    ] == [(f"a{n}", "correct" if n % 2 else "incorrect", "correct", "correct") for n in range(4)]
    assert "not imported: feedback without a verdict, of wandb.note.1 (4 times)" in notes
    assert "ann" not in json.dumps(list(rows.values()))
