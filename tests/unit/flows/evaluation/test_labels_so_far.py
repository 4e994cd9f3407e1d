"""Labels that are there before an evaluation begins: they are its first round, and nobody is asked."""

import csv

import numpy as np
import pytest
from doubles.fuses import Fuse, Fused, PowerCut
from doubles.outcomes import pool_and_spec
from doubles.small_pool import spec_json, write_small_pool

import assay
from assay.evalcore.errors import BadInput
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.ahead import read_outlook
from assay.flows.record.fold import fold
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.asked_round import read_plan, read_posts
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.price import outlook_lines
from assay.tasks.spec.evaluation import Spec

HELD, BOUGHT = 30, 40
WITHOUT_TIMES = ("times.json", "identity.json", "/posts/", "/log/", "index/", "desks/", "seal.json")


def _hold(folder, drawn, seed=1):
    """A file of the labels of some items of the pool; with their chances, unless drawn at random."""
    with (folder / "labels.csv").open() as opened:
        rows = list(csv.DictReader(opened))
    rng = np.random.default_rng(seed)
    chance = np.where(np.arange(len(rows)) % 2, 0.05, 0.25)
    kept = rng.choice(len(rows), HELD, replace=False) if drawn == "random" else \
        np.flatnonzero(rng.random(len(rows)) < chance)
    with (folder / "held.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "label", "inclusion_probability"])
        writer.writerows([rows[i]["item_id"], rows[i]["label"], chance[i]] for i in kept)
        writer.writerow(["another", rows[0]["label"], 0.5])      # not of the pool
        if not any("|" in row["label"] for row in rows):     # of tags an empty text is a label
            writer.writerow([rows[0]["item_id"], "", ""])
    chances = {"drawn": "random"} if drawn == "random" else {"weight": "inclusion_probability"}
    return len(kept), {"source": str(folder / "held.csv"), **chances}


def _spec(kind, folder, drawn="random", **changes):
    if kind == "two classes":
        data = spec_json(*write_small_pool(folder, n=200), budget={"labels": BOUGHT}, method="passive")
    else:
        data = pool_and_spec(kind, folder, budget={"labels": BOUGHT})
    n_held, held = _hold(folder, drawn)
    if drawn != "random":
        data["method"] = "auto"
    return n_held, Spec.from_json({**data, "labels_so_far": held, **changes})


@pytest.mark.parametrize("drawn", ["random", "weight"])
@pytest.mark.parametrize("kind", ["two classes", "number", "tags"])
def test_they_are_the_first_round_and_the_budget_counts_what_is_bought(kind, drawn, tmp_path):
    n_held, spec = _spec(kind, tmp_path, drawn)
    store = MemoryStore()
    opened = begin_evaluation(store, spec)
    standing = advance(store, spec.name)
    assert (standing.labels, standing.known_before) == (n_held + BOUGHT, n_held)
    ledger = Ledger(store, spec.name)
    planned = read_plan(ledger, 1)
    assert planned.plan.design.held
    assert (planned.to_people(), read_posts(ledger, 1)) == ([], [])
    assert {row.reason for row in read_labels(ledger, 1)} == {"reused"}
    assert not read_plan(ledger, 2).plan.design.held
    assert len(np.unique(planned.plan.probability)) == (1 if drawn == "random" else 2)
    asked = [item for number in range(1, standing.rounds + 1) for item in read_plan(ledger, number).item_id]
    assert len(set(asked)) == len(asked) == n_held + BOUGHT
    assert verify(store, spec.name).differences == ()
    (note,) = report_data(opened, standing).notes
    assert note.startswith(f"{n_held} labels of the pool were there before (")
    empty = "" if kind == "tags" else "; 1 row has no label"
    assert note.endswith(f"Left out: 1 label is not of the pool{empty}.")


def test_wherever_it_is_killed_it_goes_on_to_the_same_record(tmp_path):
    _, spec = _spec("number", tmp_path, batch_size=20, measure="mae")

    def live(fuse):
        store = MemoryStore()
        try:
            begin_evaluation(Fused(store, fuse), spec)
            advance(Fused(store, fuse), spec.name)
        except PowerCut:
            begin_evaluation(store, spec)
            advance(store, spec.name)
        return store

    whole = Fuse()
    expected = _decided(live(whole))
    begun = next(n for n, name in enumerate(whole.effects, 1) if "held-" in name)
    first = next(n for n, name in enumerate(whole.effects, 1) if "rounds/0001/seal" in name)
    for at in (begun, *range(begun + 2, first + 1, 5), len(whole.effects) - 2):
        assert _decided(live(Fuse(at, "after"))) == expected, whole.effects[at - 1]


def _decided(store):
    return {key: store.get(key) for key in store.keys("") if not any(part in key for part in WITHOUT_TIMES)}


@pytest.mark.parametrize(("held", "changes", "message"), [
    ({}, {}, r"labels_so_far needs `drawn: random` \(.*\) or `weight`, .* has neither"),
    ({"drawn": "unknown"}, {}, "no interval holds .* Give them as `warm_start"),
    ({"drawn": "random", "weight": "w"}, {}, "and has both"),
    ({"drawn": "random"}, {"method": "dirichlet-tree"}, "method is 'dirichlet-tree', .*: passive, st"),
    ({"weight": "w"}, {"method": "passive"}, "'model-assisted' alone goes on"),
    ({"drawn": "random"}, {"outcomes": {"source": "x.csv"}}, "outcomes come to items by themselves"),
])
def test_what_cannot_be_gone_on_from_is_refused(held, changes, message, tmp_path):
    data = spec_json(tmp_path / "p.csv", tmp_path / "l.csv", method="auto")
    with pytest.raises(BadInput, match=message):
        Spec.from_json({**data, "labels_so_far": held, **changes})


@pytest.mark.parametrize(("rows", "held", "message"), [
    ([("another", "match", 1)], {"drawn": "random"}, "none of its 1 label is of an item of the pool"),
    ([("item-0001", "match", 1), ("item-0001", "no match", 1)], {"drawn": "random"}, "two different labels"),
    ([("item-0001", "maybe", 1)], {"drawn": "random"}, "'maybe' is none of the classes"),
    ([("item-0001", "match", "")], {"weight": "chance"}, "'item-0001' has a label and no value; give its ch"),
    ([("item-0001", "match", 3)], {"weight": "a_probability"}, "every value is a chance above 0"),
    ([("item-0001", "match", 1), ("", "match", 1)], {"drawn": "random"}, "row 2 has a label and no id in "),
    ([("item-0001", "match", 1), (" ", "match", 1)], {"weight": "chance"}, "row 2 has a label and no id"),
    ([("item-0001", "match", 1)], {"drawn": {"strata": "regoin"}}, "no column 'regoin'"),
    ([("item-0001", "match", 1)], {"drawn": {"strata": "item_id"}}, "stratum 'item-0.*' .* has no label"),
])
def test_a_file_of_held_labels_that_cannot_be_used_is_refused(rows, held, message, tmp_path):
    spec = spec_json(*write_small_pool(tmp_path, n=60), budget={"labels": 10}, method="auto")
    with (tmp_path / "held.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "label", held.get("weight", "w")])
        writer.writerows(rows)
    spec = Spec.from_json({**spec, "labels_so_far": {"source": str(tmp_path / "held.csv"), **held}})
    with pytest.raises(BadInput, match=message):
        begin_evaluation(MemoryStore(), spec)


def test_rows_that_say_nothing_new_are_counted_and_named(tmp_path, caplog):
    spec = spec_json(*write_small_pool(tmp_path, n=60), budget={"labels": 10}, method="passive")
    rows = [("item-0001", "match"), ("item-0001", "match"), ("item-0002", "no match"), ("item-0003", " "),
            ("item-0004", "n/a"), ("", ""), ("gone", "match")]
    with (tmp_path / "held.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows([("item_id", "label"), *rows])
    spec = Spec.from_json({**spec, "labels_so_far": {"source": str(tmp_path / "held.csv"),
                                                     "drawn": "random"}})
    store = MemoryStore()
    opened = begin_evaluation(store, spec)
    says = "1 label is not of the pool; 1 row repeats a label; 2 rows have no label"
    assert f"{says}, left out" in caplog.text
    (note,) = report_data(opened, advance(store, spec.name)).notes
    assert note.startswith("2 labels of the pool were there before (")
    assert note.endswith(f"Left out: {says}.")


def test_labels_that_no_measure_looks_at_are_named(tmp_path):
    n_held, spec = _spec("two classes", tmp_path, measure="precision", budget={"labels": 2})
    store = MemoryStore()
    opened = begin_evaluation(store, spec)
    standing = advance(store, spec.name)
    idle = n_held - standing.known_before
    assert idle > 1
    assert f"{idle} labels are of items that no measure looks at." in report_data(opened, standing).notes[0]


def test_samples_of_strata_from_a_spec_and_from_python(tmp_path):
    rng = np.random.default_rng(4)
    region = np.where(np.arange(400) < 100, "north", "south")
    number = np.where(region == "north", 4.0, 2.0) + rng.normal(0, 0.5, 400)
    kept = {*rng.choice(100, 30, replace=False), *(100 + rng.choice(300, 15, replace=False))}
    rows = [
        {"item_id": f"r{i}", "region": region[i], "judge": number[i] + rng.normal(0, 0.4),
         "human": str(number[i]) if i in kept else "", "truth": str(number[i])}
        for i in range(400)
    ]
    asked = {"outcome": {"number": {"min": 0, "max": 6}}, "judge": "judge", "measures": "mean", "budget": 20,
             "target": {}}
    held = {"label": "human", "drawn": {"strata": "region"}}
    evaluation = assay.begin(rows, **asked, labels_so_far=held, name="a", store=str(tmp_path / "a"))
    evaluation.ask()
    result = evaluation.result
    by_hand = [row | {"a_probability": 0.3 if row["region"] == "north" else 0.05} for row in rows]
    other = assay.begin(by_hand, **asked, labels_so_far={"label": "human", "weight": "a_probability"})
    other.ask()
    other = other.result
    assert (result.value, result.lower) == pytest.approx((other.value, other.lower), abs=1e-9)
    assert result.lower < number.mean() < result.upper
    assert "each stratum of 'region'" in evaluation.report_data().notes[0]
    assert verify(evaluation._store, evaluation.name).differences == ()


def test_from_python_in_the_same_words():
    rng = np.random.default_rng(2)
    label = rng.integers(1, 6, 150)
    frame = {"judge": label + rng.normal(0, 0.5, 150), "human": [None] * 150, "truth": label}
    held = np.sort(rng.choice(150, 40, replace=False)).tolist()
    frame["human"] = [str(label[i]) if i in held else "" for i in range(150)]
    rows = [dict(zip(frame, row, strict=True)) for row in zip(*frame.values(), strict=True)]
    asked = {"outcome": {"number": {"min": 1, "max": 5}}, "judge": "judge", "measures": "mean", "budget": 20}
    evaluation = assay.begin(rows, **asked, labels_so_far={"label": "human", "drawn": "random"})
    batch = evaluation.ask()
    assert not set(batch["item_id"].to_pylist()) & set(held)
    assert evaluation.result.labels == 40


@pytest.mark.parametrize(("judge", "drawn", "message"), [
    ("copy", "random", "labels_so_far: .*: judge: column 'copy' guesses 40 rows with a label, "
     "and none without"),
    ("half", "random", "column 'half' says nothing of .* of 110 rows without a label"),
    ("half", {"strata": "side"}, "column 'half' says nothing of .* of 110 rows without a label"),
    ("human", "random", "judge names column 'human', which labels_so_far.label says is that of the labels"),
])
def test_a_judge_that_knows_who_is_labelled_is_refused(judge, drawn, message):
    rng = np.random.default_rng(2)
    label, side = rng.normal(3, 1, 150), np.arange(150) % 2
    held = np.isin(np.arange(150), rng.permutation(150)[:40])
    rows = [
        {"human": value if known else None, "copy": value if known else None, "side": "lr"[at],
         "half": value + 0.1 if known or at else None}
        for value, known, at in zip(label.tolist(), held.tolist(), side.tolist(), strict=True)
    ]
    with pytest.raises(BadInput, match=message):
        assay.begin(rows, outcome="number", judge=judge, measures="mean", budget=20,
                    labels_so_far={"label": "human", "drawn": drawn})


def test_a_judge_of_one_of_several_questions_that_knows_who_is_labelled_is_refused():
    rng = np.random.default_rng(2)
    held = np.isin(np.arange(150), rng.permutation(150)[:40])
    rows = [
        {"tone": 1.0 if known else None, "pace": float(at) if known else None, "guess": at + 0.5,
         "copy": 1.0 if known else None} for at, known in enumerate(held.tolist())
    ]
    with pytest.raises(BadInput, match="judge: column 'copy' guesses 40 rows with a label, and none without"):
        assay.begin(rows, outcome=[
            {"name": "pace", "number": {"min": 0, "max": 200}, "judge": ["guess"], "measure": "mean"},
            {"name": "tone", "number": {"min": 0, "max": 200}, "judge": ["copy"], "measure": "mean"},
        ], budget=20, labels_so_far={"drawn": "random"})


@pytest.mark.parametrize("kind", ["two classes", "number"])
@pytest.mark.parametrize("drawn", ["random", "weight"])
def test_the_forecast_before_the_first_round_counts_them(kind, drawn, tmp_path):
    n_held, spec = _spec(
        kind, tmp_path, drawn, budget={"labels": 90}, batch_size=25,
        target={"half_width": 0.6 if kind == "number" else 0.1},
    )
    store = MemoryStore()
    opened = begin_evaluation(store, spec)
    ahead = read_outlook(opened, current_standing(opened))
    assert (ahead.budget, ahead.before) == (90, n_held)
    assert (ahead.target.horizon, ahead.target.labels_now) == (90 + n_held, n_held)
    (words, *_) = outlook_lines(ahead)
    assert "cannot be met" not in words
    assert not [key for key in store.keys("") if "/rounds/" in key]       # nothing was planned for it
    assert f"the budget of 90 labels and the {n_held} that were there before" in words \
        or "takes about" in words
    folded = fold(opened.ledger, opened.statistics)
    assert folded.state.round == 0
