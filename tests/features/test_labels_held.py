"""Labels that are there already: `assay.estimate` and `assay estimate POOL` with a judge of every row."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import assay
from assay.errors import BadInput
from assay.flows.cli.main import run_command_line

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "labels-you-have.md"
ROWS, LABELLED = 800, 100
TWO = {"outcome": ["spam", "ham"], "prediction": "call", "probability": "chance"}


@pytest.fixture(scope="module")
def pool():
    """Classes, a number and grades with what guesses them; a random sample of the rows has labels."""
    rng = np.random.default_rng(3)
    spam = rng.random(ROWS) < 0.3
    chance = np.clip(np.where(spam, 0.7, 0.2) + rng.normal(0, 0.15, ROWS), 0.01, 0.99)
    number = rng.normal(3, 1, ROWS)
    grade = np.clip(np.round(number), 1, 5).astype(int)
    labelled = np.isin(np.arange(ROWS), rng.permutation(ROWS)[:LABELLED])
    names = np.array(["ham", "spam"])
    return pd.DataFrame({
        "item_id": [f"i{row}" for row in range(ROWS)], "truth": names[spam.astype(int)],
        "label": pd.Series(names[spam.astype(int)]).where(labelled),
        "call": names[(chance > 0.5).astype(int)], "looser": names[(chance > 0.3).astype(int)],
        "chance": chance, "number": pd.Series(number).where(labelled), "true_number": number,
        "gpt": number + rng.normal(0, 0.6, ROWS), "llama": number + rng.normal(0, 1.0, ROWS),
        "grade": pd.Series(grade).where(labelled),
        "guessed_grade": np.clip(grade + rng.integers(-1, 2, ROWS), 1, 5),
        "thread": np.arange(ROWS) // 8, "traffic": rng.integers(1, 4, ROWS),
    })


def width(row):
    return row.upper - row.lower


def test_judges_of_every_row_narrow_the_interval_of_a_mean(pool):
    asked = {"label": "number", "outcome": "number", "measures": "mean"}
    judged = assay.estimate(pool, **asked, judge=["gpt", "llama"])
    assert judged.lower < pool["true_number"].mean() < judged.upper
    assert width(judged) < 0.7 * width(assay.estimate(pool, **asked))
    assert judged.notes == ("100 of 800 rows have a label; they are taken for a simple random sample of all",)
    assert judged.estimates[0].labels == LABELLED


def test_measures_of_two_classes_and_weights(pool):
    found = assay.estimate(pool, **TWO, measures=["accuracy", "f1", "recall", "rate"])
    assert all(row.lower < row.value <= row.upper for row in found)
    truth = (pool["truth"] == pool["call"]).mean()
    assert found["accuracy"].lower < truth < found["accuracy"].upper
    weighted = assay.estimate(pool, **TWO, measures="accuracy", item_weight="traffic")
    assert weighted.value != found["accuracy"].value


def test_systems_are_compared(pool):
    systems = {"tight": "call", "loose": "looser"}
    found = assay.estimate(pool, outcome=["spam", "ham"], systems=systems, measures="accuracy")
    apart = found["accuracy", "loose", "tight"]
    assert apart.comparison is not None
    truth = (pool["truth"] == pool["looser"]).mean() - (pool["truth"] == pool["call"]).mean()
    assert apart.lower < truth < apart.upper


def test_a_measure_has_its_own_interval_whatever_is_asked_before_it(pool):
    systems = {"tight": "call", "loose": "looser"}
    alone = assay.estimate(pool, outcome=["spam", "ham"], systems=systems, measures="f1")
    after = assay.estimate(pool, outcome=["spam", "ham"], systems=systems, measures=["accuracy", "f1"])
    for system in systems:
        one, two = alone["f1", system], after["f1", system]
        assert two.value == pytest.approx(one.value, abs=0.05)
        assert width(two) == pytest.approx(width(one), rel=0.2)


def test_grades_classes_clusters_and_the_population(pool):
    grades = assay.estimate(
        pool, label="grade", judge="guessed_grade", outcome=[1, 2, 3, 4, 5], measures="mean"
    )
    assert 2.5 < grades.lower < grades.upper < 3.5
    assert len(assay.estimate(pool, prediction="call", measures=["accuracy", "macro_f1"]).estimates) == 2
    mean = {"label": "number", "judge": "gpt", "outcome": "number", "measures": "mean"}
    clustered = assay.estimate(pool, **mean, cluster="thread").estimates[0]
    assert clustered.about == "population"
    people = assay.estimate(pool, **mean, about="population")
    assert width(people) > width(assay.estimate(pool, **mean))


def test_chances_of_their_own(pool):
    rng = np.random.default_rng(8)
    chance = np.where(np.abs(pool["chance"] - 0.5) < 0.2, 0.4, 0.1)
    drawn = pool.assign(
        inclusion_probability=chance, label=pool["truth"].where(rng.random(ROWS) < chance)
    )
    found = assay.estimate(drawn, **TWO, measures=["accuracy", "f1"])
    assert "drawn with the chances in 'inclusion_probability'" in found.notes[0]
    truth = (pool["truth"] == pool["call"]).mean()
    assert found["accuracy"].lower < truth < found["accuracy"].upper
    stands_for = assay.estimate(
        drawn.assign(stands=1 / chance).drop(columns="inclusion_probability"), **TWO, measures="accuracy",
        weight="stands",
    )
    assert stands_for.value == pytest.approx(found["accuracy"].value)


@pytest.mark.parametrize(("change", "message"), [
    ({"drawn": "unknown"}, "no interval holds for labels that nobody knows how they were chosen"),
    ({"drawn": "guessed"}, "drawn: 'guessed' is none of random, unknown"),
    ({"label": "truth"}, "column 'truth': every row has a label"),
    ({"label": "nothing"}, "no column 'nothing'"),
    ({"judge": "gpt5"}, "judge: the frame has no column 'gpt5'"),
    ({"pool_size": 800}, "probability: is of all rows of a pool"),
    ({"about": "people"}, "about: is 'people'"),
    ({"weight": "traffic", "drawn": "random"}, "drawn: is 'random', and column 'traffic' has chances"),
    ({"measures": "f9"}, "f9"),
])
def test_what_is_wrong_is_named(pool, change, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        assay.estimate(pool, **{**TWO, "measures": "accuracy", **change})


@pytest.mark.parametrize(("column", "message"), [
    (lambda pool: pool["number"], "judge: column 'copy' guesses 100 rows with a label, and none without"),
    (lambda pool: pool["gpt"].where(pool["number"].notna()), "guesses 100 rows with a label"),
    (lambda pool: pool["number"].fillna(0), "says the same of 700 of 700 rows without a label"),
    (lambda pool: pool["gpt"].where(pool["number"].notna() | (pool["thread"] % 2 == 0)), "says nothing of 3"),
])
def test_a_judge_that_knows_who_is_labelled_is_refused(pool, tmp_path, capsys, column, message):
    some = pool.assign(copy=column(pool))
    asked = {"label": "number", "outcome": "number", "measures": "mean", "judge": ["gpt", "copy"]}
    with pytest.raises(BadInput, match=re.escape(message)):
        assay.estimate(some, **asked)
    some[["number", "gpt", "copy"]].to_csv(tmp_path / "pool.csv", index=False)
    code, told = printed_by(
        capsys, str(tmp_path / "pool.csv"), "--label", "number", "--outcome", "number", "--judge", "gpt,copy",
        "--measure", "mean",
    )
    assert (code, message in " ".join(told.err.split())) == (2, True)


@pytest.mark.parametrize(("role", "option"), [
    ({"judge": "number"}, ["--judge", "gpt,number"]), ({"judge": ["gpt", "number"]}, ["--judge", "number"]),
    ({"prediction": "number"}, ["--prediction", "number"]),
    ({"systems": {"one": "gpt", "two": "number"}}, ["--system", "one=gpt", "--system", "two=number"]),
])
def test_the_column_of_labels_is_no_guess_of_them(pool, tmp_path, capsys, role, option):
    message = "column 'number' is that of the labels, and guesses nothing of the rows without one"
    with pytest.raises(BadInput, match=f"{next(iter(role))}: {message}"):
        assay.estimate(pool, label="number", outcome="number", measures="mae", **role)
    pool[["number", "gpt"]].to_csv(tmp_path / "pool.csv", index=False)
    code, told = printed_by(
        capsys, str(tmp_path / "pool.csv"), "--label", "number", "--outcome", "number", "--measure", "mae",
        *option,
    )
    assert (code, f"{option[0]}: {message}" in " ".join(told.err.split())) == (2, True)


@pytest.mark.parametrize("judge", [lambda row: 1.0, ["gpt", print]])
def test_a_function_is_no_column(pool, judge):
    with pytest.raises(BadInput, match=r"judge: is a function, and a column is taken here; .* by evaluate"):
        assay.estimate(pool, label="number", outcome="number", measures="mean", judge=judge)


@pytest.mark.parametrize("predicted", [False, True])
def test_a_few_gaps_of_a_judge_on_a_scale_of_its_own_do_not_move_the_mean(predicted):
    """A gap that no label meets is filled on the scale of the judge: 0, or a prediction on another scale, in
    its place moved a mean by many times its interval."""
    covered, rng = 0, np.random.default_rng(2)
    for _ in range(20):
        truth = rng.normal(100, 1, 1_000)
        judge = np.where(rng.random(1_000) < 0.01, np.nan, 1_000 + truth + rng.normal(0, 0.5, 1_000))
        labelled = np.isin(np.arange(1_000), rng.permutation(1_000)[:40])
        rows = pd.DataFrame({"label": np.where(labelled, truth, np.nan), "judge": judge})
        if predicted:
            rows["prediction"] = truth + rng.normal(0, 1, 1_000)
        found = assay.estimate(rows, outcome="number", measures="mean", judge="judge")
        assert width(found) < 0.6
        covered += found.lower <= truth.mean() <= found.upper
    # of 20 intervals that cover 95% fewer than 15 would cover once in 3,000
    assert covered >= 15


def _numbers(n_labels, seed=4, rows=400):
    """Numbers without bounds of which so many have a label, a judge, and two systems."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1, rows)
    labelled = np.isin(np.arange(rows), rng.permutation(rows)[:n_labels])
    judge = truth + rng.normal(0, 0.6, rows)
    return pd.DataFrame({
        "label": np.where(labelled, truth, np.nan), "truth": truth, "judge": judge, "same": judge,
        "shifted": judge + 0.1,
        "otherwise": np.where(labelled | (rng.random(rows) < 0.9), judge, judge + 5),
        "side": np.where(np.arange(rows) % 2, "left", "right"),
    })


@pytest.mark.parametrize("guess", [
    {"judge": "judge"}, {"judge": ["judge", "shifted"]}, {"prediction": "judge"},
])
def test_two_labels_fit_no_line(guess):
    rows = _numbers(2)
    found = assay.estimate(rows, outcome="number", measures="mean", **guess)
    alone = assay.estimate(rows, outcome="number", measures="mean")
    assert (found.value, found.lower, found.upper) == pytest.approx((alone.value, alone.lower, alone.upper))
    for n_labels in (3, 4, 6):
        some = assay.estimate(_numbers(n_labels), outcome="number", measures="mean", **guess)
        assert width(some) > 0.1


def test_intervals_of_few_labels_with_a_judge_cover():
    """Three labels leave one degree of freedom beside a mean and a slope, two labels one beside a mean."""
    for n_labels, strata in ((2, None), (3, None), (4, None), (4, {"strata": "side"})):
        covered = 0
        for seed in range(60):
            rows = _numbers(n_labels, seed=seed)
            if strata is not None and rows.groupby("side")["label"].count().min() < 2:
                covered += 1
                continue
            found = assay.estimate(rows, outcome="number", measures="mean", judge="judge", drawn=strata)
            covered += found.lower <= rows["truth"].mean() <= found.upper
        # of 60 intervals that cover 95% fewer than 49 would cover once in 2,000
        assert covered >= 49, (n_labels, strata, covered)


NO_SPREAD = "no whole interval, as the labels show no spread beside what is guessed of them"


@pytest.mark.parametrize("guess", ["truth", "twice"])
@pytest.mark.parametrize("drawn", [None, {"strata": "side"}])
def test_a_guess_that_agrees_with_every_label_leaves_the_rest_unknown(tmp_path, capsys, guess, drawn):
    rows = _numbers(40).assign(twice=lambda frame: 2 * frame["truth"] + 7)
    found = assay.estimate(rows, outcome="number", measures="mean", judge=guess, drawn=drawn)
    assert (found.lower, found.upper) == (None, None)
    assert found.notes[1].startswith(f"mean: {NO_SPREAD}")
    bounded = {"number": {"min": -5, "max": 11}}
    within = assay.estimate(rows, outcome=bounded, measures="mean", judge=guess, drawn=drawn)
    assert within.lower < rows["truth"].mean() < within.upper
    assert width(within) > 0.1
    rows.to_csv(tmp_path / "pool.csv", index=False)
    code, told = printed_by(
        capsys, str(tmp_path / "pool.csv"), "--outcome", "number", "--judge", guess, "--measure", "mean",
        *([] if drawn is None else ["--drawn", "strata:side"]),
    )
    assert (code, f"mean: {NO_SPREAD}" in " ".join(told.out.split())) == (0, True)


def test_errors_of_a_prediction_that_agrees_with_every_label_have_no_upper_end():
    asked = ["mae", "rmse", "bias"]
    found = assay.estimate(_numbers(40), outcome="number", measures=asked, prediction="truth")
    ends = [(row.value, row.lower, row.upper) for row in found]
    assert ends == [(0, 0, None), (0, 0, None), (0, None, None)]
    assert found.notes[1].startswith(f"mae, rmse, bias: {NO_SPREAD}")


def test_a_stratum_whose_labels_are_alike_has_the_spread_of_the_others():
    rng = np.random.default_rng(3)
    rows = _numbers(400)
    covered, widths = 0, []
    for _ in range(40):
        # in one stratum 1 of 8 values is another one, and 4 labels mostly miss it
        truth = np.where(rows["side"] == "left", rows["truth"], np.where(rng.random(400) < 1 / 8, 6.0, 3.0))
        drawn = [rng.permutation(np.flatnonzero(rows["side"] == side))[:4] for side in ("left", "right")]
        label = np.where(np.isin(np.arange(400), np.concatenate(drawn)), truth, np.nan)
        found = assay.estimate(rows.assign(label=label), outcome="number", measures="mean",
                               drawn={"strata": "side"})
        covered += found.lower <= truth.mean() <= found.upper
        widths.append(width(found))
    # of 40 intervals that cover 90% fewer than 29 would cover once in 1,000
    assert covered >= 29


@pytest.mark.parametrize("measure", ["mae", "rmse", "bias", "r2"])
def test_systems_of_the_same_numbers_differ_by_nothing(measure):
    found = assay.estimate(
        _numbers(40), outcome="number", measures=measure,
        systems={"one": "judge", "same": "same", "shifted": "shifted", "otherwise": "otherwise"},
    )
    same, shifted = found[measure, "same", "one"], found[measure, "shifted", "one"]
    assert (same.value, same.lower, same.upper, same.interval) == (0, 0, 0, "exact")
    assert (same.comparison.verdict, same.comparison.lower, same.comparison.upper) == ("tie", 0, 0)
    assert same.also.lower < 0 < same.also.upper or measure == "bias"
    assert shifted.value != 0
    assert (width(shifted) > 0) == (measure != "bias")     # which the predictions alone tell
    otherwise = found[measure, "otherwise", "one"]
    if measure != "bias":      # of the labelled rows both are the same, and of others not
        assert otherwise.lower is None or width(otherwise) > 0.1


@pytest.mark.parametrize("changes", [{}, {"item_weight": "traffic"}, {"weight": "a_probability"}])
def test_systems_of_the_same_classes_differ_by_nothing(pool, changes):
    rows = pool.assign(same=pool["call"], a_probability=0.125)
    found = assay.estimate(
        rows, outcome=["spam", "ham"], measures=["f1", "accuracy", "precision", "recall", "macro_f1"],
        systems={"one": "call", "same": "same", "looser": "looser"}, **changes,
    )
    for row in found:
        if row.versus is not None:
            assert ((row.value, row.lower, row.upper) == (0, 0, 0)) == (row.system == "same")
        else:
            assert width(row) > 0.05
    people = assay.estimate(
        rows, outcome=["spam", "ham"], measures="accuracy", systems={"one": "call", "same": "same"},
        about="population",
    )
    assert people["accuracy", "same", "one"].lower < 0 < people["accuracy", "same", "one"].upper


@pytest.mark.parametrize("method", ["auto", "passive", "model-assisted"])
def test_an_evaluation_of_the_same_systems_says_that_they_tie(pool, tmp_path, method):
    rows = pool[["call", "truth"]].assign(same=pool["call"])
    found = assay.evaluate(
        rows, oracle="truth", outcome=["spam", "ham"], measures=["f1"], budget=60, method=method,
        systems={"one": "call", "same": "same"}, store=str(tmp_path / "ledger"),
    )
    same = found["f1", "same", "one"]
    assert (same.value, same.lower, same.upper, same.comparison.verdict) == (0, 0, 0, "tie")


def test_a_pool_without_a_label_is_refused(pool):
    with pytest.raises(BadInput, match="no row has a label"):
        assay.estimate(pool.assign(label=None), **TWO, measures="accuracy")


def printed_by(capsys, *arguments):
    code = run_command_line(["estimate", *arguments])
    return code, capsys.readouterr()


def test_the_command_says_what_python_says(pool, tmp_path, capsys):
    path = str(tmp_path / "pool.csv")
    pool.drop(columns=["truth", "true_number"]).to_csv(path, index=False)
    code, told = printed_by(
        capsys, path, "--label", "number", "--outcome", "number", "--judge", "gpt,llama", "--measure", "mean",
        "--json",
    )
    answer = json.loads(told.out)
    same = assay.estimate(pool, label="number", judge=["gpt", "llama"], outcome="number", measures="mean")
    assert code == 0
    assert answer["labels"] == LABELLED
    assert answer["estimates"][0]["lower"] == pytest.approx(same.lower, abs=1e-6)
    code, told = printed_by(
        capsys, path, "--positive", "spam", "--prediction", "call", "--probability", "chance",
        "--measure", "f1,accuracy",
    )
    assert code == 0
    assert "100 of 800 rows have a label" in told.out
    assert "f1 " in told.out
    code, told = printed_by(
        capsys, path, "--system", "tight=call", "--system", "loose=looser", "--measure", "accuracy"
    )
    assert "accuracy of loose minus tight" in told.out


@pytest.mark.parametrize(("options", "message"), [
    (["--drawn", "unknown"], "no interval holds"),
    (["--segment", "a=b"], "--segment: is for labels of an evaluation"),
    (["--positive", "eggs"], "--positive: 'eggs' is not one of two classes"),
    (["--weight", "w"], "no column 'w'"),
    (["--system", "call"], "--system: 'call' is not a name and a column"),
])
def test_the_command_names_the_option_that_is_wrong(pool, tmp_path, capsys, options, message):
    path = str(tmp_path / "pool.csv")
    pool[["label", "call"]].to_csv(path, index=False)
    code, told = printed_by(capsys, path, "--measure", "accuracy", "--prediction", "call", *options) \
        if "--system" not in options else printed_by(capsys, path, "--measure", "accuracy", *options)
    assert code == 2
    assert message in " ".join(told.err.split())


def test_the_four_lines_of_the_how_to_run(pool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pool.rename(columns={"number": "human"}).drop(columns=["label", "true_number"]).to_csv(
        "answers.csv", index=False
    )
    (example,) = re.findall(r"```python\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    assert len(example.strip().splitlines()) == 4
    names = {}
    exec(example, names)
    assert names["found"].lower < pool["true_number"].mean() < names["found"].upper


def _with_labels(pool, changes):
    """The pool with some labels replaced, by the number of the labelled row."""
    at = pool.index[pool["label"].notna()]
    return pool.assign(label=pool["label"].mask(
        pool.index.isin(at[: len(changes)]), pd.Series(changes, index=at[: len(changes)]).reindex(pool.index)
    ))


@pytest.mark.parametrize("outcome", [["spam", "ham"], None])
def test_words_that_are_taken_for_no_label_are_counted_and_named(pool, tmp_path, capsys, outcome):
    some = _with_labels(pool, ["n/a", " - ", "n/a", " ", ""])
    (note,) = assay.estimate(some, outcome=outcome, prediction="call", measures="accuracy").notes
    says = "95 of 800 rows have a label ('-' in 1 row and 'n/a' in 2 rows is taken for none); they are taken"
    assert note.startswith(says)
    some.to_csv(tmp_path / "pool.csv", index=False)
    positive = [] if outcome is None else ["--positive", "spam"]
    code, told = printed_by(
        capsys, str(tmp_path / "pool.csv"), "--prediction", "call", "--measure", "accuracy", *positive
    )
    assert code == 0
    assert says in told.out


def test_labels_that_no_measure_looks_at_are_counted(pool):
    found = assay.estimate(pool, outcome=["spam", "ham"], prediction="call", measures="precision")
    idle = int((pool["label"].notna() & (pool["call"] == "ham")).sum())
    assert f"100 of 800 rows have a label, {idle} of them of rows that no measure looks at;" in found.notes[0]


@pytest.mark.parametrize("outcome", ["number", "grades"])
def test_a_label_that_is_no_number_is_named_with_its_own_row(pool, outcome):
    numbers = pool["grade"].map(lambda value: None if pd.isna(value) else f"{value:g}")
    first = int(numbers.first_valid_index())
    numbers[first] = "1,5"
    with pytest.raises(BadInput, match=rf"column 'human': row {first + 1} holds '1,5', which is not a fin"):
        assay.estimate(pool.assign(human=numbers), label="human", judge="gpt" if outcome == "number" else
                       "guessed_grade", outcome=outcome, measures="mean")


def test_why_random_labels_are_not_counted_is_the_true_reason(pool):
    asked = {"prediction": "call", "measures": "accuracy", "outcome": ["spam", "ham"]}

    def reason(**changes):
        rows = assay.estimate(pool, **{**asked, **changes}).estimates
        return {row.price.random_labels_reason for row in rows}

    assert reason(cluster="thread") == {"not computed for an interval over clusters"}
    systems = {"prediction": None, "systems": {"tight": "call", "loose": "looser"}}
    assert reason(**systems) == {"not computed where systems are compared"}
    assert reason() == {None}


@pytest.mark.parametrize("ending", [
    "csv", "tsv", "csv.gz", "jsonl", "jsonl.gz", "arrow", "feather", "parquet",
])
def test_a_pool_is_any_file_that_is_there(pool, tmp_path, monkeypatch, capsys, ending):
    monkeypatch.chdir(tmp_path)
    name, rows = f"pool.{ending}", pool[["label", "call"]]
    if ending in ("arrow", "feather"):
        rows.to_feather(name)
    elif ending == "parquet":
        rows.to_parquet(name)
    elif ending.startswith("jsonl"):
        rows.to_json(name, orient="records", lines=True)
    else:
        rows.to_csv(name, index=False, sep="\t" if ending == "tsv" else ",")
    code, told = printed_by(capsys, name, "--measure", "accuracy", "--prediction", "call")
    assert (code, "100 of 800 rows have a label" in told.out) == (0, True)
    code, told = printed_by(capsys, name, "--measure", "rate(spam)")
    assert (code, "100 of 800 rows have a label" in told.out) == (0, True)


def test_a_name_that_is_no_file_is_an_evaluation(pool, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    store = str(tmp_path / "ledger")
    rows = pool[["item_id", "call", "chance", "truth"]].rename(columns={"item_id": "id"})
    for name in ("mails.tsv", "mails"):
        assay.evaluate(rows, oracle="truth", outcome=["spam", "ham"], prediction="call", probability="chance",
                       measures="accuracy", budget=30, store=store, name=name)
        (tmp_path / "mails").mkdir(exist_ok=True)
        code, told = printed_by(capsys, name, "--measure", "recall", "--store", store)
        assert (code, f"{name}: from 30 labels" in told.out) == (0, True)
    for missing in ("gone.csv", "gone.xlsx"):
        code, told = printed_by(capsys, missing, "--measure", "recall", "--store", store)
        assert code == 2
        assert f"no file '{missing}' is here, and" in " ".join(told.err.split())
    code, told = printed_by(capsys, "here/gone.csv", "--measure", "recall")
    assert code == 2
    assert "here/gone.csv" in told.err
