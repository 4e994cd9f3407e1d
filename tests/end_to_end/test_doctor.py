"""`assay doctor`: what data supports, what is missing, and how to put it right, before anything is begun."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool

from assay.flows import doctor as examination
from assay.flows.cli.main import run_command_line
from assay.tasks.desks.label_studio.kind import LabelStudioKind
from assay.tasks.doctor import portion
from assay.tasks.spec.evaluation import load_spec


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    write_small_pool(Path("."))
    return tmp_path


@pytest.fixture
def doctor(folder, capsys):
    def look(subject, *more):
        code = run_command_line(["doctor", str(subject), "--json", *more])
        return code, json.loads(capsys.readouterr().out)

    return look


def by_level(told, level):
    return {f["about"]: f for f in told["findings"] if f["level"] == level}


def test_a_sound_file_gets_its_columns_named_a_price_and_a_spec_that_loads(doctor):
    before = sorted(p.name for p in Path(".").iterdir())
    code, told = doctor("predictions.csv", "--write", "trial.yaml")
    assert (code, told["usable"], told["rows"]) == (0, True, 400)
    assert told["columns"] == {
        "id": "item_id", "score": "score", "probability": None, "prediction": "prediction", "label": None,
        "time": [], "display": ["text"], "segments": ["region"],
    }
    # predictions of the small pool turn at 0.6; halfway between the scores next to it
    assert 0.55 < told["scores"]["threshold"] < 0.65
    assert {m["measure"] for m in told["measures"] if m["available"]} >= {"f1", "precision", "recall", "mcc"}
    assert [f["half_width"] for f in told["forecast"]] == [0.1, 0.05, 0.02]
    assert told["forecast"][-1]["labels"] <= 400            # all of it is exact
    assert told["calibration"] is None
    assert sum(m["verdict"] == "chosen" for m in told["methods"]) == 1
    spec = load_spec(Path("trial.yaml"))
    assert (spec.pool.id, spec.pool.display, spec.labels.positive) == ("item_id", ("text",), "match")
    assert sorted(p.name for p in Path(".").iterdir()) == sorted([*before, "trial.yaml"])
    assert doctor("predictions.csv")[1] == told             # the same, every time


def test_a_labelled_file_is_measured_against_its_labels_and_runs_as_suggested(doctor, capsys):
    rows = pa.table({
        "pair_id": [f"p{i}" for i in range(200)],
        "p_match": [(i % 100) / 100 for i in range(200)],
        "y": [int(i % 100 > 60) for i in range(200)],
        "created_at": ["2026-01-01T00:00:00"] * 200,
    })
    pq.write_table(rows, "labelled.parquet")
    code, told = doctor("labelled.parquet", "--write", "trial.yaml")
    assert code == 0
    assert (told["columns"]["id"], told["columns"]["probability"]) == ("pair_id", "p_match")
    assert (told["columns"]["label"], told["columns"]["time"]) == ("y", ["created_at"])
    assert "prediction" in by_level(told, "warning")        # no decision: a threshold of 0.5 is proposed
    # Σ p = 2 · Σ 0.00 .. 0.99 = 99; positives 61 .. 99, twice: 78
    assert told["calibration"]["expected_positives"] == pytest.approx(99)
    assert told["calibration"]["positives"] == 78
    # at 0.5: predicted 50 .. 99, so TP = 78, FP = 22 and FN = 0
    truth = {m["measure"]: m["true_value"] for m in told["measures"]}
    assert (truth["precision"], truth["recall"]) == (0.78, 1.0)
    assert run_command_line(["run", "trial.yaml", "--json"]) == 0
    ran = json.loads(capsys.readouterr().out)
    assert ran["estimates"][0]["value"] == pytest.approx(2 * 0.78 / 1.78, abs=0.05)


def test_every_defect_is_named_with_its_rows_and_a_remedy(doctor):
    lines = ["item_id,score,prediction"]
    lines += [f"a{i},{i / 10},{int(i > 50)}" for i in range(100)]
    lines[4] = "a1,0.3,0"           # row 4: the id of row 2
    lines[7] = ",0.6,0"             # row 7: no id
    lines[9] = "a8,nan,0"           # row 9: no number
    lines[12] = "a11,high,0"        # row 12: no number either
    Path("broken.csv").write_text("\n".join(lines) + "\n")
    code, told = doctor("broken.csv")
    assert (code, told["usable"]) == (2, False)
    assert yaml.safe_load(told["spec"])["pool"]["id"] == "item_id"     # a draft, whatever is wrong
    problems = by_level(told, "problem")
    assert set(problems) == {"item_id", "score"}
    says = " ".join(f["says"] for f in told["findings"])
    assert "'a1' (rows 2, 4)" in says
    assert "row 7" in says
    assert "missing, NaN, infinite or not a number in 2 rows: " in problems["score"]["says"]
    assert "row 9: 'nan'" in problems["score"]["says"]
    assert "row 12: 'high'" in problems["score"]["says"]
    assert all(f["remedy"] for f in told["findings"] if f["level"] != "ok")


@pytest.mark.parametrize(
    ("columns", "about"),
    [
        ({"item_id": ["a", "b", "c"]}, "columns"),
        ({"item_id": ["a", "b", "c"], "prediction": ["x", "y", "z"], "score": [1.0, 2.0, 3.0]}, "prediction"),
    ],
)
def test_what_no_evaluation_can_do_without_is_a_problem(doctor, columns, about):
    pq.write_table(pa.table(columns), "little.parquet")
    code, told = doctor("little.parquet")
    assert code == 2
    assert about in by_level(told, "problem")


def test_what_is_no_file_of_predictions_is_said_in_one_sentence(doctor):
    files = {"empty.csv": "", "rubbish.parquet": "no parquet", "header.csv": "item_id,score\n"}
    for name, text in files.items():
        Path(name).write_text(text)
        code, told = doctor(name)
        assert code == 2, name
        assert by_level(told, "problem"), name
    assert doctor("missing.parquet")[0] == 2


def a_spec(**changes):
    spec = spec_json(Path("predictions.csv"), Path("labels.csv")) | changes
    Path("small.yaml").write_text(yaml.safe_dump(spec))
    return "small.yaml"


def test_a_sound_spec_is_looked_at_and_nothing_is_made(doctor):
    before = sorted(p.name for p in Path(".").rglob("*"))
    code, told = doctor(a_spec(budget={"labels": 120}, target={"half_width": 0.01}))
    assert code == 0
    assert {"spec", "store", "name", "desk"} <= set(by_level(told, "ok"))
    assert told["forecast"][0]["half_width"] == 0.01
    assert told["forecast"][0]["labels"] is None            # 120 labels are no budget for ± 0.01
    assert sorted(p.name for p in Path(".").rglob("*")) == sorted([*before, "small.yaml"])


@pytest.mark.parametrize(
    ("changes", "about", "says"),
    [
        ({"desk": {"kind": "label-studio", "url": "http://127.0.0.1:9"}}, "desk", "127.0.0.1:9"),
        ({"desk": {"kind": "folder", "path": "labels.csv/desk"}}, "desk", "no folder"),
        ({"desk": {"kind": "simulated", "labels": "gone.csv"}}, "desk", "gone.csv"),
        ({"store": "labels.csv/ledger"}, "store", "labels.csv"),
        ({"budget": {"labels": 4000}}, "budget.labels", "4,000 labels of 400"),
        ({"labels": {"positive": "yes", "negative": "no"}}, "pool", "prediction"),
        ({"measure": "f2"}, "spec", "f2"),
    ],
)
def test_what_a_spec_names_and_is_not_there_is_a_problem_with_a_remedy(
    doctor, monkeypatch, changes, about, says
):
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "0123456789abcdef0123456789abcdef01234567")
    code, told = doctor(a_spec(**changes))
    assert code == 2
    assert says in by_level(told, "problem")[about]["says"]
    assert by_level(told, "problem")[about]["remedy"]
    assert "0123456789abcdef" not in json.dumps(told)


def test_a_desk_without_a_token_and_items_too_large_for_it_are_said(doctor, monkeypatch):
    monkeypatch.delenv("LABEL_STUDIO_API_KEY", raising=False)
    monkeypatch.setattr(LabelStudioKind, "most_shown_bytes", 5)
    code, told = doctor(a_spec(desk={"kind": "label-studio", "url": "http://127.0.0.1:9"}))
    assert code == 2
    assert "LABEL_STUDIO_API_KEY" in by_level(told, "problem")["desk"]["says"]
    assert "too large for desk.kind label-studio" in by_level(told, "problem")["pool"]["says"]


def test_pictures_that_no_browser_can_open_are_said_with_what_to_do(doctor, folder):
    (folder / "pictures.csv").write_text("item_id,score,photo\n" + "".join(
        f"i{n},{n / 10},images/{n}.png\n" for n in range(10)
    ))
    pool = {
        "source": "pictures.csv", "id": "item_id", "score": "score", "threshold": 0.5, "display": ["photo"],
    }
    code, told = doctor(a_spec(pool=pool, desk={"kind": "label-studio", "url": "http://127.0.0.1:9"}))
    assert code == 2
    said = by_level(told, "problem")["pool"]["says"]
    assert "column 'photo': values are no pictures that people's browsers can open: row 1: 'im" in said
    assert "http.server" in said


def test_a_name_that_is_taken_is_found_before_begin_refuses_it(doctor, capsys):
    assert run_command_line(["begin", a_spec()]) == 0
    capsys.readouterr()
    assert "resumes" in by_level(doctor(a_spec())[1], "ok")["name"]["says"]
    code, told = doctor(a_spec(batch_size=10))
    assert code == 2
    assert "taken" in by_level(told, "problem")["name"]["says"]


def test_people_get_the_same_in_lines(folder, capsys):
    assert run_command_line(["doctor", "predictions.csv"]) == 0
    text = capsys.readouterr().out
    assert "predictions.csv: can be used" in text
    assert "cost      f1 to ± 0.1 takes about" in text
    assert "cost      The method is " in text
    assert "# Suggested by `assay doctor`" in text
    assert run_command_line(["doctor", "missing.csv"]) == 2
    assert "PROBLEM" in capsys.readouterr().out


def test_a_spec_is_believed_about_the_positive_class(doctor):
    rows = pa.table({"item_id": list("abcd"), "score": [0.1, 0.2, 0.3, 0.4], "prediction": ["ham"] * 4,
                     "label": ["ham", "spam", "ham", "ham"]})
    pq.write_table(rows, "mail.parquet")
    spec = a_spec(
        pool={"source": "mail.parquet", "id": "item_id", "score": "score", "prediction": "prediction",
              "display": ["label"]},
        labels={"positive": "spam", "negative": "ham"}, budget={"labels": 4}, desk={
            "kind": "simulated", "labels": "mail.parquet"},
    )
    told = doctor(spec)[1]
    assert "every item is predicted negative ('ham')" in by_level(told, "warning")["prediction"]["says"]
    assert "the truth" in by_level(told, "warning")["display: label"]["says"]


def test_scores_that_point_the_other_way_are_told(doctor):
    rows = pa.table({
        "item_id": [f"i{n}" for n in range(200)], "prediction": [int(n > 150) for n in range(200)],
        "probability": [1 - n / 200 for n in range(200)],
    })
    pq.write_table(rows, "turned.parquet")
    assert "have the lower scores" in by_level(doctor("turned.parquet")[1], "warning")["score"]["says"]


def test_the_column_of_scores_names_the_positive_class_though_nothing_is_predicted_so(doctor):
    pq.write_table(pa.table({
        "id": [f"i{n}" for n in range(200)], "p_spam": [n / 500 for n in range(200)],
        "decision": ["ham"] * 200,
        "truth": [["ham", "spam"][n > 150] for n in range(200)],
    }), "quiet.parquet")
    told = doctor("quiet.parquet")[1]
    assert "every item is predicted negative ('ham')" in by_level(told, "warning")["decision"]["says"]
    assert "--positive" not in by_level(told, "warning")


def test_labels_given_elsewhere_are_read_as_begin_would(doctor):
    spec = spec_json(
        "predictions.csv", "labels.csv", method="dirichlet-tree",
        warm_start={"source": "labels.csv", "label": "label"},
    )
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    assert by_level(doctor("spec.yaml")[1], "ok")["warm_start.source"]["says"] == "400 labels in labels.csv"
    spec["warm_start"]["source"] = "gone.csv"
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    code, told = doctor("spec.yaml")
    assert code == 2
    assert "gone.csv" in by_level(told, "problem")["warm_start.source"]["says"]


def test_a_file_runs_without_a_spec_and_again(folder, capsys):
    table = pa.table({
        "message_id": [f"m{n}" for n in range(120)], "text": [f"message number {n}" for n in range(120)],
        "decision": [["spam", "ham"][n % 3 > 0] for n in range(120)],
        "is_spam": [n % 3 == 0 or n % 10 == 7 for n in range(120)],
    })
    pq.write_table(table, "log.parquet")
    assert run_command_line(["run", "log.parquet"]) == 2
    assert "name the column with --label" in capsys.readouterr().err
    command = ["run", "log.parquet", "--label", "is_spam", "--positive", "spam", "--json"]
    assert run_command_line(command) == 2
    assert "('false', 'true') are none of the predicted classes" in json.loads(
        capsys.readouterr().out)["error"]["message"]
    table = table.set_column(3, "truth", pa.array(
        [["ham", "spam"][n % 3 == 0 or n % 10 == 7] for n in range(120)]
    ))
    pq.write_table(table, "log.parquet")
    assert run_command_line(["run", "log.parquet", "--positive", "spam", "--json"]) == 0
    captured = capsys.readouterr()
    ran = json.loads(captured.out)
    assert "log-trial.yaml" in captured.err
    assert "columns: id 'message_id', prediction 'decision', label 'truth'" in captured.err
    truth = yaml.safe_load(Path("log-trial.yaml").read_text())
    assert truth["measure"][0] == {"name": "f1", "class": "spam"}
    assert truth["desk"] == {"kind": "simulated", "labels": "log.parquet", "label": "truth"}
    assert ran["estimates"][0]["value"] == pytest.approx(2 * 40 / (2 * 40 + 8), abs=0.08)
    assert run_command_line(["run", "log.parquet", "--positive", "spam", "--json"]) == 0   # resumes: finished
    assert json.loads(capsys.readouterr().out)["estimates"] == ran["estimates"]
    assert run_command_line(["doctor", "log.parquet", "--id", "nobody"]) == 2
    assert "there is no column 'nobody'" in capsys.readouterr().err
    assert run_command_line(["doctor", "log-trial.yaml", "--id", "message_id"]) == 2
    assert "is a spec" in capsys.readouterr().err


def test_a_probability_in_percent_has_a_threshold_that_can_be_told(doctor):
    rows = pa.table({"message_id": [f"m{n}" for n in range(200)], "P(spam)": [n / 2 for n in range(200)],
                     "is_spam": [n > 120 for n in range(200)], "topic": ["sale"] * 200})
    pq.write_table(rows, "mails.parquet")
    code, told = doctor("mails.parquet", "--label", "is_spam", "--write", "mails.yaml")
    assert (code, told["columns"]["score"], told["scores"]["predicted_positives"]) == (0, "P(spam)", 99)
    assert "above 50 are predicted positive" in by_level(told, "warning")["prediction"]["says"]
    assert load_spec(Path("mails.yaml")).pool.threshold == 50
    told = doctor("mails.parquet", "--label", "is_spam", "--threshold", "60.2", "--id", "topic")[1]
    assert (told["scores"]["predicted_positives"], told["scores"]["threshold"]) == (79, 60.2)
    pq.write_table(rows.append_column("size", pa.array([n + 300.0 for n in range(200)])), "sizes.parquet")
    code, told = doctor("sizes.parquet", "--label", "is_spam", "--score", "size")
    assert code == 2
    assert "every item is predicted positive" in by_level(told, "problem")["threshold"]["says"]


def test_no_label_is_bought_where_every_answer_is_known(folder, capsys):
    text = Path("predictions.csv").read_text().splitlines()
    place = text[0].split(",").index("prediction")
    rows = [line.split(",") for line in text]
    for row in rows[1:]:
        row[place] = "0"
    Path("predictions.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    assert run_command_line(["begin", a_spec(measure=["f1", "precision"])]) == 2
    said = capsys.readouterr().err
    assert "every item is predicted" in said
    assert "f1 is 0 wherever it exists, precision does not exist" in said
    assert run_command_line(["begin", a_spec(measure=["f1", "accuracy"])]) == 0
    capsys.readouterr()
    assert run_command_line(["begin", a_spec(name="other", measure="accuracy", threshold={"min": 80})]) == 2
    assert "limit.min is 80, and accuracy lies between 0 and 1" in capsys.readouterr().err


@pytest.fixture
def large(monkeypatch):
    """More than four thousand rows are large; 32 blocks of 50 rows are read."""
    monkeypatch.setattr(portion, "LARGE_ROWS", 4_000)
    monkeypatch.setattr(portion, "LARGE_BYTES", 10_000)
    monkeypatch.setattr(portion, "SAMPLE_ROWS", 1_600)
    monkeypatch.setattr(examination, "TARGETS", ())      # no forecast: it is not looked at here


def write_large(bad=()):
    """10,000 rows, a third predicted positive, in row groups of 500; rows in `bad` have no score."""
    n = 10_000
    table = pa.table({
        "item_id": [f"i{k}" for k in range(n)], "text": ["some words"] * n,
        "score": [None if k in bad else float(k * 7919 % n) - 6_666.5 for k in range(n)],
        "prediction": [int(k * 7919 % n > 6_666) for k in range(n)],
    })
    pq.write_table(table, "large.parquet", row_group_size=500)
    return table


def test_of_a_large_file_a_sample_is_read_and_nothing_more_is_promised(doctor, large, capsys):
    write_large(bad={400})               # in the first row group, behind its block: not looked at
    code, told = doctor("large.parquet")
    assert (code, told["usable"], told["rows"]) == (0, True, 10_000)
    blocks = told["sample"]["blocks"]
    assert told["sample"]["rows_counted"] is True
    assert told["rows_read"] == sum(one["rows"] for one in blocks) == 1_600
    assert {(one["first_row"] - 1) % 500 for one in blocks} == {0}       # each begins with a row group
    assert {(one["first_row"] - 1) // 500 for one in blocks} == set(range(20))
    says = by_level(told, "warning")["sample"]["says"]
    assert "1,600 of 10,000 rows were looked at, 20 blocks of 1 file" in says
    assert told["scores"]["predicted_positives"] == pytest.approx(3_333, rel=0.1)
    about = told["scores"]["predicted_positives"]
    ok = by_level(told, "ok")
    assert f"about {about:,} of about 10,000 are predicted" in ok["prediction"]["says"]
    assert (ok["item_id"]["says"], ok["score"]["says"]) == (
        "no id twice in the rows looked at", "a finite number in every row looked at")
    assert "--all" in by_level(told, "warning")["sample"]["remedy"]
    code, told = doctor("large.parquet", "--all")        # reads the bad value
    assert (code, told["rows_read"], told["sample"]) == (2, 10_000, None)
    assert "row 401: missing" in by_level(told, "problem")["score"]["says"]
    run_command_line(["doctor", "large.parquet"])
    assert "large.parquet: can be used, by the rows looked at" in capsys.readouterr().out


def test_what_is_wrong_in_a_sample_is_named_by_its_row_in_the_file(doctor, large):
    table = write_large(bad={9_500})
    ids = table.column("item_id").to_pylist()
    ids[9_501] = "i0"
    pq.write_table(table.set_column(0, "item_id", pa.array(ids)), "large.parquet", row_group_size=500)
    code, told = doctor("large.parquet")
    assert code == 2
    problems = by_level(told, "problem")
    assert "'i0' (large.parquet row 1, large.parquet row 9502)" in problems["item_id"]["says"]
    assert "row 9501: missing" in problems["score"]["says"]
    assert "in 1 row looked at (about 6 of all)" in problems["score"]["says"]


def test_of_large_files_of_text_the_beginnings_are_read_and_rows_are_estimated(doctor, large):
    write_large()
    table = pq.read_table("large.parquet")
    Path("logs").mkdir()
    for i in range(4):
        pacsv.write_csv(table.slice(2_500 * i, 2_500), f"logs/{i}.csv")
    pool = {"source": "logs", "id": "item_id", "score": "score", "prediction": "prediction",
            "display": ["text"]}
    told = doctor(a_spec(pool=pool, labels={"positive": "1", "negative": "0"}))[1]
    assert (told["rows_read"], told["sample"]["rows_counted"]) == (1_600, False)
    assert told["rows"] == pytest.approx(10_000, rel=0.01)
    assert [one["rows"] for one in told["sample"]["blocks"]] == [400] * 4
    assert "mislead where files are sorted" in by_level(told, "warning")["sample"]["says"]


def a_table(label, n=300):
    return pa.table({
        "id": list(range(n)), "text": [f"message number {i}, of many" for i in range(n)],
        "score": [(i * 37 % 100) / 100 for i in range(n)],
        "prediction": [int(i * 37 % 100 > 50) for i in range(n)], "label": [label(i) for i in range(n)],
    })


@pytest.mark.parametrize(("missing", "words"), [
    ("", ("0.0", "1.0")), ("n/a", ("0", "1")), ("", ("ham", "spam")), ("NaN", ("ham", "spam"))])
def test_labels_that_are_missing_are_counted_and_are_no_class(doctor, capsys, missing, words):
    table = a_table(lambda i: words[i % 2] if i < 40 else missing)
    pacsv.write_csv(table, "some.csv")
    pq.write_table(a_table(lambda i: words[i % 2] if i < 40 else None), "some.parquet")
    code, told = doctor("some.csv")
    says = by_level(told, "warning")["label"]["says"]
    listed = "(20 {!r}, 20 {!r}); 260 have no label: 260".format(*(one.removesuffix(".0") for one in words))
    assert code == 0
    how = f"hold {missing!r}" if missing else "are empty"
    assert says == f"40 of 300 rows are labelled {listed} {how}"
    there = doctor("some.parquet")[1]
    assert by_level(there, "warning")["label"]["says"] == f"40 of 300 rows are labelled {listed} are empty"
    suggested = [yaml.safe_load(one["spec"])["labels"] for one in (told, there)]
    assert suggested[0] == suggested[1]
    assert len(suggested[0]) == 2
    assert run_command_line(["run", "some.csv", "--label", "label"]) == 2
    said = capsys.readouterr().err
    assert f"column 'label' has no label for every row, so nobody can answer: {says}" in said
    assert "Put the labelled rows into a file of their own" in said
    assert not Path("some-trial.yaml").exists()


def test_labels_that_are_numbers_are_counted_too(doctor):
    table = a_table(lambda i: f"{i * 1.5}" if i % 3 else "").set_column(
        3, "forecast", pa.array([i * 1.4 for i in range(300)]))
    pacsv.write_csv(table, "n.csv")
    told = doctor("n.csv", "--label", "label")[1]
    assert by_level(told, "warning")["label"]["says"] == (
        "200 of 300 rows are labelled; 100 have no label: 100 are empty")
    assert yaml.safe_load(told["spec"])["desk"]["kind"] == "folder"
    pacsv.write_csv(a_table(lambda i: f"{i * 1.5}" if i != 7 else "seven"), "bad.csv")
    told = doctor("bad.csv", "--label", "label")[1]
    assert "bad.csv row 8: 'seven'" in by_level(told, "problem")["label"]["says"]


def test_a_word_among_grades_is_a_problem_and_no_traceback(doctor):
    pacsv.write_csv(a_table(lambda i: str(i % 5) if i != 7 else "good"), "grades.csv")
    code, told = doctor("grades.csv", "--prediction", "label", "--label", "prediction")
    assert code in (0, 2)
    pacsv.write_csv(a_table(lambda i: str(i % 5) if i != 7 else "good").drop_columns(["prediction"]), "g.csv")
    code, told = doctor("g.csv")
    assert (code, "'good', which is no number" in by_level(told, "problem")["label"]["says"]) == (2, True)


def test_a_missing_prediction_is_a_problem_with_its_rows(doctor):
    for name, gap in (("empty.csv", ""), ("word.csv", "n/a")):
        table = a_table(lambda i: i % 2)
        pacsv.write_csv(table.set_column(3, "prediction", pa.array(
            [gap if i == 9 else str(i % 2) for i in range(300)])), name)
        code, told = doctor(name)
        assert code == 2
        assert "no prediction in 1 row" in by_level(told, "problem")["prediction"]["says"]


def test_another_label_is_another_try_beside_the_first(folder, capsys):
    table = a_table(lambda i: i % 2).append_column("other", pa.array([int(i % 3 == 0) for i in range(300)]))
    pq.write_table(table, "mails.parquet")
    assert run_command_line(["run", "mails.parquet", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert run_command_line(["run", "mails.parquet", "--label", "other", "--json"]) == 0
    captured = capsys.readouterr()
    second = json.loads(captured.out)
    assert "wrote mails-trial-2.yaml" in captured.err
    assert (first["evaluation"], second["evaluation"]) == ("mails-trial", "mails-trial-2")
    assert yaml.safe_load(Path("mails-trial-2.yaml").read_text())["desk"]["label"] == "other"
    for more, name, estimates in ([], "mails-trial", first), (["--label", "other"], "mails-trial-2", second):
        assert run_command_line(["run", "mails.parquet", "--json", *more]) == 0
        captured = capsys.readouterr()
        assert f"goes on with {name}.yaml" in captured.err
        assert json.loads(captured.out)["estimates"] == estimates["estimates"]


def test_columns_in_question_are_refused_and_nothing_is_computed_or_written(doctor, capsys):
    table = a_table(lambda i: i % 2).append_column("truth", pa.array([int(i % 3 == 0) for i in range(300)]))
    pq.write_table(table, "two.parquet")
    code, told = doctor("two.parquet")
    assert (code, told["spec"], "measures" in told) == (2, None, False)
    problem = by_level(told, "problem")["--label"]
    assert problem["says"] == "which column holds the true labels? It could be 'label', 'truth'"
    assert problem["remedy"] == "say it: --label label or --label truth"
    before = sorted(Path(".").iterdir())
    assert run_command_line(["run", "two.parquet"]) == 2
    assert "which column holds the true labels? It could be 'label', 'truth'" in capsys.readouterr().err
    assert sorted(Path(".").iterdir()) == before
    assert run_command_line(["run", "two.parquet", "--label", "truth", "--json"]) == 0


def test_semicolons_latin_1_and_no_ids_run_and_are_said(doctor, capsys, monkeypatch):
    table = a_table(lambda i: i % 2).drop_columns(["id"])
    rows = ["größe;score;prediction;label"]
    rows += [f"Müller;{row['score']};{row['prediction']};{row['label']}" for row in table.to_pylist()]
    Path("excel.csv").write_bytes("\r\n".join(rows).encode("latin-1"))
    code, told = doctor("excel.csv")
    assert (code, told["columns"]["id"], told["columns"]["probability"]) == (0, "row number", "score")
    said = by_level(told, "ok")
    assert "values separated by semicolons, text taken for Windows-1252 (Latin-1)" in said["source"]["says"]
    assert "the number of its row does, from 1" in said["id"]["says"]
    assert run_command_line(["run", "excel.csv", "--json"]) == 0
    captured = capsys.readouterr()
    assert "excel.csv: read with values separated by semicolons, text taken for" in captured.err
    assert "the number of its row does, from 1" in captured.err
    plain = json.loads(captured.out)["estimates"][0]["value"]
    Path("again").mkdir()
    monkeypatch.chdir("again")          # the same evaluation, so the same draws
    pq.write_table(table.append_column("id", pa.array([str(i + 1) for i in range(300)])), "excel.parquet")
    assert run_command_line(["run", "excel.parquet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimates"][0]["value"] == plain


def test_rows_of_several_files_need_ids(doctor):
    Path("parts").mkdir()
    for i in range(2):
        pacsv.write_csv(a_table(lambda i: i % 2).drop_columns(["id"]), f"parts/{i}.csv")
    code, told = doctor("parts")
    assert (code, told["columns"]["id"]) == (2, None)
    assert "in a single file only" in by_level(told, "problem")["id"]["says"]


@pytest.mark.parametrize(("name", "remedy"), [
    ("p.xlsx", "save it as CSV"), ("p.pkl", "write it with to_parquet")])
def test_what_is_not_read_says_what_to_do(doctor, capsys, name, remedy):
    Path(name).write_text('[{"id": 1}]')
    code, told = doctor(name)
    found = by_level(told, "problem")["source"]
    assert (code, remedy in f"{found['says']}; {found['remedy']}") == (2, True)
    assert run_command_line(["run", name]) == 2
    assert remedy in capsys.readouterr().err


def test_a_file_as_people_have_it_is_read_and_what_is_odd_is_told(doctor):
    kinds = (("0.2", "ham", "ham"), ("0.9", "spam", "Spam"), ("0.8", "spam", "SPAM "))
    lines = [f"M{n};{s}{n:02};{said};{is_so}" for n in range(90) for s, said, is_so in [kinds[n % 3]]]
    lines[11] = lines[11].replace("M11", "M10")
    Path("odd.csv").write_text("\ufeff" + "\n".join(["Message ID;Score;Prediction;Is Spam?", *lines]))
    code, told = doctor("odd.csv")
    assert (code, told["columns"]["id"], told["columns"]["probability"]) == (2, "Message ID", "Score")
    assert "'M10' (rows 11, 12)" in by_level(told, "problem")["Message ID"]["says"]
    assert by_level(told, "warning")["Is Spam?"]["remedy"] == "if it is: --label 'Is Spam?'"
    code, labelled = doctor("odd.csv", "--label", "Is Spam?")
    said = [one["says"] for one in labelled["findings"] if one["about"] == "Is Spam?"]
    assert (code, "'SPAM' and 'Spam' differ only by capitals" in said) == (2, True)
    code, told = doctor("odd.csv", "--label", "Is Spam?", "--positive", "spam")
    assert code == 2
    assert "'SPAM' and 'Spam' differ only by capitals; write them in one way" in told["error"]["message"]


def test_a_file_and_the_spec_suggested_for_it_cost_the_same(doctor):
    of_file = doctor("predictions.csv", "--write", "trial.yaml")[1]
    of_spec = doctor("trial.yaml")[1]
    assert of_spec["forecast"] == of_file["forecast"][1:2]
    assert of_spec["hidden_positives"] == of_file["hidden_positives"]
    rows = pacsv.read_csv("predictions.csv").append_column("label", [["match", "other"] * 200])
    pacsv.write_csv(rows, "labelled.csv")
    told = doctor("labelled.csv", "--label", "label")[1]
    assert "by the labels in the file" in by_level(told, "ok")["forecast"]["says"]
