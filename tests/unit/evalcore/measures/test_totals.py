"""What the labels still allow, against every labelling of small pools."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from assay.evalcore.annotators.error_rates import corrected_measure
from assay.evalcore.measures import two_classes
from assay.evalcore.measures.registry import every, measure

ERRORS = np.array([[0.02, 0.10], [0.05, 0.20]])   # of annotators, by prediction and truth
LARGEST = 4                                       # items of each prediction


def states():
    """Every (known, free, items), each (R, 2) by prediction, of pools with up to LARGEST of each."""
    one = [(k, u, n) for n in range(LARGEST + 1) for k in range(n + 1) for u in range(n - k + 1)]
    pairs = np.array(list(product(one, one)), dtype=float)                      # (R, prediction, 3)
    pairs = pairs[pairs[..., 2].sum(axis=1) > 0]
    return pairs[..., 0], pairs[..., 1], pairs[..., 2]


def brute(m, known, free, items):
    """The least and largest value over all labellings, and NaN where none has one."""
    ways = list(product(range(LARGEST + 1), repeat=2))
    values = np.stack([two_classes.of_totals(m, known[:, 1] + h, known[:, 0] + f, items) for f, h in ways])
    possible = np.stack([(f <= free[:, 0]) & (h <= free[:, 1]) for f, h in ways])
    values = np.where(possible, values, np.nan)
    return np.fmin.reduce(values), np.fmax.reduce(values)


def below(m):
    """1 - m, which moves the other way."""
    return replace(
        m,
        value=lambda risk: 1 - m.value(risk),
        gradient=lambda risk: -m.gradient(risk),
        monotone=tuple(-sign for sign in m.monotone),
    )


def positives():
    """The share of positives: it rises with both totals."""
    return replace(
        measure("recall"),
        value=lambda risk: np.asarray(risk[..., 1]),
        gradient=lambda risk: np.zeros_like(risk) + np.array([0.0, 1.0]),
        monotone=(1, 1),
    )


@pytest.mark.parametrize(
    "m",
    [*every(), measure("fbeta", 0.5), *(below(m) for m in every() if m.bounds[0] == 0), positives()],
    ids=lambda m: f"{m.name} {m.monotone}",
)
def test_the_attainable_values_are_those_of_the_best_and_worst_labelling(m):
    known, free, items = states()
    least, most = brute(m, known, free, items)
    exists = np.isfinite(least)
    lower, upper = two_classes.attainable_ends(m, known, free, items)
    assert lower[exists] == pytest.approx(least[exists], abs=1e-12)
    assert upper[exists] == pytest.approx(most[exists], abs=1e-12)
    # it may never exist; then nothing is known but its range
    assert set(lower[~exists]) <= {m.bounds[0]}
    assert set(upper[~exists]) <= {m.bounds[1]}


def test_a_measure_that_turns_round_between_the_corners_is_bounded_by_its_range_alone():
    # distance of the share of positives from a half: 0 in the middle, and the same at both ends
    m = replace(
        positives(), value=lambda risk: np.abs(risk[..., 1] - 0.5), bounds=(0.0, 0.5), monotone=None
    )
    known, free, items = states()
    least, most = brute(m, known, free, items)
    lower, upper = two_classes.attainable_ends(m, known, free, items)
    assert (lower <= least).all()
    assert (upper >= most).all()
    # what a wrong declaration would have claimed
    wrong = two_classes.attainable_ends(replace(m, monotone=(1, 1)), known, free, items)
    assert not ((wrong[0] <= least) & (wrong[1] >= most)).all()


@pytest.mark.parametrize("m", every(), ids=lambda m: m.name)
def test_a_measure_corrected_for_annotators_errors_is_never_bounded_too_tightly(m):
    corrected = corrected_measure(m, ERRORS)
    known, free, items = states()
    # a corrected value may lie outside the measure's range; it is reported at the range's end
    least, most = (np.clip(end, *m.bounds) for end in brute(corrected, known, free, items))
    lower, upper = (
        np.clip(end, *m.bounds) for end in two_classes.attainable_ends(corrected, known, free, items)
    )
    exists = np.isfinite(least)
    assert (lower <= least + 1e-12)[exists].all()
    assert (upper >= most - 1e-12)[exists].all()
