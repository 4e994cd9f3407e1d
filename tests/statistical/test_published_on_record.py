"""The static methods on the real pools: the errors others measured, within chance.

Figures of record: mean squared error of F1 over 1,000 runs, to two digits.  With ours over R runs, each a
mean of squared errors with a standard error, the difference is within Z combined standard errors and the
rounding. The adaptive baselines are left to the table in the documentation: theirs depend on how finely the
strata are cut.
"""

import numpy as np
import pytest
from doubles.pools import real_pool
from doubles.studies import in_a_study
from scipy.stats import norm

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise

Z = norm.isf(1e-6)
BUDGETS = [100, 300, 1000]
REPEATS, REPEATS_OF_RECORD = 80, 1000
RECORD = {
    "sawade": [1.4e-1, 1.1e-1, 4.4e-2],
    "bernoulli": [1.4e-1, 1.2e-1, 6.1e-2],
    "static-is": [1.2e-1, 5.7e-2, 1.8e-2],
}


@pytest.mark.statistical
@pytest.mark.parametrize("method_name", ["static-is", *map(in_a_study, ("sawade", "bernoulli"))])
def test_the_error_is_that_of_record(method_name):
    pool, f1 = real_pool("abt-buy"), measure("f1")
    truth = float(f1.of_confusion(pool.confusion()))
    (trace,) = simulate(
        method(method_name), pool, [f1], ReplayPlan(budgets=BUDGETS, batch_size=50, seed=2), repeats=REPEATS
    )
    for row, known in zip(summarise(trace, truth, BUDGETS), RECORD[method_name], strict=True):
        theirs = row.mse_se * np.sqrt(REPEATS / REPEATS_OF_RECORD)
        assert abs(row.mse - known) < Z * np.hypot(row.mse_se, theirs) + 0.05 * known, row.labels
        assert row.labels_mean == row.labels
        assert row.undefined == 0
