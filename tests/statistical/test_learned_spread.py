"""Numbers: draws follow how far errors spread, and are no worse than even ones where predictions are useless.

A slice of docs/measured/learned-spread.md.  Of RUNS evaluations an interval that covers with 0.95 falls below
the 1 in 10,000 point of its binomial distribution in one of 10,000 tries; errors are about normal, so of two
methods with equal errors the ratio of the mean squares is beyond FAR in one of 10,000.  Where spread differs
the errors are 0.43 to 0.67 times those of `passive`, and squares beyond 0.95² as rare.
"""

import pytest
from doubles.studies import in_a_study
from scipy.stats import binom, f

from assay.evalcore.reproducible import stream
from benchmarks.learned_spread import BUDGETS, FAMILIES, rows

RUNS = 130
LEAST = binom.ppf(1e-4, RUNS, 0.95) / RUNS
FAR = f.isf(1e-4, RUNS, RUNS)


def _rows(family, measure):
    found = FAMILIES[family]
    return rows([found.draw(stream(11, f"learned spread/{family}"))], measure, ("passive", "auto"), RUNS)


@pytest.mark.parametrize(("family", "measure", "times"), [
    in_a_study("useless", "mae", 1.1), ("alike", "mae", 1.1), in_a_study("grades, useless", "mae", 1.1),
    ("band", "mae", 0.95), in_a_study("prices", "mae", 0.95),
])
def test_errors_and_coverage_at_every_budget(family, measure, times):
    passive, auto = _rows(family, measure)
    assert (auto.coverage >= LEAST).all(), auto.coverage
    late = [BUDGETS.index(b) for b in (100, 200, 500)] if times < 1 else slice(None)
    ratio = (auto.error / passive.error)[late] ** 2
    assert (ratio <= times**2 * (FAR if times > 1 else 1.0)).all(), ratio
