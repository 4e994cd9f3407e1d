"""How methods did in replay, pool by pool: the table by which `auto` chooses.

Written by `python -m benchmarks.certify --write` from 50 repeats a pool, budgets 50 to 1,000; not to be
edited by hand.  docs/certification.md has the same runs in full.
"""

from evalcore.methods.choice import Certified

TABLE: tuple[Certified, ...] = (
    Certified(method="recalibrated", pool="abt-buy", kind="rare, working", measure="f1",
              repeats=50, ratio=0.108, coverage=1.0, width=2.8),
    Certified(method="recalibrated", pool="restaurant", kind="rare, working", measure="f1",
              repeats=50, ratio=0.00315, coverage=1.0, width=58.0),
)
