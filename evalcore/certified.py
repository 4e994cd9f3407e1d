"""How methods did in replay, pool by pool: the table by which `auto` chooses.

Written by `python -m benchmarks.certify --write` from 50 to 100 repeats a pool, budgets 50 to 300; not
to be edited by hand.  docs/certification.md has the same runs in full.
"""

from evalcore.methods.choice import Certified

TABLE: tuple[Certified, ...] = (
    Certified(method="recalibrated", pool="abt-buy", kind="rare, working", measure="f1",
              repeats=100, ratio=0.0716, coverage=1.0, width=2.48),
    Certified(method="recalibrated", pool="all-negative", kind="all-negative", measure="f1",
              repeats=50, ratio=None, coverage=1.0, width=None),
    Certified(method="recalibrated", pool="all-positive", kind="broken", measure="f1",
              repeats=100, ratio=0.746, coverage=0.98, width=1.55),
    Certified(method="recalibrated", pool="balanced", kind="balanced", measure="f1",
              repeats=100, ratio=0.506, coverage=0.99, width=1.88),
    Certified(method="recalibrated", pool="balanced-weak", kind="balanced", measure="f1",
              repeats=100, ratio=0.561, coverage=0.98, width=1.64),
    Certified(method="recalibrated", pool="band", kind="broken", measure="f1",
              repeats=100, ratio=0.931, coverage=0.95, width=1.63),
    Certified(method="recalibrated", pool="calibrated", kind="calibrated", measure="f1",
              repeats=100, ratio=0.357, coverage=0.98, width=1.48),
    Certified(method="recalibrated", pool="hidden", kind="hidden", measure="f1",
              repeats=100, ratio=0.669, coverage=0.96, width=0.529),
    Certified(method="recalibrated", pool="inverted", kind="broken", measure="f1",
              repeats=100, ratio=4.15, coverage=0.96, width=1.53),
    Certified(method="recalibrated", pool="over-confident", kind="rare, working", measure="f1",
              repeats=100, ratio=0.108, coverage=1.0, width=2.48),
    Certified(method="recalibrated", pool="perfect", kind="rare, working", measure="f1",
              repeats=100, ratio=None, coverage=1.0, width=119.0),
    Certified(method="recalibrated", pool="rare", kind="rare, working", measure="f1",
              repeats=50, ratio=0.127, coverage=1.0, width=2.99),
    Certified(method="recalibrated", pool="restaurant", kind="rare, working", measure="f1",
              repeats=100, ratio=0.204, coverage=1.0, width=5.88),
    Certified(method="recalibrated", pool="shuffled", kind="broken", measure="f1",
              repeats=100, ratio=0.554, coverage=0.99, width=1.96),
    Certified(method="recalibrated", pool="small", kind="balanced", measure="f1",
              repeats=100, ratio=0.396, coverage=1.0, width=1.82),
    Certified(method="recalibrated", pool="threshold-high", kind="broken", measure="f1",
              repeats=100, ratio=0.332, coverage=0.99, width=1.9),
    Certified(method="recalibrated", pool="threshold-low", kind="broken", measure="f1",
              repeats=100, ratio=0.641, coverage=1.0, width=2.32),
    Certified(method="recalibrated", pool="ties", kind="rare, working", measure="f1",
              repeats=100, ratio=0.686, coverage=0.98, width=1.7),
    Certified(method="recalibrated", pool="under-confident", kind="rare, working", measure="f1",
              repeats=100, ratio=0.378, coverage=0.96, width=1.16),
    Certified(method="recalibrated", pool="weak", kind="balanced", measure="f1",
              repeats=100, ratio=0.771, coverage=0.97, width=1.73),
)
