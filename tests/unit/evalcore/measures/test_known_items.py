"""A measure of a pool some of whose labels are known, as a measure of the others."""

import numpy as np
import pytest

from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import with_known_items

KNOWN = np.array([[30, 2], [5, 13]])
OTHERS = np.array([[50.0, 8.0], [6.0, 36.0]])
NAMES = ["accuracy", "precision", "recall", "f1", "specificity", "balanced_accuracy", "mcc", "cohen_kappa"]


@pytest.mark.parametrize("name", NAMES)
def test_of_the_others_it_is_the_measure_of_all(name):
    plain, moved = measure(name), with_known_items(measure(name), KNOWN, 100)
    assert moved.of_confusion(OTHERS) == pytest.approx(plain.of_confusion(OTHERS + KNOWN))
    # in shares of the others, whatever the scale of the counts
    assert moved.of_confusion(OTHERS / 7) == pytest.approx(plain.of_confusion(OTHERS + KNOWN))


@pytest.mark.parametrize("name", NAMES)
def test_its_gradient_is_that_of_its_value(name):
    moved = with_known_items(measure(name), KNOWN, 100)
    risk = np.einsum("fy,fyd->d", OTHERS, moved.loss) / 100
    step = 1e-6 * np.eye(len(risk))
    slope = [(moved.value(risk + h) - moved.value(risk - h)) / 2e-6 for h in step]
    assert moved.gradient(risk) == pytest.approx(np.array(slope), abs=1e-6)


@pytest.mark.parametrize("name", ["accuracy", "precision", "recall", "f1", "specificity"])
def test_the_others_mean_margin_decides_about_the_whole_pool(name):
    plain, moved = measure(name), with_known_items(measure(name), KNOWN, 100)
    value = float(plain.of_confusion(OTHERS + KNOWN))
    for limit in (value - 0.01, value, value + 0.01):
        constant, table = moved.margin(limit)
        mean = constant + (OTHERS * table).sum() / 100
        assert np.sign(round(mean, 12)) == np.sign(round(value - limit, 12))


def test_a_measure_without_a_margin_has_none_here_either():
    assert measure("mcc").margin(0.5) is None
    assert with_known_items(measure("mcc"), KNOWN, 100).margin(0.5) is None
