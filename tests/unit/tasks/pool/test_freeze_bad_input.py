"""Bad predictions: exit code 2, one message with field, first offending rows and remedy, and no manifest."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.specs import a_spec, spec_data

from assay.evalcore.errors import BadInput
from assay.tasks.desks.label_studio.kind import LabelStudioKind
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.spec.evaluation import Spec

HEAD = "item_id,score,p,prediction,region\n"
GOOD = "a,1,0.5,1,x\nb,-1,0.5,0,x\nc,0,0.5,0,y\n"


def refused(spec: Spec) -> str:
    store = MemoryStore()
    with pytest.raises(BadInput) as caught:
        freeze_pool(spec, store)
    assert caught.value.exit_code == 2
    assert not store.exists("trial/pool/manifest.json")
    assert not list(store.keys("trial/partitions/"))
    return str(caught.value)


def bad_csv(tmp_path, rows: str, **pool) -> str:
    (tmp_path / "p.csv").write_text(HEAD + rows)
    return refused(a_spec(tmp_path / "p.csv", **pool))


def test_missing_ids(tmp_path):
    text = bad_csv(tmp_path, GOOD + ",1,0.5,1,x\n")
    assert "p.csv: column 'item_id': values have no id: row 4: ''" in text
    assert "every item needs one of its own" in text


@pytest.mark.parametrize(("values", "listed"), [
    (["a", {}, "c"], "row 2: '{}'"), (["a", "b", []], "row 3: '[]'"), (["a", False, "c"], "row 2: 'false'"),
    ([{"x": 1}, {"x": 2}, {"x": 3}], "row 1: '{\"x\":1}'"), ([1, True, 3], "row 2: 'true'"),
])
def test_objects_arrays_and_booleans_are_no_ids(tmp_path, values, listed):
    path = tmp_path / "p.jsonl"
    path.write_text("\n".join(json.dumps({"item_id": v, "score": 1, "prediction": 1}) for v in values))
    text = refused(a_spec(path))
    assert f"column 'item_id': values are no id: {listed}" in text
    assert "objects, arrays, true and false name nothing" in text


def test_duplicate_ids_with_their_files_and_rows(tmp_path):
    for name, rows in (("1.csv", GOOD), ("2.csv", "d,1,0.5,1,x\nb,1,0.5,1,x\nd,0,0,0,x\n")):
        (tmp_path / name).write_text(HEAD + rows)
    text = refused(a_spec(tmp_path))
    assert "column 'item_id' has ids that occur more than once" in text
    assert f"'b' ({tmp_path}/1.csv row 2, {tmp_path}/2.csv row 2)" in text
    assert f"'d' ({tmp_path}/2.csv row 1, {tmp_path}/2.csv row 3)" in text
    assert "every item needs an id of its own" in text


def test_many_duplicates_are_listed_in_part(tmp_path):
    text = bad_csv(tmp_path, "".join(f"{i % 3000},1,0.5,1,x\n" for i in range(6000)))
    assert "'0' (" in text
    assert "'4' (" in text
    assert "'5' (" not in text


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "", "high", "1_000"])
def test_scores_that_are_not_finite_numbers(tmp_path, value):
    text = bad_csv(tmp_path, GOOD + f"d,{value},0.5,1,x\n")
    assert f"p.csv: column 'score': values are not finite numbers: row 4: {value!r}" in text
    assert "give these rows a number, or drop them" in text


def test_scores_of_a_size_that_stands_for_nothing(tmp_path):
    text = bad_csv(tmp_path, GOOD + "d,-1.797e308,0.5,1,x\n")
    assert "column 'score': values are beyond ±1e+100: row 4: '-1.797e308'" in text


def test_only_the_first_offenders_are_listed(tmp_path):
    text = bad_csv(tmp_path, "".join(f"{i},nan,0.5,1,x\n" for i in range(12)))
    assert "row 5: 'nan' and 7 more at least" in text
    assert "row 6" not in text


@pytest.mark.parametrize("value", ["-0.1", "1.5"])
def test_probabilities_outside_0_to_1(tmp_path, value):
    text = bad_csv(tmp_path, GOOD + f"d,1,{value},1,x\n", score=None, probability="p")
    assert f"column 'p': values are not within [0, 1]: row 4: {value!r}" in text
    assert "name it under `score` instead" in text


@pytest.mark.parametrize("value", ["2", "", "maybe", "matched", "0.7"])
def test_predictions_outside_the_label_set(tmp_path, value):
    text = bad_csv(tmp_path, GOOD + f"d,1,0.5,{value},x\n")
    assert f"column 'prediction': values are neither 'match' nor 'no match': row 4: {value!r}" in text
    assert "a class name as under `labels`, 0/1 or true/false" in text


def test_predictions_by_name_must_be_the_names_of_the_labels(tmp_path):
    (tmp_path / "p.csv").write_text(HEAD + GOOD)
    data = spec_data(tmp_path / "p.csv") | {"labels": {"positive": "1", "negative": "2"}}
    assert "values are neither '1' nor '2': row 2: '0'" in refused(Spec.from_json(data))


@pytest.mark.parametrize("column", ["item_id", "score", "prediction"])
def test_nulls_in_parquet(tmp_path, column):
    table = {"item_id": ["a", "b"], "score": [1.0, 2.0], "prediction": [1, 0]}
    table[column] = [table[column][0], None]
    pq.write_table(pa.table(table), tmp_path / "p.parquet")
    assert f"column {column!r}: values" in (text := refused(a_spec(tmp_path / "p.parquet")))
    assert "row 2: missing" in text


def test_a_column_that_is_null_throughout(tmp_path):
    pq.write_table(
        pa.table({"item_id": ["a"], "score": pa.nulls(1), "prediction": [1]}), tmp_path / "p.parquet"
    )
    assert "column 'score': values are not finite numbers: row 1" in refused(a_spec(tmp_path / "p.parquet"))


@pytest.mark.parametrize("values", [[True, False], [[1.0], [2.0]]])
def test_scores_of_the_wrong_kind(tmp_path, values):
    table = pa.table({"item_id": ["a", "b"], "score": values, "prediction": [1, 0]})
    pq.write_table(table, tmp_path / "p.parquet")
    assert "p.parquet: column 'score' holds" in (text := refused(a_spec(tmp_path / "p.parquet")))
    assert "not numbers" in text


def test_files_that_disagree_about_a_column(tmp_path):
    for name, ids in (("1.parquet", [1, 2]), ("2.parquet", ["3", "4"])):
        pq.write_table(
            pa.table({"item_id": ids, "score": [1.0, 2.0], "prediction": [1, 0]}), tmp_path / name
        )
    text = refused(a_spec(tmp_path))
    assert "2.parquet: column 'item_id' holds text values from row 1 on, but number values before" in text


@pytest.mark.parametrize("role", ["id", "score", "prediction"])
def test_missing_columns(tmp_path, role):
    text = bad_csv(tmp_path, GOOD, **{role: "sore"})
    assert "p.csv: no column 'sore'" in text
    assert "'item_id', 'score', 'p', 'prediction', 'region'" in text


def test_a_column_missing_from_the_second_file(tmp_path):
    (tmp_path / "1.csv").write_text(HEAD + GOOD)
    (tmp_path / "2.csv").write_text("item_id,prediction\nz,1\n")
    assert "2.csv: no column 'score'" in refused(a_spec(tmp_path))


@pytest.mark.parametrize("rows", ["", "\n"])
def test_empty_pools(tmp_path, rows):
    text = bad_csv(tmp_path, rows)
    assert "p.csv: no rows; an empty pool cannot be evaluated" in text


def test_a_budget_larger_than_the_pool(tmp_path):
    (tmp_path / "p.csv").write_text(HEAD + GOOD)
    data = spec_data(tmp_path / "p.csv") | {"budget": {"labels": 500}}
    text = refused(Spec.from_json(data))
    assert "budget.labels is 500 but the pool has 3 items; lower it to 3 or less" in text


def test_a_segment_that_is_an_id(tmp_path):
    rows = "".join(f"{i},1,0.5,1,region {i}\n" for i in range(1001))
    text = bad_csv(tmp_path, rows, segments=["region"])
    assert "column 'region' has more than 1,000 different values" in text
    assert "take it out of pool.segments" in text


def test_bytes_cannot_be_shown(tmp_path):
    table = pa.table({"item_id": ["a"], "score": [1.0], "prediction": [1], "photo": [b"\x89PNG"]})
    pq.write_table(table, tmp_path / "p.parquet")
    text = refused(a_spec(tmp_path / "p.parquet", display=["photo"]))
    assert "p.parquet: column 'photo' holds bytes" in text


def test_a_corrupt_file_among_good_ones(tmp_path):
    (tmp_path / "1.csv.gz").write_bytes(gzip.compress((HEAD + GOOD).encode()))
    (tmp_path / "2.csv.gz").write_bytes(b"not gzip")
    assert f"{tmp_path}/2.csv.gz: cannot be read" in refused(a_spec(tmp_path))


def test_no_file_at_all(tmp_path):
    assert "pool.source: no file matches" in refused(a_spec(tmp_path / "none.csv"))


@pytest.mark.parametrize("column", ["item_id", "region"])
def test_an_id_or_a_segment_as_long_as_a_text_is_refused(tmp_path, column):
    row = {"item_id": "d", "region": "x"} | {column: "y" * 1001}
    rows = GOOD + f"{row['item_id']},1,0.5,1,{row['region']}\n"
    said = bad_csv(tmp_path, rows, segments=["region"])
    assert f"column '{column}': values are longer than 1,000 characters: row 4: 'yyy" in said


def test_pictures_that_no_browser_can_open_are_refused_before_anyone_is_asked(tmp_path):
    (tmp_path / "p.csv").write_text(HEAD + "a,1,0.5,1,https://x.org/1.png\nb,1,0.5,0,pictures/2.png\n")
    shown = {"display": ["region"], "show_as": {"region": "image"}}

    def spec(desk):
        return Spec.from_json(spec_data(tmp_path / "p.csv", **shown) | {"desk": desk}, origin="spec.yaml")

    text = refused(spec({"kind": "label-studio", "url": "http://127.0.0.1:1"}))
    assert "column 'region': values are no pictures that people's browsers can open: row 2: 'pict" in text
    assert "http.server" in text
    assert "show_as: {region: text}" in text
    # at another desk people may well open a path
    assert freeze_pool(spec({"kind": "folder", "path": "x"}), MemoryStore()).rows == 2


def test_items_that_are_too_large_for_the_desk_are_refused_before_anyone_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(LabelStudioKind, "most_shown_bytes", 100)
    desk = {"kind": "label-studio", "url": "http://127.0.0.1:1"}
    rows = f"a,1,0.5,1,x\nb,1,0.5,0,{'y' * 95}\nc,0,0.5,0,{'é' * 20}\n"
    (tmp_path / "p.csv").write_text(HEAD + rows)

    def spec(**more):
        return Spec.from_json(spec_data(tmp_path / "p.csv", display=["region"]) | more, origin="spec.yaml")

    text = refused(spec(desk=desk))
    assert "p.csv: column 'region': values are too large for desk.kind label-studio" in text
    # with quotes and brackets 99 and 124 characters of JSON
    assert "row 3: 'é" in text
    assert "row 2" not in text
    assert "the address of a picture instead of the picture itself" in text
    freeze_pool(spec(), MemoryStore())      # the simulated desk takes any
