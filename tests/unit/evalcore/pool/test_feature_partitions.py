"""Cutting a pool by features, by name: in a spec, live, in a replay; and what is said when it cannot be."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from doubles import classes, outcomes, small_pool, systems
from doubles.small_pool import spec_json, write_small_pool
from doubles.world import World

import assay
from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.methods.registry import method, outcome_method
from assay.evalcore.pool.partition import binary_tree, build_partition
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec

KINDS = ["csf", "geometric", "equal-size", "rank-geometric", "kd-tree", "clusters"]


def with_features(tmp_path, **changes):
    """A world whose items have two features."""
    predictions, _ = write_small_pool(tmp_path, n=200)
    rng = np.random.default_rng(1)
    head, *rows = predictions.read_text().splitlines()
    lines = [f"{row},{rng.normal():.4f},{rng.integers(5)}" for row in rows]
    predictions.write_text("\n".join([f"{head},length,year", *lines]) + "\n")
    world = World(tmp_path / "elsewhere", n=200)
    changed = {"source": str(predictions), "features": ("length", "year"), "segments": ()}
    pool = world.spec.pool.model_copy(update=changed)
    world.spec = Spec.from_json(world.spec.model_copy(update={"pool": pool}).to_json() | changes)
    return world


@pytest.mark.parametrize("named", [
    "dirichlet-tree:partition=kd-tree:depth=2:branching=3",
    "dirichlet-flat:partition=clusters:depth=3",
    "stratified-online:partition=kd-tree:strata=8",
    "oasis:partition=clusters:strata=6",
])
def test_a_live_evaluation_cuts_by_the_features_of_its_spec_and_verifies(tmp_path, named):
    world = with_features(tmp_path, method=named)
    standing = world.run()
    assert standing.state == "finished"
    assert verify(world.store, "small").differences == ()
    cut = json.loads(world.store.get(next(k for k in world.store.keys("small/partitions") if "json" in k)))
    tree = method(named).feature_tree
    assert cut["edges"] == []
    assert 2 < len(set(cut["cells"]["stratum"])) <= tree.n_leaves == cut["cells"]["n_slots"]


def test_a_method_that_counts_strata_gets_a_binary_tree_of_at_least_as_many():
    for strata, leaves in ((2, 2), (6, 8), (8, 8), (33, 64)):
        assert binary_tree("kd-tree", strata).n_leaves == leaves
    assert binary_tree("csf", 8) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["dirichlet-tree", "dirichlet-tree-stochastic", "stratified", "oasis"])
def test_every_partition_is_nameable_in_every_stratified_method(kind, name):
    rng = np.random.default_rng(2)
    score, features = rng.normal(size=300), rng.normal(size=(300, 2))
    made = method(f"{name}:partition={kind}")
    partition, cell = build_partition(made, score, np.full(300, 0.5), (score > 1).astype(int), features)
    assert partition.cells.size.sum() == len(cell) == 300
    assert partition.cells.n_cells > 8


def _curve(folder, **changes):
    data = small_pool.spec_json(*small_pool.write_small_pool(folder), measure=["f1", "roc_auc"], **changes)
    data["pool"].pop("segments", None)
    return data


def _grades(folder, **changes):
    outcomes.write_grades(folder)
    return outcomes.spec_of("grades", folder, **changes)


def _systems(folder, **changes):
    systems.write_models(folder)
    return systems.spec_of_systems(folder, measure=["f1"], **changes)


TREE, STRATA = "dirichlet-tree:depth=2:partition=clusters", "stratified-neyman:partition=kd-tree:strata=4"
OF_KINDS = {
    "classes": (classes.pool_and_spec, TREE), "grades": (_grades, STRATA),
    "tags": (partial(outcomes.pool_and_spec, "tags"), STRATA),
    "number": (partial(outcomes.pool_and_spec, "number"), STRATA),
    "preference": (partial(outcomes.pool_and_spec, "preference"), TREE),
    "curve": (_curve, STRATA), "systems": (_systems, TREE),
}


@pytest.mark.parametrize("kind", OF_KINDS)
def test_labels_of_every_kind_are_asked_for_by_features_and_verify(tmp_path, kind):
    made, named = OF_KINDS[kind]
    data, tree = made(tmp_path, method=named), outcome_method(named).feature_tree
    pool = Path(data["pool"]["source"])
    rows = pd.read_csv(pool)
    rows["length"] = np.random.default_rng(1).normal(size=len(rows))
    rows.to_csv(pool, index=False)
    with pytest.raises(BadInput, match=r"pool.features is needed by the method"):
        Spec.from_json(data)
    spec, store = Spec.from_json(data | {"pool": data["pool"] | {"features": ["length"]}}), MemoryStore()
    begin_evaluation(store, spec)
    at_once = Patience(first=0.0, longest=0.0, in_all=0.0)
    assert drive(store, spec.name, patience=at_once).state == "finished"
    assert verify(store, spec.name).differences == ()
    cut = json.loads(store.get(next(k for k in store.keys(f"{spec.name}/partitions") if "json" in k)))
    length = rows["length"].to_numpy()[:, None]
    expected = np.bincount(tree.grown(length).leaves(length))
    if "slot" in cut:
        expected = expected[expected > 0]
        assert np.bincount(cut["slot"], weights=cut["size"]).tolist() == expected.tolist()
    else:
        assert cut["size"] == expected.tolist()


def test_strata_are_a_number_and_not_another_name_of_the_partition():
    assert method("stratified:strata=7").strata == 7
    with pytest.raises(UnknownName, match=r"no setting 'strata=geometric'; .*partition"):
        method("dirichlet-tree:strata=geometric")


def test_features_that_are_missing_are_asked_for_by_name(tmp_path):
    predictions, labels = write_small_pool(tmp_path)
    data = spec_json(predictions, labels, method="dirichlet-tree:partition=kd-tree")
    with pytest.raises(BadInput, match=r"pool.features.*cuts the pool by features.*partition=csf"):
        Spec.from_json(data)
    with pytest.raises(BadInput, match=r"^features: method .* cuts the pool by features and none are named"):
        build_partition(method("oasis:partition=kd-tree"), np.ones(3), np.ones(3), np.ones(3, int))


def test_a_feature_that_is_no_number_is_named(tmp_path):
    predictions, labels = write_small_pool(tmp_path)
    data = spec_json(predictions, labels, method="dirichlet-tree:partition=kd-tree")
    data["pool"]["features"] = ["region"]
    world = World(tmp_path / "elsewhere")
    world.spec = Spec.from_json(data)
    with pytest.raises(BadInput, match="column 'region': values are not finite numbers: row 1: 'south'"):
        world.run()


def test_a_spec_without_features_is_recorded_as_before(tmp_path):
    predictions, labels = write_small_pool(tmp_path)
    assert "features" not in Spec.from_json(spec_json(predictions, labels)).to_json()["pool"]


def test_a_replay_takes_features_and_says_which_column_it_lacks(tmp_path, capsys):
    rng = np.random.default_rng(3)
    score = rng.normal(size=120)
    lines = [f"i{i},{s:.4f},{int(s > 0.5)},{int(s + rng.normal() > 1)},{rng.normal():.3f}"
             for i, s in enumerate(score)]
    pool = tmp_path / "pool.csv"
    pool.write_text("\n".join(["item_id,score,prediction,label,width", *lines]))
    asked = ["replay", str(pool), "--method", "dirichlet-tree:partition=kd-tree:depth=3", "--repeats", "4",
             "--budgets", "20,120", "--json"]
    assert run_command_line([*asked, "--features", "width"]) == 0
    assert json.loads(capsys.readouterr().out)["methods"][0]["budgets"][1]["mse"] == 0
    assert run_command_line([*asked, "--features", "height"]) == 2
    assert "no column 'height'" in capsys.readouterr().out
    assert run_command_line(asked) == 2
    assert "--features" in capsys.readouterr().out


@pytest.mark.parametrize(("outcome", "measure"), [
    (None, "f1"), (None, "roc_auc"), ("classes", "accuracy"), ("number", "mae"),
])
def test_a_replay_of_any_kind_takes_features(outcome, measure, tmp_path, capsys):
    rng = np.random.default_rng(3)
    score = rng.normal(size=80)
    rows = pd.DataFrame({
        "item_id": np.arange(80), "prediction": (score > 0).astype(int), "width": rng.normal(size=80),
        "label": (score + rng.normal(size=80) > 0).astype(int), **({} if outcome else {"score": score}),
    })
    named = "stratified:partition=kd-tree:strata=4"
    asked = {"measures": measure, "outcome": outcome, "budgets": [20], "repeats": 3}
    found = assay.replay(rows, features=["width"], methods=[named], **asked).to_dict()["methods"]
    with pytest.raises(BadInput, match=r"features: method .* cuts the pool by features and none are named"):
        assay.replay(rows, methods=[named], **asked)
    with pytest.raises(BadInput, match=r"features: are looked at by methods that cut .* not by 'passive'"):
        assay.replay(rows, features=["width"], methods="passive", **asked)
    pool = tmp_path / "pool.csv"
    rows.to_csv(pool, index=False)
    assert run_command_line([
        "replay", str(pool), "--measure", measure, *(["--outcome", outcome] if outcome else []), "--features",
        "width", "--json", "--method", named, "--budgets", "20", "--repeats", "3", "--processes", "1",
    ]) == 0
    told = json.loads(capsys.readouterr().out)["methods"]
    assert [one["budgets"][0]["mse"] for one in told] == [one["budgets"][0]["mse"] for one in found]
