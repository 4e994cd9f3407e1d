"""Cutting a pool by features, by name: in a spec, live, in a replay; and what is said when it cannot be."""

import json

import numpy as np
import pytest
from doubles.small_pool import spec_json, write_small_pool
from doubles.world import World

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.partition import binary_tree, build_partition
from assay.flows.cli.main import run_command_line
from assay.flows.verify.ledger import verify
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
