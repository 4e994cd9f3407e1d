"""What moves a judge: the plane of the pool by weights, levels against the rest, and what cannot be told."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.weighted.judge_audit import audit_of_judge, calibration_of
from assay.evalcore.weighted.judge_effects import Feature, distances, judge_effects
from assay.evalcore.weighted.judges import Judge, JudgedPool
from assay.evalcore.weighted.sample import WeightedSample
from assay.tasks.weighted.columns import feature_of_texts

RNG = np.random.default_rng(9)
N = 120
WEIGHT = 1 + 9 * RNG.random(N)
LABEL = RNG.normal(10, 2, N)
LENGTH = RNG.gamma(2, 50, N)
SIDE = np.where(RNG.random(N) < 0.4, "left", "right")
SAID = LABEL + 0.01 * LENGTH + 0.5 * (SIDE == "left") + RNG.normal(0, 0.3, N)
NUMBER = Numbers()


def a_pool(kind=NUMBER, label=LABEL, weight=WEIGHT, exact=False, positive=None, items=None):
    n, none = len(label), np.zeros(len(label), np.int64)
    sample = WeightedSample(
        cell=none, rank=np.arange(n), round=none + 1, draw=np.arange(n), label=label, probability=1 / weight,
        weight=weight, factor=weight * (weight - 1), group=none - 1, reached=np.array([True]), exact=exact,
    )
    items = Items(prediction=np.zeros((n, 0))) if items is None else items
    return JudgedPool(kind=kind, sample=sample, items=items, size=1000, positive=positive)


def a_judge(said=SAID, kind=NUMBER, **more):
    return Judge(name="judge", codes=said, phi=kind.phi(said), **more)


def effects(*features, pool=None, judge=None, **more):
    told = judge_effects(pool or a_pool(**more), [judge or a_judge()], features, 0.95)
    return {(e.figure, e.feature, e.level): e for e in told.effects}, told


length, side = Feature(name="length", number=LENGTH), Feature(name="side", level=SIDE.tolist())


def test_figures_are_those_of_weighted_least_squares():
    told, _ = effects(length, side)
    x = np.stack([np.ones(N), LENGTH, SIDE == "left"], axis=1).astype(float)
    root = np.sqrt(WEIGHT)[:, None]
    slope = np.linalg.lstsq(x * root, (SAID - LABEL) * root[:, 0], rcond=None)[0]
    by_length, by_side = told["shift", "length", None], told["shift", "side", "left"]
    mean = np.average(LENGTH, weights=WEIGHT)
    assert by_length.step == pytest.approx(np.sqrt(np.average((LENGTH - mean) ** 2, weights=WEIGHT)))
    assert by_length.value == pytest.approx(slope[1] * by_length.step)
    assert by_side.value == pytest.approx(slope[2])
    assert by_length.beyond_chance
    assert by_side.beyond_chance
    assert set(told) == {("shift", "length", None), ("shift", "side", "left"), ("distance", "length", None),
                         ("distance", "side", "left")}


def test_a_level_alone_is_a_difference_of_weighted_means():
    level = np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]
    told, _ = effects(Feature(name="level", level=level.tolist()))
    d = SAID - LABEL
    for one in "abc":
        at = level == one
        expected = np.average(d[at], weights=WEIGHT[at]) - np.average(d[~at], weights=WEIGHT[~at])
        assert told["shift", "level", one].value == pytest.approx(expected)
        assert told["shift", "level", one].labels == at.sum()


def test_weights_of_items_count_too_and_a_census_is_exact():
    own = 1 + RNG.random(N)
    items = Items(prediction=np.zeros((N, 0)), weight=own[:, None])
    told, _ = effects(side, items=items, weight=np.ones(N), exact=True)
    d, at = SAID - LABEL, SIDE == "left"
    one = told["shift", "side", "left"]
    inside, outside = (np.average(d[here], weights=own[here]) for here in (at, ~at))
    assert one.value == pytest.approx(inside - outside)
    assert (one.interval, one.lower, one.upper) == ("exact", one.value, one.value)


def test_more_figures_make_wider_intervals():
    alone, _ = effects(length)
    noise = Feature(name="noise", number=RNG.normal(size=N))
    beside, _ = effects(length, noise)
    one, two = (found["shift", "length", None] for found in (alone, beside))
    assert two.upper - two.lower > one.upper - one.lower


def test_what_cannot_be_told_has_a_reason():
    rare = ["rare"] * 3 + SIDE[3:].tolist()
    told, _ = effects(
        Feature(name="rare", level=rare), Feature(name="same", level=["x"] * N), length,
        Feature(name="twice", number=2 * LENGTH + 1), Feature(name="constant", number=np.full(N, 7.0)),
    )
    reasons = {key[1:]: e.undefined_reason for key, e in told.items() if key[0] == "shift"}
    assert reasons["rare", "rare"] == "it needs 5 labels, and there are 3"
    assert reasons["rare", "left"] is None
    assert reasons["same", None] == reasons["constant", None] == "it is the same for all labelled items"
    assert "follows from the features before it" in reasons["twice", None]
    assert reasons["length", None] is None
    few, _ = effects(Feature(name="length", number=LENGTH[:9]), label=LABEL[:9], weight=WEIGHT[:9],
                     judge=a_judge(SAID[:9]))
    assert "9 labels carry too little" in few["shift", "length", None].undefined_reason
    never, _ = effects(length, judge=a_judge(LABEL))
    assert "never differ" in never["shift", "length", None].undefined_reason


def test_items_without_a_number_or_a_word_of_the_judge_are_left_out():
    gaps = np.where(np.arange(N) < 10, np.nan, LENGTH)
    silent = np.arange(N) >= 20
    told, whole = effects(Feature(name="length", number=gaps), judge=a_judge(among=silent))
    assert told["shift", "length", None].labels == N - 20
    assert whole.notes == ("10 labelled items without a number under 'length' are left out of all figures",)


def test_distances_by_kind_of_outcome():
    grades = Classes(("1", "2", "5"), (1.0, 2.0, 5.0))
    [shift, distance] = distances(grades, None, np.array([0.0, 2.0]), np.array([2.0, 1.0]))
    assert (shift[1].tolist(), distance[1].tolist(), shift[2]) == ([4.0, -3.0], [4.0, 3.0], 1.0)
    two = Classes(("no", "yes"))
    [shift, distance] = distances(two, "yes", np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]))
    assert (shift[1].tolist(), distance[1].tolist()) == ([1.0, -1.0, 0.0], [1.0, 1.0, 0.0])
    for kind in (Classes(("a", "b", "c")), Tags(("a", "b"))):
        [(name, values, least)] = distances(kind, None, np.array([0.0, 1.0]), np.array([2.0, 1.0]))
        assert (name, values.tolist(), least) == ("distance", [1.0, 0.0], 1.0)


def test_columns_of_text_are_numbers_or_levels():
    assert feature_of_texts("place", ["1", "2", "1"]).level == ["1", "2", "1"]
    numbers = feature_of_texts("length", [*map(str, range(6)), ""]).number
    assert np.isnan(numbers[-1])
    assert numbers[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert feature_of_texts("format", ["a", "", "nan"]).level == ["a", "", "nan"]
    with pytest.raises(BadInput, match="21 different values"):
        feature_of_texts("id", [f"i{n}" for n in range(21)])


def test_a_calibration_rises_and_its_audit_is_a_mean_of_differences():
    grades = Classes(("1", "2", "3"), (1.0, 2.0, 3.0))
    said = np.array([0.0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2])
    label = np.array([0.0, 0, 1, 0, 1, 1, 0, 2, 2, 2, 1, 2])
    weight = np.ones(12)
    old = a_pool(grades, label, weight, exact=True)
    made = calibration_of(old, a_judge(said, grades))
    # the means of grades are 4/3, 3/2 and 14/5
    assert made.lines[0].calibrated(np.array([1.0, 2.0, 3.0])) == pytest.approx([4 / 3, 1.5, 2.8])
    new_label = np.array([0.0, 0, 0, 0, 1, 1, 0, 2, 2, 2, 1, 0])
    new = a_pool(grades, new_label, weight, exact=True)
    audit = audit_of_judge(made, new, a_judge(said, grades), margin=0.3, confidence=0.95)
    assert audit.lines[0].value == pytest.approx((1 + 2) / 12)
    assert audit.verdict == "pass"
    assert audit_of_judge(made, new, a_judge(said, grades), margin=0.2, confidence=0.95).verdict == "fail"
    with pytest.raises(BadInput, match="same labels"):
        audit_of_judge(made, a_pool(Classes(("1", "2")), new_label % 2), a_judge(said, grades), margin=1.0,
                       confidence=0.95)


def test_each_of_several_classes_has_a_line_and_all_must_pass():
    kind = Classes(("a", "b", "c"))
    label = RNG.integers(0, 3, 300).astype(float)
    said = np.where(RNG.random(300) < 0.2, (label + 1) % 3, label)
    pool = a_pool(kind, label, np.full(300, 3.0))
    made = calibration_of(pool, a_judge(said, kind))
    assert [line.part for line in made.lines] == ["a", "b", "c"]
    shifted = np.where((label == 0) & (RNG.random(300) < 0.7), 1.0, label)
    audit = audit_of_judge(
        made, a_pool(kind, shifted, np.full(300, 3.0)), a_judge(said, kind), margin=0.1, confidence=0.95
    )
    assert [line.verdict for line in audit.lines] == ["fail", "fail", "pass"]
    assert (audit.verdict, audit.more_labels) == ("fail", None)


def test_too_few_labels_make_no_calibration():
    with pytest.raises(BadInput, match="too few to calibrate"):
        calibration_of(a_pool(label=LABEL[:5], weight=WEIGHT[:5]), a_judge(SAID[:5]))
