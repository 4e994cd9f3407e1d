"""`assay replay`: an argument that cannot be used is called by the flag it came from."""

import pytest

from assay.flows.cli.main import run_command_line

COLUMNS = "item_id,score,prediction,label_probability"


@pytest.fixture
def pool(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("\n".join([COLUMNS, *(f"i{i},{i / 10},{int(i > 5)},0.{i % 9}" for i in range(20))]))
    return str(path)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--budgets", "20,10"], "--budgets: must be rising positive numbers, got [20, 10]"),
        (["--budgets", "10,40"], "--budgets: 40 labels are more than the pool's 20 items"),
        (["--method", "passive,passive"], "--method: the same one is named twice"),
        (["--measure", ""], "--measure: name at least one"),
        (["--annotators", "2"], "--annotators: must be an odd number, so that a majority is a label; got 2"),
        (["--method", "oasis:partition=kd-tree"], "--features: method 'oasis:partition=kd-tree' cuts"),
        (["--half-width", "0.1,-1"], "--half-width: must be positive numbers, got [0.1, -1.0]"),
        (["--half-width", "narrow"], "--half-width: 'narrow' is not a number; write them with commas"),
        (["--plot", "plot.pdf"], "--plot: plot.pdf: the name must end in .svg or .png"),
        (["--divergence"], "--divergence: needs one label an item, and the annotators of this pool differ"),
        (["--cluster", "prediction"], "curves, clusters and weights need one label of each item"),
        (["--annotators", "3", "--method", "dirichlet-tree-stochastic:requery=true"],
         "--annotators: is 1 where every draw asks anew"),
        (["--systems", "prediction"], "--systems: need the method 'recycle' alone"),
    ],
)
def test_the_flag_is_named(pool, capsys, flags, said):
    budgets = [] if "--budgets" in flags else ["--budgets", "10"]
    assert run_command_line(["replay", pool, "--repeats", "2", *budgets, *flags]) == 2
    assert said in capsys.readouterr().err
