"""The same table, in many ways: one number from every command and from Python, or a refusal that says why.

A table of 40 items whose F1 is known is written with each trait that ordinary files have, and with pairs of a
trait of values and one of files. Whatever reads it has to find 0.4211, or refuse it and name the trait.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from doubles.suggested import value_by_suggestion

import assay
from assay.evalcore.errors import AssayError, BadInput
from assay.tasks.doctor.roles import Told
from assay.tasks.replay.labelled_pool import read_labelled_pool

N = 40
# of 40 items 11 are spam and 8 are called so, 4 of them rightly: F1 is 2 * 4 / (11 + 8)
TRUTH = 8 / 19


def table() -> pd.DataFrame:
    rng = np.random.default_rng(49)
    score = np.round(np.linspace(0.02, 0.97, N), 4)
    label = np.array(["ham"] * N, object)
    label[[2, 7, 11, 19, 23, 28, 30, 33, 35, 37, 39]] = "spam"
    frame = pd.DataFrame({
        "id": [f"m{i}" for i in range(N)], "text": [f"mail number {i}" for i in range(N)],
        "prediction": np.where(score > score[31], "spam", "ham"), "probability": score, "label": label,
    })
    return frame.iloc[rng.permutation(N)].reset_index(drop=True)


def renamed(frame: pd.DataFrame, words: tuple[object, object], which: tuple[str, ...]) -> pd.DataFrame:
    ham, spam = words
    said = {name: [spam if one == "spam" else ham for one in frame[name]] for name in which}
    return frame.assign(**{name: pd.Series(values, dtype=object) for name, values in said.items()})


BOTH = ("prediction", "label")


def mixed(frame: pd.DataFrame, spellings: dict[str, list[object]]) -> pd.DataFrame:
    """Every class in several spellings, in turn."""
    return frame.assign(**{
        name: pd.Series(
            [spellings[one][i % len(spellings[one])] for i, one in enumerate(frame[name])], dtype=object
        )
        for name in BOTH
    })


def per_class(frame: pd.DataFrame, ham: str, spam: str, *, first: str = "ham") -> pd.DataFrame:
    both = {ham: (1 - frame.probability).round(4), spam: frame.probability}
    order = [ham, spam] if first == "ham" else [spam, ham]
    return frame.drop(columns="probability").assign(**{name: both[name] for name in order})


@dataclass(frozen=True)
class Trait:
    """What a table is made into, what has to be said of it, and what a refusal may name."""

    made: Callable[[pd.DataFrame], pd.DataFrame]
    told: Told = field(default_factory=Told)
    outcome: tuple[object, object] = ("spam", "ham")
    refusal: str | None = None        # a pattern
    names: dict[str, str] = field(default_factory=dict)     # role -> column, for Python


VALUES: dict[str, Trait] = {
    "as it is": Trait(lambda f: f),
    "1 and 0": Trait(lambda f: renamed(f, (0, 1), BOTH), outcome=(1, 0)),
    "1.0 and 0.0 in labels": Trait(
        lambda f: renamed(renamed(f, (0, 1), BOTH[:1]), (0.0, 1.0), BOTH[1:]), outcome=(1, 0)),
    "1 and 1.0 in turn": Trait(
        lambda f: mixed(f, {"ham": ["0", "0.0"], "spam": ["1", "1.0"]}), outcome=(1, 0)),
    "True and TRUE in turn": Trait(
        lambda f: mixed(f, {"ham": ["False", "FALSE"], "spam": ["True", "TRUE", "true"]}),
        outcome=("true", "false")),
    "booleans and numbers": Trait(lambda f: renamed(renamed(f, (False, True), BOTH[:1]), (0, 1), BOTH[1:]),
                                  outcome=(1, 0)),
    "words beside ones": Trait(
        lambda f: renamed(renamed(f, (0, 1), BOTH[:1]), ("nein", "ja"), BOTH[1:]), outcome=("ja", "nein")),
    "plus and minus": Trait(lambda f: renamed(f, ("-", "+"), BOTH), outcome=("+", "-")),
    "yes and no": Trait(lambda f: renamed(f, ("No", "Yes"), BOTH), outcome=("Yes", "No")),
    "spaces": Trait(lambda f: mixed(f, {"ham": ["ham", "ham ", " ham"], "spam": ["spam", "spam\xa0"]})),
    "composed and decomposed": Trait(
        lambda f: mixed(f, {"ham": ["ham"], "spam": ["K\u00f6der", "Ko\u0308der"]}),
        outcome=("K\u00f6der", "ham")),
    "capitals of labels": Trait(lambda f: renamed(f, ("Ham", "SPAM"), ("label",))),
    "capitals in one column": Trait(lambda f: mixed(f, {"ham": ["ham", "Ham"], "spam": ["spam"]}),
                                    refusal="differ only by capitals|hold 3 classes"),
    "numbered probabilities": Trait(lambda f: per_class(f, "p0", "p1"), names={"probability": "p1"}),
    "probabilities by class": Trait(lambda f: per_class(f, "prob_ham", "prob_spam"),
                                    names={"probability": "prob_spam"}),
    "the positive one first": Trait(lambda f: per_class(f, "prob_ham", "prob_spam", first="spam"),
                                    names={"probability": "prob_spam"}),
    "classes as columns": Trait(lambda f: per_class(f, "ham", "spam"), names={"probability": "spam"}),
    "float errors": Trait(lambda f: f.assign(probability=np.where(
        f.probability > 0.96, 1.0000001, np.where(f.probability < 0.03, -1e-9, f.probability)))),
    "percent signs": Trait(lambda f: f.assign(probability=[f"{100 * p:.1f}%" for p in f.probability]),
                           refusal="percentage|not a finite number|not finite numbers"),
    "decimal commas": Trait(lambda f: f.assign(probability=[str(p).replace(".", ",") for p in f.probability]),
                            refusal="decimal comma|not a finite number|not finite numbers"),
    "logits": Trait(lambda f: f.assign(probability=np.log(f.probability / (1 - f.probability)).round(4)),
                    refusal=r"not within (0 and 1|\[0, 1\])|not between 0 and 1"),
    "vectors": Trait(lambda f: f.assign(probability=[f"[{1 - p:.4f}, {p:.4f}]" for p in f.probability]),
                     refusal="but several|not a finite number|not finite numbers"),
    "the probability of the other class alone": Trait(
        lambda f: f.assign(prob_ham=1 - f.probability).drop(columns=["probability"]).pipe(
            renamed, ("No", "Yes"), BOTH).rename(columns={"prob_ham": "prob_no"}),
        outcome=("Yes", "No"), names={"probability": "prob_no"}),
    "a logit of each class": Trait(
        lambda f: f.assign(logit_ham=-np.log(f.probability / (1 - f.probability)) / 2,
                           logit_spam=np.log(f.probability / (1 - f.probability)) / 2).drop(
            columns="probability"), names={"probability": "logit_spam"},
        refusal=r"within (0 and 1|\[0, 1\])|not between 0 and 1"),
    "a percentage of each class": Trait(
        lambda f: f.assign(pct_ham=100 - 100 * f.probability, pct_spam=100 * f.probability).drop(
            columns="probability"), names={"probability": "pct_spam"},
        refusal=r"within (0 and 1|\[0, 1\])|not between 0 and 1"),
    "a log-probability of each class": Trait(
        lambda f: f.assign(logprob_ham=np.log(1 - f.probability), logprob_spam=np.log(f.probability)).drop(
            columns="probability"), names={"probability": "logprob_spam"},
        refusal=r"within (0 and 1|\[0, 1\])|not between 0 and 1"),
    "a class in capitals, called as no value in labels": Trait(
        lambda f: renamed(renamed(f, ("Nil", "spam"), BOTH[:1]), ("nil", "spam"), BOTH[1:]),
        outcome=("spam", "Nil")),
    "days, and their midnights": Trait(
        lambda f: renamed(renamed(f, ("2024-01-01", "2024-02-01"), BOTH[:1]),
                          ("2024-01-01 00:00:00", "2024-02-01T00:00:00Z"), BOTH[1:]),
        told=Told(positive="2024-02-01"), outcome=("2024-02-01", "2024-01-01")),
    **{f"a cell of {word!r}": Trait(
        lambda f, word=word: f.assign(label=[word if i == 7 else name for i, name in enumerate(f.label)]),
        refusal=f"1 have no label: 1 hold '{re.escape(word)}'|has no label|have no label|is none of")
       for word in (".", "#REF!", "(null)", "NaT", "\u2014")},
    "numbers with something around them": Trait(
        lambda f: f.assign(probability=[f"np.float64({p})" for p in f.probability]),
        refusal="with something around it|not a finite number|not finite numbers"),
    "texts that begin with a letter": Trait(
        lambda f: f.assign(probability=[f"p={p}" for p in f.probability]),
        refusal="is no number|not a finite number|not finite numbers"),
    "thousands": Trait(
        lambda f: f.assign(probability=[f"{int(9000 * p) + 1000:,}" for p in f.probability]),
        refusal="of thousands or of decimals|not a finite number|not finite numbers"),
    "one and minus one": Trait(lambda f: renamed(f, (-1, 1), BOTH), outcome=(1, -1)),
    "half the labels": Trait(
        lambda f: f.assign(label=[one if i % 2 else None for i, one in enumerate(f.label)]),
        refusal="no label|empty in row|have no value"),
    "other names": Trait(
        lambda f: f.rename(columns={"prediction": "y_pred", "label": "y_true", "probability": "y_score"}),
        names={"prediction": "y_pred", "label": "y_true", "probability": "y_score"}),
    "columns the other way round": Trait(lambda f: f[f.columns[::-1]]),
    "rows in another order": Trait(lambda f: f.sort_values("probability")),
    "a decision of ones beside it": Trait(
        lambda f: renamed(f, (0, 1), BOTH).rename(columns={"prediction": "flagged"}), outcome=(1, 0),
        refusal="which column holds the predictions.*flagged", names={"prediction": "flagged"}),
    "a decision of two other numbers": Trait(
        lambda f: renamed(f, (1, 2), BOTH).rename(columns={"prediction": "out"}), outcome=(2, 1),
        refusal="which column holds the predictions.*out", names={"prediction": "out"}),
    "a decision in other words": Trait(
        lambda f: renamed(renamed(f, (False, True), BOTH[:1]), ("N", "Y"), BOTH[1:]).rename(
            columns={"prediction": "flagged"}), outcome=("Y", "N"), told=Told(prediction="flagged"),
        refusal="which column holds the predictions.*flagged", names={"prediction": "flagged"}),
    "a decision in opposite words": Trait(
        lambda f: renamed(renamed(f, ("f", "t"), BOTH[:1]), ("non", "oui"), BOTH[1:]).rename(
            columns={"prediction": "out"}), outcome=("oui", "non"),
        refusal="which column holds the predictions.*'out' has two values|hold 4 classes|none of|neither",
        names={"prediction": "out"}),
    "a decision called so, beside classes": Trait(
        lambda f: renamed(f, (0, 1), BOTH[:1]).rename(columns={"prediction": "flagged"}),
        refusal="which column holds the predictions.*'flagged' has two values",
        names={"prediction": "flagged"}),
    "predictions of one and minus one": Trait(
        lambda f: renamed(renamed(f, (-1, 1), BOTH[:1]), (0, 1), BOTH[1:]).drop(columns="probability"),
        outcome=(1, 0), refusal="holds '0' and '1', and predictions are '-1' and '1'|no column 'prob|"
        "hold 3 classes|none of|neither"),
    "plus and minus beside ones": Trait(
        lambda f: renamed(renamed(f, (0, 1), BOTH[:1]), ("-", "+"), BOTH[1:]), outcome=("+", "-")),
    "a row for each annotation": Trait(
        lambda f: pd.concat([f, f]).rename(columns={"id": "item_id"}).assign(
            annotation_id=range(2 * N)),
        refusal="'item_id' is the same in 2 rows each.*is every row an item of its own"),
}


def csv(frame: pd.DataFrame, path: Path, **options: object) -> Path:
    frame.to_csv(path, index=False, **options)      # type: ignore[call-overload]
    return path


def parquet(frame: pd.DataFrame, path: Path, *, change: Callable[[pa.Table], pa.Table] = lambda t: t) -> Path:
    def plain(column: pd.Series) -> pa.Array:
        kinds = {type(one) for one in column if one is not None}
        return pa.array(list(column) if len(kinds) < 2 else [None if v is None else str(v) for v in column])

    pq.write_table(change(pa.table({name: plain(frame[name]) for name in frame.columns})), path)
    return path


def as_bytes(made: pa.Table) -> pa.Table:
    texts = [name for name in made.column_names if pa.types.is_string(made.schema.field(name).type)]
    for name in texts:
        place = made.column_names.index(name)
        made = made.set_column(place, name, made.column(name).cast(pa.binary()))
    return made


def in_categories(made: pa.Table) -> pa.Table:
    for name in ("prediction", "label"):
        if name in made.column_names and pa.types.is_string(made.schema.field(name).type):
            place = made.column_names.index(name)
            made = made.set_column(place, name, made.column(name).dictionary_encode())
    return made


def in_parts(frame: pd.DataFrame, folder: Path, **further: object) -> Path:
    folder.mkdir()
    csv(frame[: N // 2].assign(**further), folder / "a.csv")
    csv(frame[N // 2 :], folder / "b.csv", sep=";")
    return folder


def jsonl(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_json(path, orient="records", lines=True, force_ascii=False)
    return path


FILES: dict[str, Callable[[pd.DataFrame, Path], Path]] = {
    "CSV": lambda f, d: csv(f, d / "t.csv"),
    "semicolons": lambda f, d: csv(f, d / "t.csv", sep=";"),
    "tabs": lambda f, d: csv(f, d / "t.tsv", sep="\t"),
    "a mark of UTF-8": lambda f, d: csv(f, d / "t.csv", encoding="utf-8-sig"),
    "UTF-16": lambda f, d: csv(f, d / "t.csv", encoding="utf-16"),
    "gzip": lambda f, d: csv(f, d / "t.csv.gz"),
    "quotes": lambda f, d: csv(f, d / "t.csv", quoting=1),
    "an index": lambda f, d: (f.to_csv(d / "t.csv"), d / "t.csv")[1],
    "parts": lambda f, d: in_parts(f, d / "t"),
    "JSON Lines": lambda f, d: jsonl(f, d / "t.jsonl"),
    "columns of one part alone": lambda f, d: in_parts(f, d / "t", further=1),
    "Parquet": lambda f, d: parquet(f, d / "t.parquet"),
    "Parquet of bytes": lambda f, d: parquet(f, d / "t.parquet", change=as_bytes),
    "Parquet of categories": lambda f, d: parquet(f, d / "t.parquet", change=in_categories),
}


def f1_of_replay(path: Path, trait: Trait) -> float:
    names = {role: trait.names.get(role, role) for role in ("prediction", "label", "probability")}
    pool = read_labelled_pool(path, called=names | {"item_id": "id"})
    return float(2 * (pool.prediction & pool.label).sum() / (pool.prediction.sum() + pool.label.sum()))


def f1_of_evaluate(data: object, trait: Trait, oracle: object = None) -> float | None:
    names = {role: trait.names.get(role, role) for role in ("prediction", "label", "probability")}
    return assay.evaluate(
        data, outcome=trait.outcome, measures="f1", id="id", method="passive", target={}, budget=N,
        batch_size=N, prediction=names["prediction"], probability=names["probability"],
        oracle=names["label"] if oracle is None else oracle,
    ).value


def f1_of_estimate(frame: object, trait: Trait) -> float | None:
    names = {role: trait.names.get(role, role) for role in ("prediction", "label")}
    return assay.estimate(
        frame, measures="f1", outcome=trait.outcome, pool_size=N, weight=np.ones(N), **names,
    ).value


def is_the_truth_or_refused(found: Callable[[], float | None], trait: Trait) -> None:
    try:
        value = found()
    except AssayError as error:
        if trait.refusal is None or re.search(trait.refusal, str(error), re.DOTALL) is None:
            raise
        return
    assert value == pytest.approx(TRUTH, abs=1e-9)


def test_the_truth_of_the_table():
    frame = table()
    assert ((frame.prediction == "spam").sum(), (frame.label == "spam").sum()) == (8, 11)
    assert ((frame.prediction == "spam") & (frame.label == "spam")).sum() == 4


@pytest.mark.parametrize("values", VALUES)
def test_a_trait_of_values_through_every_command(values, tmp_path):
    trait = VALUES[values]
    frame = trait.made(table())
    path = csv(frame, tmp_path / "t.csv")
    is_the_truth_or_refused(lambda: value_by_suggestion(path, trait.told), trait)
    if "id" not in frame:
        return
    is_the_truth_or_refused(lambda: f1_of_replay(path, trait), trait)
    is_the_truth_or_refused(lambda: f1_of_evaluate(str(path), trait), trait)
    is_the_truth_or_refused(lambda: f1_of_estimate(pd.read_csv(path, skipinitialspace=False), trait), trait)


@pytest.mark.parametrize("written", FILES)
def test_a_trait_of_files_through_every_command(written, tmp_path):
    trait = VALUES["as it is"]
    path = FILES[written](table(), tmp_path)
    assert value_by_suggestion(path, trait.told) == pytest.approx(TRUTH, abs=1e-9)
    assert f1_of_evaluate(str(path), trait) == pytest.approx(TRUTH, abs=1e-9)
    assert f1_of_replay(path, trait) == pytest.approx(TRUTH, abs=1e-9)
    replayed = assay.replay(str(path), outcome=trait.outcome, methods="passive", budgets=[20], repeats=1)
    assert replayed.to_dict()["truth"]["f1"] == pytest.approx(TRUTH, abs=1e-9)


@pytest.mark.parametrize(("text", "says"), [
    (lambda f: f.to_csv(index=False, sep=" "), "spaces separate its values"),
    (lambda f: f.to_csv(sep=" ", index_label=False), "spaces separate its values"),
    (lambda f: f.to_string(index=False), "spaces separate its values"),
    (lambda f: f.to_csv(index_label=False), "4 values .id, prediction, probability, label., and a row has 5"),
    (lambda f: "<!DOCTYPE html>\n<html><body>Log in, please</body></html>\n", "is a page of HTML"),
    (lambda f: "PK\x03\x04" + "\0" * 99, "is a workbook of a spreadsheet or another archive"),
    (lambda f: "# of 2024\n# by me\n" + f.to_csv(index=False), "1 value .# of 2024., and a row has 4"),
])
def test_every_reader_names_what_is_wrong_with_the_lines(text, says, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text(table().drop(columns="text")), encoding="utf-8")
    trait = VALUES["as it is"]
    for read in (lambda: value_by_suggestion(path, Told()), lambda: f1_of_evaluate(str(path), trait),
                 lambda: f1_of_replay(path, trait),
                 lambda: assay.estimate(str(path), outcome=trait.outcome, measures="f1")):
        with pytest.raises(BadInput, match=says):
            read()


@pytest.mark.parametrize(("role", "positives"), [("probability", 9), ("score", 8)])
def test_at_the_threshold_a_probability_is_positive_and_a_score_is_not_for_every_command(
    role, positives, tmp_path
):
    frame = table().drop(columns="prediction").rename(columns={"probability": role})
    threshold = float(frame[role].nlargest(9).iloc[-1])
    above = (frame[role] >= threshold) if role == "probability" else frame[role] > threshold
    assert above.sum() == positives
    truth = 2 * (above & (frame.label == "spam")).sum() / (positives + 11)
    path = csv(frame, tmp_path / "t.csv", sep=";")
    asked = {"outcome": ["spam", "ham"], "measures": "f1", "threshold": threshold, role: role}
    for data in (frame, str(path)):
        evaluated = assay.evaluate(data, **asked, id="id", oracle="label", method="passive", target={},
                                   budget=N)
        replayed = assay.replay(data, **asked, label="label", methods="passive", budgets=[20], repeats=1)
        assert [evaluated.value, replayed.to_dict()["truth"]["f1"]] == pytest.approx([truth] * 2)
    told = Told(threshold=threshold, score="score") if role == "score" else Told(threshold=threshold)
    assert value_by_suggestion(path, told) == pytest.approx(truth)


def test_labelled_rows_in_a_file_are_those_of_a_frame(tmp_path):
    frame = table().assign(sample_weight=1.0)
    asked = {"outcome": ["spam", "ham"], "measures": "f1", "weight": "sample_weight", "pool_size": N}
    path = str(csv(frame, tmp_path / "t.csv"))
    assert [assay.estimate(data, **asked).value for data in (frame, path)] == pytest.approx([TRUTH] * 2)
    with pytest.raises(BadInput, match=r"pool_size\), and each row's chance or weight \(weight\)"):
        assay.estimate(path, outcome=["spam", "ham"], measures="f1")


# each of these traits of values in a table of text and in one that has types
PAIRS = [
    ("1 and 1.0 in turn", "UTF-16"), ("1 and 1.0 in turn", "Parquet"), ("booleans and numbers", "parts"),
    ("booleans and numbers", "JSON Lines"), ("True and TRUE in turn", "Parquet of bytes"),
    ("composed and decomposed", "UTF-16"), ("composed and decomposed", "Parquet of bytes"),
    ("spaces", "parts"), ("spaces", "Parquet"), ("numbered probabilities", "JSON Lines"),
    ("one and minus one", "Parquet of bytes"), ("yes and no", "JSON Lines"),
]


@pytest.mark.parametrize(("values", "written"), PAIRS)
def test_pairs_of_traits(values, written, tmp_path):
    trait = VALUES[values]
    path = FILES[written](trait.made(table()), tmp_path)
    assert value_by_suggestion(path, trait.told) == pytest.approx(TRUTH, abs=1e-9)
    assert f1_of_replay(path, trait) == pytest.approx(TRUTH, abs=1e-9)


# Frames, and labels that are a Series, an array or a mapping.

def sorted_frame() -> pd.DataFrame:
    """Rows in another order, named by their index alone."""
    return table().drop(columns="id").sort_values("probability")


FRAMES: dict[str, Callable[[], object]] = {
    "pandas": sorted_frame,
    "Arrow with its index": lambda: pa.Table.from_pandas(sorted_frame()),
    "Arrow sliced": lambda: pa.Table.from_pandas(sorted_frame()).slice(0, N),
    "polars of Arrow": lambda: pl.from_arrow(pa.Table.from_pandas(sorted_frame())),
    "polars without an index": lambda: pl.from_pandas(sorted_frame()),
}


def test_ids_that_come_again_are_refused_by_all():
    frame = pd.concat([table(), table()[:3]]).rename(columns={"id": "item_id"}).reset_index(drop=True)
    asked = {"outcome": ["spam", "ham"], "measures": "f1", "prediction": "prediction"}
    says = "more than once|each item may occur once"
    with pytest.raises(BadInput, match=says):
        assay.evaluate(frame, **asked, oracle="label", probability="probability")
    for further in ({"probability": "probability"}, {"outcome": "classes", "measures": "accuracy"}):
        with pytest.raises(BadInput, match=says):
            assay.replay(frame, **asked | further, methods="passive", budgets=[20], repeats=1)


def in_runs(frame: pd.DataFrame) -> pa.Table:
    made = pa.table({name: list(frame[name]) for name in frame})
    place = made.column_names.index("label")
    return made.set_column(place, "label", pc.run_end_encode(made.column("label")))


def with_a_missing_name(frame: pd.DataFrame) -> pa.Table:
    names = pa.DictionaryArray.from_arrays(
        pa.array((frame.label == "spam").astype(int)), pa.array(["ham", "spam", None]))
    return pa.table({name: list(frame[name]) if name != "label" else names for name in frame})


NUMBERED = {"prediction": 2, "probability": 3, "label": 4}
UNUSUAL: dict[str, Callable[[pd.DataFrame], object]] = {
    "runs": in_runs, "a dictionary with a missing name": with_a_missing_name,
    "columns with numbers for names": lambda f: f.set_axis(range(5), axis=1),
    "categories that nothing has": lambda f: f.assign(
        label=pd.Categorical(f.label, ["unknown", "spam", "ham"], ordered=True)),
}


@pytest.mark.parametrize("made", UNUSUAL)
def test_frames_of_unusual_types(made):
    frame = UNUSUAL[made](table())
    names = NUMBERED if made == "columns with numbers for names" else {n: n for n in NUMBERED}
    asked = {"outcome": ["spam", "ham"], "measures": "f1", "prediction": names["prediction"]}
    evaluated = assay.evaluate(frame, **asked, oracle=names["label"], probability=names["probability"],
                               id=0 if names is NUMBERED else "id", method="passive", target={}, budget=N)
    replayed = assay.replay(frame, **asked, label=names["label"], probability=names["probability"],
                            methods="passive", budgets=[20], repeats=1)
    held = assay.estimate(frame, **asked, label=names["label"], pool_size=N, weight=np.ones(N))
    values = [evaluated.value, held.value, replayed.to_dict()["truth"]["f1"]]
    assert values == pytest.approx([TRUTH] * 3, abs=1e-9)


def test_a_column_of_python_objects_is_named():
    frame = pl.from_pandas(table()).with_columns(pl.Series("label", list(table().label), dtype=pl.Object))
    with pytest.raises(BadInput, match="column 'label' holds Python objects"):
        value_of(frame, "label")


def value_of(frame: object, oracle: object) -> float | None:
    return assay.evaluate(
        frame, outcome=["spam", "ham"], measures="f1", method="passive", target={}, budget=N, batch_size=N,
        prediction="prediction", probability="probability", oracle=oracle,
    ).value


@pytest.mark.parametrize("library", FRAMES)
def test_a_series_meets_the_rows_that_its_index_names(library):
    frame = FRAMES[library]()
    trait = Trait(lambda f: f, refusal="index of its own, and the rows have none")
    shuffled = table().label.sample(frac=1, random_state=3)
    is_the_truth_or_refused(lambda: value_of(frame, shuffled), trait)
    assert value_of(frame, sorted_frame().label.to_numpy()) == pytest.approx(TRUTH, abs=1e-9)
    assert value_of(frame, "label") == pytest.approx(TRUTH, abs=1e-9)


def test_a_column_of_its_own_meets_an_arrow_table_by_its_index():
    frame = pa.Table.from_pandas(sorted_frame().drop(columns="prediction"))
    found = assay.evaluate(
        frame, outcome=["spam", "ham"], measures="f1", method="passive", target={}, budget=N, batch_size=N,
        prediction=table().prediction, probability="probability", oracle=table().label,
    )
    assert found.value == pytest.approx(TRUTH, abs=1e-9)
    with pytest.raises(BadInput, match="prediction: the Series has an index of its own"):
        assay.evaluate(
            pl.from_pandas(sorted_frame()), outcome=["spam", "ham"], measures="f1", probability="probability",
            prediction=sorted_frame().prediction, oracle="label",
        )


@pytest.mark.parametrize("order", [slice(None, None, -1), slice(10, None), slice(None, None, 2)])
def test_a_series_meets_a_parquet_file_by_the_row_numbers_that_pandas_wrote(order, tmp_path):
    frame = table().drop(columns="id")
    kept = frame[order]
    kept.to_parquet(tmp_path / "t.parquet")
    said, is_so = kept.prediction == "spam", kept.label == "spam"
    found = assay.evaluate(
        str(tmp_path / "t.parquet"), outcome=["spam", "ham"], measures="f1", method="passive", target={},
        budget=len(kept), prediction="prediction", probability="probability", oracle=frame.label,
    )
    assert found.value == pytest.approx(2 * (said & is_so).sum() / (said.sum() + is_so.sum()))
