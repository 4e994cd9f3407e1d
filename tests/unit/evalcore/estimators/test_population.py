"""What the sampling of the pool adds to an interval."""

import numpy as np
import pytest
import scipy

from assay.evalcore.estimators.population import Pulls, apart, ends_for_population

LEVEL = np.array([0.95])


def share(right: int, items: int) -> Pulls:
    """Of an accuracy, all items labelled."""
    p = right / items
    return Pulls(
        z=np.array([[-p], [1 - p]]), items=np.array([items - right, right], float), most_down=np.array([p]),
        most_up=np.array([1 - p]), labels=float(items),
    )


def exact(right: int, items: int) -> tuple[float, float]:
    """Clopper and Pearson's interval."""
    lower = scipy.stats.beta.ppf(0.025, right, items - right + 1) if right else 0.0
    upper = scipy.stats.beta.ppf(0.975, right + 1, items - right) if right < items else 1.0
    return float(lower), float(upper)


@pytest.mark.parametrize(("right", "items"), [(100, 200), (160, 200), (195, 200), (980, 1000), (3600, 4000)])
def test_a_share_of_a_census_is_about_that_of_clopper_and_pearson(right, items):
    found = apart(right / items, (right / items,) * 2, share(right, items), 0, (0.0, 1.0), 0.95)
    lower, upper = exact(right, items)
    assert (found.upper - found.lower) == pytest.approx(upper - lower, rel=0.08)
    assert found.lower == pytest.approx(lower, abs=0.1 * (upper - lower))


def test_no_interval_closes_because_all_items_were_right():
    # -log(0.025)/200 is 0.0184; Student's quantile of 199 degrees of freedom over the normal one is 1.0061
    found = apart(1.0, (1.0, 1.0), share(200, 200), 0, (0.0, 1.0), 0.95)
    assert found.upper == 1.0
    assert 1 - found.lower == pytest.approx(-np.log(0.025) / 200 * 1.0061, rel=1e-3)
    assert found.lower <= exact(200, 200)[0]


def test_both_errors_add_as_squares_and_stay_inside_the_bounds():
    lower, upper = ends_for_population(
        np.array([0.8]), (np.array([0.77]), np.array([0.95])), (np.array([0.04]), np.array([0.2])),
        (np.array([0.0]), np.array([1.0])),
    )
    assert lower == pytest.approx([0.75])
    assert upper == pytest.approx([1.0])


def test_a_larger_pool_adds_less_and_the_variance_is_that_of_a_mean():
    small, large = share(160, 200), share(1600, 2000)
    assert small.variance == pytest.approx([0.16 / 199])     # 0.16 · 200/199 / 200
    both = zip(small.sampling_reach(LEVEL), large.sampling_reach(LEVEL), strict=True)
    assert all(b < a / 2.5 for a, b in both)


def test_labels_of_an_even_sample_are_a_sample_of_the_population_too():
    pulls = share(160, 200)
    plain = apart(0.8, (0.8, 0.8), pulls, 0, (0.0, 1.0), 0.95)
    few = apart(0.8, (0.8, 0.8), pulls, 0, (0.0, 1.0), 0.95, labels=50.0)
    assert few.lower < plain.lower
    assert few.upper > plain.upper


def test_a_difference_without_discordant_items_reaches_as_far_as_one_could_hide():
    pulls = Pulls(z=np.zeros((1, 1)), items=np.array([200.0]), most_down=np.ones(1), most_up=np.ones(1),
                  labels=200.0)
    down, up = pulls.sampling_reach(LEVEL)
    assert down == up
    assert down[0] == pytest.approx(-np.log(0.025) / 200, rel=0.01)


def test_clusters_that_all_agree_leave_their_number():
    pulls = Pulls(z=np.zeros((1, 1)), items=np.array([200.0]), most_down=np.ones(1), most_up=np.zeros(1),
                  labels=200.0, clusters=40)
    down, up = pulls.unseen_cluster(LEVEL)
    assert down[0] == pytest.approx(-np.log(0.025) / 40)
    assert up[0] == 0
