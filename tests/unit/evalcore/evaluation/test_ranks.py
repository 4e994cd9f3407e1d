"""Ranks that hold together, tiers, and which system to ship: worked by hand."""

import pytest

from assay.evalcore.evaluation.estimate import Band, Comparison, MeasureEstimate
from assay.evalcore.evaluation.ranks import Contest, system_ranks
from assay.tasks.report.ranks import rank_in_words, ranks_in_words, shipping_in_words

HIGHER, LOWER = Contest(is_error=False), Contest(is_error=True)


def row(system, value, *, versus=None, ends=None, band=None, measure="accuracy", interval="normal"):
    comparison = None if versus is None else Comparison(
        verdict="open", lower=ends[0], upper=ends[1], together=3, chance_better=None, more_labels=None
    )
    return MeasureEstimate(
        measure=measure, system=system, versus=versus, value=value, lower=value - 0.01, upper=value + 0.01,
        confidence=0.95, interval=interval, labels=100, comparison=comparison,
        band=None if band is None else Band(lower=band[0], upper=band[1]),
    )


def levels(**values):
    return [row(name, value) for name, value in values.items()]


def places(ranks):
    return {place.system: (place.best, place.worst, place.tier) for place in ranks.systems}


def test_pairs_that_are_decided_narrow_ranks_and_make_tiers():
    rows = [*levels(a=0.9, b=0.88, c=0.7),
            row("b", -0.02, versus="a", ends=(-0.06, 0.02)), row("c", -0.2, versus="a", ends=(-0.3, -0.1)),
            row("c", -0.18, versus="b", ends=(-0.28, -0.08))]
    ranks = system_ranks(rows, HIGHER)
    assert places(ranks) == {"a": (1, 2, 1), "b": (1, 2, 1), "c": (3, 3, 2)}
    assert [place.system for place in ranks.systems] == ["a", "b", "c"]
    assert ranks_in_words(ranks).endswith("a 1 to 2, b 1 to 2, c 3.")
    # of an error the same differences say the opposite
    assert places(system_ranks(rows, LOWER)) == {"a": (2, 3, 2), "b": (2, 3, 2), "c": (1, 1, 1)}


def test_differences_from_a_baseline_bound_every_two():
    # b - a ≥ 0.1 and c - a ≤ -0.1, so b - c ≥ 0.2; d is open against a, and d - b ≤ 0.05 - 0.1
    rows = [*levels(a=0.7, b=0.9, c=0.5, d=0.7),
            row("b", 0.2, versus="a", ends=(0.1, 0.3)), row("c", -0.2, versus="a", ends=(-0.3, -0.1)),
            row("d", 0.0, versus="a", ends=(-0.05, 0.05))]
    assert places(system_ranks(rows, HIGHER)) == {
        "b": (1, 1, 1), "a": (2, 3, 2), "d": (2, 3, 2), "c": (4, 4, 3)
    }


def test_systems_whose_intervals_hold_together_are_ranked_by_them():
    bands = {"a": (0.85, 0.95), "b": (0.7, 0.86), "c": (0.4, 0.6)}
    rows = [row(name, sum(band) / 2, band=band) for name, band in bands.items()]
    assert places(system_ranks(rows, HIGHER)) == {"a": (1, 2, 1), "b": (1, 2, 1), "c": (3, 3, 2)}


def test_what_is_equal_for_certain_has_one_rank():
    rows = [*levels(a=0.8, b=0.8, c=0.9), row("b", 0.0, versus="a", ends=(0.0, 0.0)),
            row("c", 0.1, versus="a", ends=(0.1, 0.1)), row("c", 0.1, versus="b", ends=(0.1, 0.1))]
    assert places(system_ranks(rows, HIGHER)) == {"c": (1, 1, 1), "a": (2, 2, 2), "b": (2, 2, 2)}


def test_where_nothing_holds_together_or_is_compared_there_are_no_ranks():
    assert system_ranks(levels(a=0.9, b=0.8), HIGHER) is None
    assert system_ranks([], HIGHER) is None
    assert system_ranks([row(None, 0.9)], HIGHER) is None
    unknown = [*levels(a=0.9, b=0.8), row("b", -0.1, versus="a", ends=(None, None))]
    assert places(system_ranks(unknown, HIGHER)) == {"a": (1, 2, 1), "b": (1, 2, 1)}


@pytest.mark.parametrize(("margin", "prices", "said"), [
    (0.02, {"a": 4, "b": 1}, "Ship b: not worse than a by more than 0.02, at a quarter of the price."),
    (0.02, {"a": 10, "b": 6}, "Ship b: not worse than a by more than 0.02, at 60% of the price."),
    (0.02, {"a": 2, "b": 1}, "Ship b: not worse than a by more than 0.02, at half the price."),
    (0.005, {"a": 4, "b": 1}, "Ship nothing on this yet: no system is known to be worse than no other by "
                              "more than 0.005 (95% confidence)."),
    (0.03, {"a": 1, "b": 4}, "Ship a: not worse than b by more than 0.03, at a quarter of the price."),
    (None, {"a": 4, "b": 1}, ""), (0.02, {}, ""),
])
def test_the_cheapest_that_is_good_enough_is_shipped(margin, prices, said):
    rows = [*levels(a=0.9, b=0.89), row("b", -0.01, versus="a", ends=(-0.018, 0.024))]
    ranks = system_ranks(rows, Contest(is_error=False, margin=margin, prices=prices))
    assert shipping_in_words(ranks) == said


def test_what_is_known_to_be_better_is_said_so_and_a_third_that_is_better_counts():
    rows = [*levels(a=0.8, b=0.9, c=0.95), row("b", 0.1, versus="a", ends=(0.05, 0.15)),
            row("c", 0.15, versus="a", ends=(0.1, 0.2)), row("c", 0.05, versus="b", ends=(0.03, 0.07))]
    prices = {"a": 1, "b": 2, "c": 3}
    ranks = system_ranks(rows, Contest(is_error=False, margin=0.02, prices=prices))
    # b is better than a, and worse than c by up to 0.07
    assert shipping_in_words(ranks) == "Ship c: better than b, at 1.5 times the price."
    assert [rank_in_words(place) for place in ranks.systems] == ["1", "2", "3"]
    wide = system_ranks(rows, Contest(is_error=False, margin=0.08, prices=prices))
    assert wide.ship.system == "b"
    assert wide.ship.versus == "c"
