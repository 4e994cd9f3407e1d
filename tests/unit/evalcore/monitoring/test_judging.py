"""From samples of a window to verdicts on its places; the evidence worked out by the core's own parts."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.rounds import SEGMENTS, a_round, four_items

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.betting import EFFECTS
from assay.evalcore.monitoring.evidence import WatchedMeasure, WindowSample
from assay.evalcore.monitoring.judging import DropRule, Rules, judge_places, judged_without_tests_alone
from assay.evalcore.monitoring.sizing import labels_to_ok
from assay.evalcore.monitoring.verdicts import Promise, WatchedLimit, evidence_by_window, family_evidence

PROMISE = Promise(error_rate=0.05)
RULES = Rules(floor=0.5, reference="w1", error_rate=0.05)
FLOOR = WatchedLimit(side="below", value=0.5, name="floor")
NORTH, SOUTH = 0, 1


def an_estimate(value, lower, upper, segment=None):
    return MeasureEstimate(
        measure="accuracy", value=value, undefined_reason=None, lower=lower, upper=upper, confidence=0.95,
        interval="ais-normal", labels=20, variance=0.01, segment=segment,
    )


def a_sample(labels, region=None, segments=None, ends=(0.45, 0.95), items=40):
    """`labels` of items predicted negative: 1 is an error; of so many items."""
    places = [None] + [f"region={name}" for name in (segments or {}).get("region", ())]
    return WindowSample(
        measured_by=WatchedMeasure(measure=measure("accuracy"), cells=of_size(items)), confidence=0.95,
        estimates=[an_estimate(sum(ends) / 2, *ends, place) for place in places],
        rounds=[a_larger_round(labels, region, items)],
        segments={} if segments is None else {"region": {"north": items // 2, "south": items // 2}},
    )


def of_size(items):
    """Half of so many items predicted negative, then half predicted positive."""
    return replace(four_items(), size=np.array([items // 2, items // 2]))


def a_larger_round(labels, region, items):
    """A round of such a pool."""
    one = a_round([0] * len(labels), labels, region=region)
    half = np.array([[items // 2, items // 2]])
    design = replace(one.plan.design, size=half, left=half, unlabelled=np.full((1, 2), 1 / items))
    return replace(one, plan=replace(one.plan, design=design))


def judged(window, sample, standing, rules=RULES, in_breach=()):
    return judge_places(rules, window, sample, standing, in_breach)


def places_of(window):
    pool, segments = window
    return {place.segment: place for place in (pool, *segments)}


def test_the_evidence_is_a_fold_over_the_windows_in_the_order_they_were_first_judged():
    bad, good = a_sample([1] * 8), a_sample([0] * 4)
    first = judged("w1", bad, {})
    second = judged("w2", good, {"w1": places_of(first)})
    expected = evidence_by_window(
        PROMISE, [bad.log_factors(FLOOR, None, PROMISE), good.log_factors(FLOOR, None, PROMISE)]
    )
    assert [first[0].evidence[0], second[0].evidence[0]] == pytest.approx([x.evidence for x in expected])
    assert first[0].needed == pytest.approx(np.log(20))
    # judged again with other labels, the first window takes the place it had
    again = judged("w1", good, {"w1": places_of(first), "w2": places_of(second)})
    alone = evidence_by_window(PROMISE, [good.log_factors(FLOOR, None, PROMISE)])
    assert again[0].evidence[0] == pytest.approx(alone[0].evidence)


def test_enough_wrong_labels_are_a_breach_and_few_are_not():
    assert judged("w1", a_sample([1] * 20, items=400), {})[0].verdict == "breach"
    assert judged("w1", a_sample([1]), {})[0].verdict == "inconclusive"
    assert judged("w1", a_sample([0], ends=(0.6, 0.9)), {})[0].verdict == "ok"


def test_of_methods_whose_intervals_fail_ok_takes_evidence_of_the_draws_too():
    above = a_sample([0] * 6, ends=(0.6, 0.9), items=4000)
    assert judged("w1", above, {})[0].verdict == "ok"
    place = judged("w1", replace(above, ok_by_interval=False), {})[0]
    assert place.verdict == "inconclusive"
    assert 0 < place.kept[0] < np.log(40)
    more = labels_to_ok(place, 4000)
    assert more == int(np.ceil(20 * (np.log(40) / place.kept[0] - 1)))   # the evidence grows with the labels
    many = a_sample([0] * 60, ends=(0.6, 0.9), items=4000)
    assert judged("w1", replace(many, ok_by_interval=False), {})[0].verdict == "ok"
    assert labels_to_ok(judged("w1", many, {})[0], 4000) is None
    # and evidence that its limit is kept is the same bet from the other side: 1 in 40 wins it by chance
    assert judged("w1", replace(above, ok_by_interval=False, settled=True), {})[0].kept == (None,)


def test_a_breach_that_stands_is_confirmed_by_the_interval_alone():
    below = a_sample([0], ends=(0.2, 0.4))
    assert judged("w1", below, {})[0].verdict == "inconclusive"
    assert judged("w1", below, {}, in_breach={None})[0].verdict == "breach"


def test_evidence_of_several_limits_is_said_on_the_scale_of_the_whole_rate():
    # each of two limits has half of the rate: its evidence must be log 2 larger for an alarm
    both = Rules(floor=0.5, ceiling=0.99, reference="w1", error_rate=0.05)
    sample = a_sample([1] * 3)
    alone, half = judged("w1", sample, {}), judged("w1", sample, {}, both)
    assert half[0].evidence[0] == pytest.approx(alone[0].evidence[0] - np.log(2))


def test_segments_are_one_family_with_half_of_the_error_rate():
    sample = a_sample([1] * 20 + [0], [NORTH] * 20 + [SOUTH], SEGMENTS, items=400)
    pool, (north, south) = judged("w1", sample, {})
    half, each = Promise(error_rate=0.025), Promise(error_rate=0.0125)
    found = family_evidence(half, [{
        place: sample.log_factors(FLOOR, place, each)
        for place in ("region=north", "region=south")
    }])[0]
    assert (north.segment, south.segment) == ("region=north", "region=south")
    assert north.evidence[0] == pytest.approx(found["region=north"].evidence)
    assert south.evidence[0] == pytest.approx(found["region=south"].evidence)
    assert north.needed == pytest.approx(np.log(2 / 0.025))
    assert (north.verdict, south.verdict) == ("breach", "inconclusive")
    alone = evidence_by_window(half, [sample.log_factors(FLOOR, None, half)])
    assert pool.evidence[0] == pytest.approx(alone[0].evidence - np.log(2))   # the pool has the other half


def test_a_window_alone_is_a_breach_and_a_monitor_that_began_without_goes_on_without():
    # after a quiet window the bets would need 14 wrong labels more
    quiet, wrong = a_sample([0] * 12, items=4000), a_sample([1] * 14, items=4000)

    def second(rules):
        first = judged("w1", quiet, {}, rules)
        return judged("w2", wrong, {"w1": places_of(first)}, rules)[0]

    alone = second(RULES)
    assert alone.factors[0][-1] == pytest.approx(-np.log(PROMISE.level_alone))
    assert (alone.verdict, alone.evidence[0]) == ("breach", pytest.approx(alone.needed, abs=1e-8))
    without = second(replace(RULES, alone="none"))
    assert (len(without.factors[0]), without.verdict) == (len(EFFECTS), "inconclusive")
    bets = evidence_by_window(PROMISE, [quiet.log_factors(FLOOR, None), wrong.log_factors(FLOOR, None)])
    assert without.evidence[0] == pytest.approx(bets[1].evidence)
    assert judged_without_tests_alone([alone, without])
    assert not judged_without_tests_alone([alone])


def test_draws_of_follow_ups_do_not_count_for_a_window_alone():
    few, all_ = a_sample([0] * 8, items=4000), a_sample([0] * 8 + [1] * 40, items=4000)
    assert all_.log_factors(FLOOR, None, PROMISE)[-1] > 0
    assert replace(all_, planned=8).log_factors(FLOOR, None, PROMISE)[-1] == few.log_factors(
        FLOOR, None, PROMISE)[-1] < 0


def test_a_drop_is_counted_from_what_is_sure_of_the_window_before_in_segments_too():
    rules = Rules(drop=DropRule(by=0.0, than="previous"), reference="w1", error_rate=0.05)
    first = judged("w1", a_sample([0] * 30, [NORTH, SOUTH] * 15, SEGMENTS, items=400), {}, rules)
    assert first[0].limits == ()
    assert first[0].sure is not None
    pool, segments = judged("w2", a_sample([0, 1], [NORTH, SOUTH], SEGMENTS), {"w1": places_of(first)}, rules)
    assert pool.limits == (WatchedLimit(side="below", value=first[0].sure, name="previous"),)
    assert [place.limits[0].value for place in segments] == [place.sure for place in first[1]]
    # a floor needs no such thing
    assert judged("w1", a_sample([0]), {})[0].sure is None


def test_a_verdict_says_what_its_evidence_is_made_of():
    assert judged("w1", a_sample([0]), {})[0].source == "draws"
