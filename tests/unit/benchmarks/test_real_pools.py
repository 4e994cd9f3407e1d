"""The real pools of the certification are what their descriptions say."""

import numpy as np
import pytest

from benchmarks.real_pools import KINDS, SAYS, real_pool


def test_every_real_pool_is_described():
    assert set(KINDS) == set(SAYS)


@pytest.mark.parametrize("name", ["abt-buy", "restaurant", "governors", "digits"])
def test_a_pool_has_the_size_its_description_gives(name):
    try:
        pool = real_pool(name)
    except FileNotFoundError as error:
        pytest.skip(f"the folder in ASSAY_POOLS has no such pool: {error}")
    assert f"{len(pool.score):,}" in SAYS[name]
    assert set(np.unique(pool.label)) == set(np.unique(pool.prediction)) == {0, 1}
    assert ((pool.probability > 0) & (pool.probability < 1)).all()
    assert np.isfinite(pool.score).all()
