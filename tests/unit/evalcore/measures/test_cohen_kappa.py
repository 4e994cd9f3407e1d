"""Cohen's kappa, by hand and against scikit-learn; the tests of every measure hold for it as well."""

import numpy as np
import pytest
import sklearn.metrics as sk

from assay.evalcore.measures.registry import measure

KAPPA = measure("cohen_kappa")


def test_kappa_by_hand():
    # TN 20, FN 5, FP 10, TP 15: p_o = 35/50, p_e = (25·30 + 25·20)/50² = 1/2, so (0.7 - 0.5)/0.5
    counts = np.array([[20.0, 5.0], [10.0, 15.0]])
    assert float(KAPPA.of_confusion(counts)) == pytest.approx(0.4)


def test_kappa_agrees_with_scikit_learn_on_full_labels():
    rng = np.random.default_rng(13)
    for share in rng.random(40):
        label = (rng.random(40) < share).astype(int)
        prediction = np.where(rng.random(40) < rng.random(), label, 1 - label)
        counts = sk.confusion_matrix(label, prediction, labels=[0, 1]).T.astype(float)
        assert float(KAPPA.of_confusion(counts)) == pytest.approx(
            sk.cohen_kappa_score(label, prediction), abs=1e-12
        )


@pytest.mark.parametrize("kind", [(0, 0), (1, 1)])
def test_kappa_is_undefined_where_all_items_and_all_predictions_are_of_one_class(kind):
    counts = np.zeros((2, 2))
    counts[kind] = 7.0
    assert np.isnan(KAPPA.of_confusion(counts))
    assert np.isnan(KAPPA.gradient(np.einsum("fy,fyd->d", counts / 7, KAPPA.loss))).all()


@pytest.mark.parametrize("counts", [[[5.0, 2.0], [0.0, 0.0]], [[5.0, 0.0], [2.0, 0.0]]])
def test_predictions_or_labels_of_one_class_agree_no_more_than_chance(counts):
    assert float(KAPPA.of_confusion(np.array(counts))) == 0.0
