"""How methods did in replay, pool by pool: the table by which `auto` chooses.

Written by `python -m benchmarks.certify --write` from 50 repeats a pool, budgets 50 to 1,000; not to be
edited by hand.  docs/certification.md has the same runs in full.
"""

from evalcore.methods.choice import Certified

TABLE: tuple[Certified, ...] = (
    Certified(method="recalibrated", pool="abt-buy", kind="rare, working", measure="f1",
              repeats=50, ratio=0.0738, coverage=1.0, width=2.39),
    Certified(method="recalibrated", pool="all-positive", kind="broken", measure="f1",
              repeats=50, ratio=0.626, coverage=1.0, width=1.69),
    Certified(method="recalibrated", pool="balanced", kind="balanced", measure="f1",
              repeats=50, ratio=0.458, coverage=0.98, width=1.98),
    Certified(method="recalibrated", pool="band", kind="broken", measure="f1",
              repeats=50, ratio=0.852, coverage=0.92, width=1.73),
    Certified(method="recalibrated", pool="hidden", kind="hidden", measure="f1",
              repeats=50, ratio=0.661, coverage=0.98, width=0.537),
    Certified(method="recalibrated", pool="inverted", kind="broken", measure="f1",
              repeats=50, ratio=3.7, coverage=0.96, width=1.57),
    Certified(method="recalibrated", pool="over-confident", kind="rare, working", measure="f1",
              repeats=50, ratio=0.111, coverage=1.0, width=2.41),
    Certified(method="recalibrated", pool="restaurant", kind="rare, working", measure="f1",
              repeats=50, ratio=0.206, coverage=1.0, width=5.81),
    Certified(method="recalibrated", pool="shuffled", kind="broken", measure="f1",
              repeats=50, ratio=0.433, coverage=0.98, width=2.05),
    Certified(method="recalibrated", pool="ties", kind="rare, working", measure="f1",
              repeats=50, ratio=0.641, coverage=1.0, width=1.75),
    Certified(method="recalibrated", pool="under-confident", kind="rare, working", measure="f1",
              repeats=50, ratio=0.457, coverage=0.94, width=1.01),
    Certified(method="recalibrated", pool="weak", kind="balanced", measure="f1",
              repeats=50, ratio=0.736, coverage=0.96, width=1.8),
)
