"""What a first evaluation says of itself is true; and it needs no score."""

import csv
import json
from dataclasses import replace

import pytest
from doubles.world import World

from assay.flows.cli.main import run_command_line
from assay.flows.judges import read_judges
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.flows.weighted import read_sample
from assay.tasks.ledger import open_store
from assay.tasks.report.page import report_html
from assay.tasks.report.price import price_lines
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.template import spec_template

FEW = {"n": 183, "budget": {"labels": 28}, "batch_size": 14, "method": "passive"}


@pytest.fixture(scope="module")
def few_labelled(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("few"), **FEW, measure="precision")
    world.run()
    return world


def test_with_few_labels_nothing_is_said_to_be_labelled_out(few_labelled):
    (line,) = [one for one in price_lines(current_standing(
        open_evaluation(few_labelled.store, "small")
    ).estimates, "match", "nothing") if "items not found yet" in one]
    assert line.endswith(
        "items not found yet: none: no unlabelled item predicted negative can change Precision"
    )


def test_the_name_counts_among_what_draws_follow_from(few_labelled):
    opened = open_evaluation(few_labelled.store, "small")
    page = report_html(report_data(opened, current_standing(opened))).decode()
    assert "The same name, pool, seed and labels give the same draws" in page


def test_what_random_sampling_needs_is_said_once(few_labelled):
    opened = open_evaluation(few_labelled.store, "small")
    standing = current_standing(opened)

    def told(**price):
        first, *rest = standing.known.estimates
        other = replace(first, price_tag=replace(first.price_tag, **price))
        known = replace(standing.known, estimates=(other, *rest))
        return read_judges(opened, replace(standing, known=known), read_sample(opened))

    assert told(random_labels=123, random_labels_reason=None).random_labels == 123
    unknown = told(random_labels=None, random_labels_reason="no error seen yet")
    assert (unknown.random_labels, unknown.saved, unknown.reason) == (None, None, "no error seen yet")


def test_a_prediction_without_a_score_is_enough(tmp_path, capsys):
    truth = [i % 3 == 0 for i in range(120)]
    with (tmp_path / "mails.csv").open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(["message_id", "predicted", "truth"])
        for i, yes in enumerate(truth):
            rows.writerow([f"m{i}", "spam" if yes != (i % 7 == 0) else "ham", "spam" if yes else "ham"])
    source, where = str(tmp_path / "mails.csv"), str(tmp_path / "ledger")
    spec = Spec.from_json({
        "name": "mails", "pool": {"source": source, "id": "message_id", "prediction": "predicted"},
        "labels": {"positive": "spam", "negative": "ham"}, "measure": ["f1", "recall"],
        "budget": {"labels": 40},
        "desk": {"kind": "simulated", "labels": source, "label": "truth"},
    }, origin="test")
    assert Spec.from_json(spec.to_json(), origin="recorded").to_json() == spec.to_json()
    path = tmp_path / "mails.yaml"
    path.write_text(json.dumps(spec.to_json()))
    assert run_command_line(["doctor", str(path), "--store", where]) == 0
    assert run_command_line(["run", str(path), "--store", where]) == 0
    assert "f1 " in capsys.readouterr().out
    opened = open_evaluation(open_store(where), "mails")
    assert opened.cut.cells.n_cells == 2, "one cell a class"
    assert [e.measure for e in current_standing(opened).known.estimates] == ["f1", "recall"]
    assert verify(open_store(where), "mails").differences == ()


def test_doctor_offers_a_prediction_alone_and_names_no_scores_that_are_not_there(tmp_path, capsys):
    path = tmp_path / "mails.csv"
    rows = "".join(f"m{i},{'ab'[i % 2]},what mail {i} says to whoever reads it\n" for i in range(40))
    path.write_text("message_id,predicted,text\n" + rows)
    out = tmp_path / "draft.yaml"
    assert run_command_line(["doctor", str(path), "--write", str(out)]) == 0
    said = capsys.readouterr().out
    assert "which class is the positive one?" in said
    assert "higher scores" not in said
    draft = out.read_text()
    assert "prediction: predicted" in draft
    assert "score:" not in draft


def test_the_seed_fixes_the_draws_of_a_name():
    assert "with the name, fixes every random choice" in spec_template()


def test_a_first_try_says_how_the_file_was_read_and_forecasts_nothing_before_it_is_known_who_answers(
    tmp_path, monkeypatch, capsys
):
    def asked(*_given, **_more):
        raise AssertionError("a forecast was made for nobody")

    monkeypatch.setattr("assay.flows.doctor.prognosis", asked)
    monkeypatch.chdir(tmp_path)
    rows = [
        f"Grüße {n};{n / 200};{'spam' if n > 120 else 'ham'};{'ham' if n % 3 else 'n/a'}" for n in range(200)
    ]
    (tmp_path / "post.csv").write_text("\n".join(["text;score;decision;label", *rows]), encoding="latin-1")

    assert run_command_line(["run", "post.csv"]) == 2
    told = capsys.readouterr().err
    assert "values separated by semicolons, text taken for Windows-1252 (Latin-1)" in told
    assert "67 have no label: 67 hold 'n/a'" in told


def _mails(tmp_path):
    path = tmp_path / "mails.csv"
    path.write_text("message_id,decision,truth,text\n" + "".join(
        f"m{i},{'spam' if i % 3 else 'ham'},{'spam' if i % 4 else 'ham'},what mail {i} says to all\n"
        for i in range(40)
    ))
    return path


@pytest.mark.parametrize("command", ["doctor", "run"])
def test_a_misspelt_positive_class_is_refused(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = _mails(tmp_path)
    assert run_command_line([command, str(path), "--label", "truth", "--positive", "spm"]) == 2
    said = "no row has the class 'spm'; did you mean 'spam'? the classes are 'ham', 'spam'"
    assert said in capsys.readouterr().err


def test_a_positive_class_that_is_never_predicted_may_be_named(tmp_path, capsys):
    path = tmp_path / "mails.csv"
    path.write_text("message_id,p_spam,decision\n" + "".join(f"m{i},0.{i},ham\n" for i in range(10, 40)))
    assert run_command_line(["doctor", str(path), "--positive", "spam"]) == 0
    assert "positive: spam" in capsys.readouterr().out


def test_a_run_that_buys_nothing_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = _mails(tmp_path)
    for says in (False, True):
        assert run_command_line(["run", str(path), "--label", "truth", "--positive", "spam"]) == 0
        assert ("has finished before: nothing was asked" in capsys.readouterr().err) is says
    assert run_command_line(["export", "mails-trial", "--scores", "langfuse"]) == 2
    assert "stands in column 'trace_id', unless --target names another" in capsys.readouterr().err


def test_a_problem_of_several_lines_is_told_in_lines(tmp_path, capsys):
    path = tmp_path / "bare.yaml"
    path.write_text("pool: {source: x.csv, id: a}\nlabels: {classes: [x, y]}\n")
    assert run_command_line(["doctor", str(path)]) == 2
    assert "\n          $.name is missing" in capsys.readouterr().out
