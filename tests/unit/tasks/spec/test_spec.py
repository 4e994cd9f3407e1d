"""The spec: what is accepted, what is recorded, and one clear message for everything else."""

import json
import pickle
import re
import time

import pytest
from doubles.specs import a_spec, spec_data

from assay.evalcore.errors import BadInput
from assay.tasks.desks.registry import DESK_KINDS
from assay.tasks.spec.evaluation import Deadline, Spec, load_spec, spec_digest
from assay.tasks.spec.goals import Budget, Limit, Target
from assay.tasks.spec.pool import Pool
from assay.tasks.spec.template import spec_template

DESKS = ", ".join(DESK_KINDS)
MINIMAL = """\
name: trial
pool: {source: p.csv, id: item_id, score: s, prediction: p}
labels: {positive: "yes", negative: "no"}
measure: f1
target: {half_width: 0.05}
budget: {labels: 200}
desk: {kind: simulated, labels: labels.csv}
"""


def refused(data: dict) -> str:
    with pytest.raises(BadInput) as caught:
        Spec.from_json(data, origin="a.yaml")
    assert caught.value.exit_code == 2
    return str(caught.value)


def changed(path: str, value: object) -> dict:
    """The valid spec with one key replaced; None removes it."""
    data = spec_data()
    *way, last = path.split(".")
    inner = data
    for step in way:
        inner = inner.setdefault(step, {})
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return data


def test_the_template_loads_as_it_stands(tmp_path):
    path = tmp_path / "assay.yaml"
    path.write_text(spec_template())
    spec = load_spec(path)
    assert spec.pool.display == ("name_a", "name_b")
    assert spec.target.confidence == 0.95
    assert spec.store == "./assay-ledger"


def test_the_template_names_every_key_of_a_spec_and_of_its_parts():
    named = set(re.findall(r"[\s{]([a-z_]+):", spec_template()))
    parts = (Spec, Pool, Target, Budget, Limit, Deadline)
    assert {key for part in parts for key in part.model_fields} - named == {"task"}   # made of labels


def test_the_contract_of_the_design_loads(tmp_path):
    path = tmp_path / "assay.yaml"
    path.write_text("""\
name: restaurant-dedup-2026-11
pool:
  source: s3://models/dedup/2026-11-20/*.parquet
  id: item_id
  task: binary
  score: score
  prediction: prediction
  display: [name_a, name_b]
  segments: [region]
labels: {positive: match, negative: "no match"}
measure: [f1, {name: fbeta, beta: 2}]
target: {half_width: 0.05, confidence: 0.95}
budget: {labels: 500}
batch_size: 25
method: auto
desk: {kind: label-studio, url: "http://127.0.0.1:8080", annotators_per_item: 1}
store: file://./assay-ledger
limit: {min: 0.80}
seed: 7
""")
    spec = load_spec(path)
    assert [m.name for m in spec.measures] == ["f1", "fbeta(2)"]
    assert spec.limit is not None
    assert (spec.limit.min, spec.limit.max) == (0.8, None)


def test_what_was_not_said_has_the_defaults():
    spec = a_spec()
    assert (spec.batch_size, spec.method, spec.seed, spec.store) == (25, "auto", 0, None)
    assert (spec.desk.annotators_per_item, spec.desk.error_rate, spec.desk.delay) == (1, 0.0, 0.0)


def test_the_recorded_form_gives_the_spec_back_without_store_and_freeze_runner():
    kept_elsewhere = {"store": "s3://bucket/ledger", "freeze_runner": "processes:2"}
    spec = Spec.from_json(spec_data(segments=["region"], display=["a"]) | kept_elsewhere)
    recorded = json.loads(json.dumps(spec.to_json()))
    assert not {"store", "freeze_runner"} & set(recorded)
    assert Spec.from_json(recorded) == spec.model_copy(update={"store": None, "freeze_runner": None})


def test_the_digest_depends_on_what_is_asked_and_not_on_where_it_is_kept():
    here, there = (Spec.from_json(spec_data() | {"store": s}) for s in ("./a", "./b"))
    assert spec_digest(here) == spec_digest(there) == spec_digest(a_spec())
    assert spec_digest(here) != spec_digest(Spec.from_json(changed("seed", 1)))


def test_a_spec_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        a_spec().seed = 3


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("nmae", "x", "$.nmae is not a known key; did you mean 'name'?"),
        ("pool.scoer", "x", "$.pool.scoer is not a known key; did you mean 'score'?"),
        ("pool.systems", {"v1": {"prediction": "v1"}}, "are judged by the method 'recycle'"),
        ("warm_start", {"evaluation": "trial"}, "$.warm_start names the evaluation itself"),
        ("pool.task", "numeric", "$.pool.task 'numeric' is written 'number'; leave it out"),
        ("pool.task", "sorting", "$.pool.task must be 'binary', 'multiclass', 'number', 'tags',"),
        ("pool.probability", {"a": "pa"}, "$.pool `probability` has a column per class, which needs labels"),
        ("name", None, "$.name is missing; add it"),
        ("name", "a/b", "$.name 'a/b' cannot be the name of an evaluation"),
        ("name", "index", "$.name 'index' cannot be the name of an evaluation"),
        ("name", "x" * 101, "cannot be the name of an evaluation"),
        ("name", 7, "$.name must be text, not 7; put it in quotes"),
        ("pool.source", "", "$.pool.source must not be empty"),
        ("pool.source", "https://me:pass@host/x.csv", "$.pool.source holds a user name or a password"),
        ("pool.prediction", None, "$.pool needs exactly one of `prediction` and `threshold`, got neither"),
        ("pool.threshold", 0.5, "$.pool needs exactly one of `prediction` and `threshold`, got both"),
        ("pool.segments", ["score"], "$.pool `segments` names 'score', which is a column of the frozen pool"),
        ("pool.segments", ["a", "a"], "$.pool.segments lists 'a' twice"),
        ("pool.display", "name_a", "$.pool.display must be a list, not 'name_a'"),
        ("pool.show_as", {"photo": "image"}, "$.pool `show_as` names 'photo', which is not in `display`"),
        ("labels", {"positive": "a", "negative": "a"}, "$.labels calls both classes 'a'"),
        ("labels.positive", 1, "$.labels.positive must be text, not 1; put it in quotes"),
        ("measure", "f2", "$.measure[0] unknown measure 'f2'"),
        ("measure", ["f1", "f1"], "$.measure lists 'f1' twice"),
        ("measure", [], "$.measure is an empty list"),
        ("measure", {"name": "fbeta"}, "$.measure[0] measure 'fbeta' needs a positive beta"),
        ("measure", {"name": "f1", "bta": 2}, "$.measure[0].bta is not a known key; did you mean 'beta'?"),
        ("target.variance", 0.1, "$.target has `half_width` and `variance`; keep one"),
        ("target.half_width", 0, "$.target.half_width must be greater than 0, not 0"),
        ("target.half_width", "0.05", "$.target.half_width must be a number, not '0.05'"),
        ("target.half_width", True, "$.target.half_width must be a number, not true"),
        ("target.confidence", 95, "$.target.confidence must be less than 1, not 95"),
        ("budget.labels", None, "$.budget.labels is missing; add it: the most items"),
        ("budget.labels", 0, "$.budget.labels must be greater than or equal to 1, not 0"),
        ("budget.labels", 10.5, "$.budget.labels must be a whole number, not 10.5"),
        ("batch_size", 0, "$.batch_size must be greater than or equal to 1, not 0"),
        ("method", "dirichlet_tree", "unknown method 'dirichlet_tree'; did you mean 'dirichlet-tree'?"),
        ("desk.kind", None, f"$.desk.kind is missing; add one of: {DESKS}"),
        ("desk.kind", "paper", f"$.desk.kind must be one of {DESKS}, not 'paper'"),
        ("desk.lables", "x", "$.desk.lables is not a known key; did you mean 'labels'?"),
        ("desk.error_rate", 1, "$.desk.error_rate must be less than 1, not 1"),
        ("desk", {"kind": "label-studio", "url": "localhost"}, "$.desk.url 'localhost' is not an http://"),
        ("desk", {"kind": "folder", "path": "x"}, "$.pool.display is empty, so a folder desk would show"),
        ("limit", {}, "$.limit needs `min`, `max` or both"),
        ("limit", {"min": 0.9, "max": 0.1}, "$.limit `min` 0.9 is above `max` 0.1"),
        ("seed", -1, "$.seed must be greater than or equal to 0, not -1"),
    ],
)  # fmt: skip
def test_a_wrong_key_is_named_with_its_remedy(path, value, message):
    text = refused(changed(path, value))
    assert text.startswith("a.yaml: ")
    assert message in text


def test_a_threshold_on_a_probability_must_be_one():
    data = spec_data(score=None, probability="p", prediction=None, threshold=1.5)
    assert "`threshold` 1.5 applies to a probability" in refused(data)


def test_every_problem_is_listed():
    data = changed("seed", -1) | {"batch_size": 0}
    text = refused(data)
    assert "2 problems" in text
    assert "$.seed" in text
    assert "$.batch_size" in text


def test_the_list_of_problems_has_an_end():
    text = refused(spec_data() | {f"key{i}": 1 for i in range(5000)})
    assert "5000 problems" in text
    assert text.endswith("and so on")
    assert text.count("\n") == 30


def test_a_password_is_not_repeated_in_the_message():
    data = changed("desk", {"kind": "label-studio", "url": "http://me:hunter2@host"})
    assert "hunter2" not in refused(data)


def loaded(tmp_path, text: str | bytes) -> Spec:
    path = tmp_path / "a.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_spec(path)


@pytest.mark.parametrize(("budget", "batch_size", "enough"), [
    (100, 25, 125), (60, 20, 120), (121, 121, 242), (110, 60, 180),
])  # of a method that asks for 100 labels and two looks
def test_a_budget_with_which_no_target_can_be_met_is_refused_with_what_would_do(
    budget, batch_size, enough, tmp_path
):
    text = MINIMAL.replace("labels: 200}", f"labels: {budget}}}")
    text += f"batch_size: {batch_size}\nmethod: passive\n"
    never = rf"budget.labels is {budget}, with which no target .* Give {enough} or more"
    with pytest.raises(BadInput, match=never):
        loaded(tmp_path, text)
    assert loaded(tmp_path, text.replace("target: {half_width: 0.05}\n", "")).target.half_width is None
    larger = loaded(tmp_path, text.replace(f"labels: {budget}}}", f"labels: {enough}}}"))
    assert larger.target.half_width == 0.05
    recorded = Spec.from_json(spec_data() | {"budget": {"labels": budget}})
    assert recorded.target.given, "an evaluation that has begun so can still be read"


def test_a_target_of_the_score_test_counts_from_50_labels_on_at_one_look(tmp_path):
    few = MINIMAL.replace("labels: 200}", "labels: 49}")
    with pytest.raises(BadInput, match=r"is met at one look, with 50 labels or more\. Give 50 or more"):
        loaded(tmp_path, few)
    assert loaded(tmp_path, few.replace("labels: 49}", "labels: 50}")).target.half_width == 0.05


def test_known_labels_count_towards_the_floor(tmp_path):
    text = MINIMAL.replace("labels: 200}", "labels: 50}") + "warm_start: {evaluation: earlier}\n"
    assert loaded(tmp_path, text).target.given


def test_yaml_is_read_without_the_surprises_of_yaml_1_1(tmp_path):
    text = MINIMAL.replace('"yes"', "yes").replace('"no"', "no").replace("0.05", "5e-2")
    spec = loaded(tmp_path, text.replace("labels: 200}", "labels: 0200}").replace("trial", "2026-11-20"))
    assert (spec.labels.positive, spec.labels.negative) == ("yes", "no")   # 1.1: true and false
    assert spec.target.half_width == 0.05                                  # 1.1: the text "5e-2"
    assert spec.budget.labels == 200                                       # 1.1: 128
    assert spec.name == "2026-11-20"                                       # 1.1: a date


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MINIMAL + "seed: 1\nseed: 2\n", "line 9, column 1: not valid YAML: the key 'seed' is written twice"),
        (MINIMAL + "1: 2\n", "the key 1 is not text; put it in quotes"),
        (MINIMAL + "seed: [", "line 8"),
        (MINIMAL + "seed: !!python/object:os.system x", "line 8, column 7: not valid YAML: the tag"),
        ("", "a spec is a mapping of keys, this is empty"),
        ("- a", "a spec is a mapping of keys, this is a list"),
        (b"name: \xff", "not UTF-8 text at byte 6"),
    ],
)
def test_a_file_that_is_no_spec_is_refused(tmp_path, text, message):
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path, text)
    assert "a.yaml" in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match="there is no such file"):
        load_spec(tmp_path / "none.yaml")


@pytest.mark.parametrize(("path", "value", "said"), [
    ("desk.gold", {"labels": "g.csv", "rate": 0.7}, "$.desk.gold.rate"),
    ("desk.gold", {"rate": 0.1}, "$.desk.gold.labels is missing"),
    ("desk.gold", {"labels": "g.csv", "share": 0.1}, "$.desk.gold.share is not a known key"),
    ("desk.ask_again", "sometimes", "$.desk.ask_again"),
    ("desk.ask_again", {"when": "often"}, "$.desk.ask_again.when"),
    ("adjudication", {"rule": "dawid"}, "$.adjudication.rule"),
    ("adjudication", {"rule": "dawid-skene"}, "set desk.annotators_per_item to 2 or more"),
])
def test_what_is_wrong_about_annotators_is_named(path, value, said):
    assert said in refused(changed(path, value))


def test_ask_again_is_a_word_or_a_mapping_and_off_where_several_answer_anyway():
    assert Spec.from_json(changed("desk.ask_again", True)).desk.again.when == "always"
    assert Spec.from_json(changed("desk.ask_again", False)).desk.again.when == "never"
    assert Spec.from_json(changed("desk.ask_again", {"chance": 0.01})).desk.again.when == "known"
    assert Spec.from_json(changed("desk.annotators_per_item", 2)).desk.again.when == "never"


def test_what_is_not_said_about_annotators_is_not_recorded():
    recorded = a_spec().to_json()
    assert "adjudication" not in recorded
    assert not {"gold", "ask_again", "annotators"} & set(recorded["desk"])


def with_audit(audit, method="recalibrated", labels=40):
    return spec_data() | {"method": method, "budget": {"labels": labels, "audit": audit}}


def test_an_audit_is_a_share_of_the_budget_and_recorded_only_where_it_was_asked_for():
    spec = Spec.from_json(with_audit(10))
    assert spec.budget.audit_share == 0.25
    assert spec.to_json()["budget"] == {"labels": 40, "audit": 10}
    assert spec_digest(spec) != spec_digest(Spec.from_json(with_audit(None)))
    none = a_spec()
    assert none.budget.audit_share == 0.0
    assert none.to_json()["budget"] == {"labels": 1}


def test_a_smaller_budget_keeps_the_share_of_its_audit():
    budget = Spec.from_json(with_audit(10)).budget
    assert (budget.scaled_to(20).audit, budget.scaled_to(40).audit, budget.scaled_to(1).audit) == (5, 10, 1)
    assert a_spec().budget.scaled_to(7).audit is None


@pytest.mark.parametrize(("data", "said"), [
    (with_audit(41), "$.budget has an audit of 41 of 40 labels; it is a part of them"),
    (with_audit(-1), "$.budget.audit must be greater than or equal to 0, not -1"),
    (with_audit(10, "passive"), "$.budget.audit cannot be used by method 'passive': it has no wide interval"),
    (with_audit(10, "recalibrated:spread=0.1"), "method 'recalibrated:spread=0.1' both say how much"),
])
def test_an_audit_that_cannot_be_is_refused(data, said):
    assert said in refused(data)


def guaranteed(**more):
    return spec_data() | {"interval": "guaranteed"} | more


def test_a_guaranteed_interval_is_a_setting_of_the_method():
    spec = Spec.from_json(guaranteed(method="passive"))
    assert (spec.interval, spec.method) == ("guaranteed", "passive:guaranteed=true")
    assert spec.chosen_method.holds_at_every_look
    again = Spec.from_json(spec.to_json())
    assert again == spec
    assert spec_digest(again) == spec_digest(spec)
    assert "interval" not in a_spec().to_json()


@pytest.mark.parametrize(("data", "said"), [
    (guaranteed(), "$.interval cannot be guaranteed with method 'auto', whose draws are neither even nor "
                   "stratified; use passive, stratified, stratified-neyman or stratified-online"),
    (guaranteed(method="oasis"), "$.interval cannot be guaranteed with method 'oasis'"),
    (guaranteed(method="passive", measure="mcc"), "$.interval cannot be guaranteed: mcc is no ratio of mean"),
    (guaranteed(method="passive", measure="macro_f1", labels={"classes": ["yes", "no", "?"]},
                pool={"source": "p.csv", "id": "item_id", "prediction": "p"}),
     "$.interval cannot be guaranteed: macro_f1 has no guaranteed interval"),
])
def test_a_guarantee_that_cannot_be_is_refused(data, said):
    assert said in refused(data)


def test_a_value_that_stands_for_billions_is_named_at_once():
    bomb = ["x"] * 9
    for _ in range(40):
        bomb = [bomb] * 9          # 9 to the 41st values, in a few kilobytes
    started = time.monotonic()
    with pytest.raises(BadInput, match=r"name must be text, not \[") as caught:
        Spec.from_json({"name": bomb}, origin="a flow's parameters")
    assert time.monotonic() - started < 60   # written out whole, it would take for ever
    assert len(str(caught.value)) < 3_000


def test_a_very_long_name_is_not_repeated_in_full():
    with pytest.raises(BadInput, match="cannot be the name") as caught:
        Spec.from_json({"name": "x" * 1_000_000}, origin="a.yaml")
    assert len(str(caught.value)) < 5_000


def test_a_spec_travels_to_other_processes_also_after_it_was_used():
    spec = a_spec()
    assert spec.measures
    assert pickle.loads(pickle.dumps(spec)) == spec


@pytest.mark.parametrize(("changes", "key"), [
    ({"desk": {"kind": "simulated", "labels": "labels.csv"}}, "desk.labels"),
    ({"outcomes": {"source": "later.csv"}}, "outcomes.source"),
    ({"warm_start": {"source": "old.csv"}, "method": "dirichlet-tree"}, "warm_start.source"),
    ({"desk": {"kind": "simulated", "labels": "predictions.csv", "gold": {"labels": "gold.csv"}}},
     "desk.gold.labels"),
])
def test_rows_of_another_file_are_not_joined_by_their_number(changes, key):
    data = spec_data(id="row number") | {"desk": {"kind": "simulated", "labels": "predictions.csv"}}
    assert Spec.from_json(data).pool.id == "row number"
    with pytest.raises(BadInput, match=f"{key}.*rows of the same number are not the same items there"):
        Spec.from_json(data | changes)
    part = key.split(".")[0]
    told = dict(changes[part])
    (told["gold"] if "gold" in key else told)["id"] = "its_own"
    Spec.from_json(data | changes | {part: told})


def test_threshold_is_read_as_limit_until_1_0():
    limit = {"min": 0.8}
    old, new = (Spec.from_json(spec_data() | {key: limit}) for key in ("threshold", "limit"))
    assert old == new
    assert old.to_json()["limit"] == limit
    assert "threshold" not in old.to_json()
    both = spec_data() | {"limit": limit, "threshold": limit}
    assert "`limit` and `threshold` are the same key" in refused(both)
    assert "limit: {min: 0.80}" in spec_template()
