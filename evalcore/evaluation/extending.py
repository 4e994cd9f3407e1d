"""How sure an interval may be after an evaluation was extended because of what its result was.

An interval of 95% that is computed at a number of labels fixed beforehand misses in 5% of evaluations. If
people look at it, and buy more labels while it does not decide, they have several chances to be misled. So
the intervals after the k-th extension are computed at the confidence 1 − α / (k (k + 1)), where 1 − α is what
was asked for: 97.5%, 99.2%, 99.6% ... for 95%. The shares α/2, α/6, α/12 ... add up to α, so by Bonferroni's
inequality all intervals that are shown after extensions, however many, hold together with confidence 1 − α.

The interval before the first extension had α of its own. A verdict against one limit is wrong on one side of
an interval alone, which is α/2 for the first and α/2 for all later ones together: however long people extend
while it is undecided, they reach a wrong verdict with chance α at most, given intervals that hold at their
confidence on either side.

(Spending α over looks: Lan and DeMets, Biometrika 70, 1983, 659-663. The shares here do not depend on how
many labels each extension buys, so nothing has to be planned.)
"""

from scipy.special import ndtri

from assay.evalcore.errors import BadInput


def confidence_after(confidence: float, extensions: int) -> float:
    """The confidence of each interval after so many extensions; without any, the one asked for.

    Raises BadInput for a negative number.
    """
    if extensions < 0:
        raise BadInput(f"extensions must be 0 or more, got {extensions}")
    return confidence if extensions == 0 else 1 - (1 - confidence) / (extensions * (extensions + 1))


def widening(confidence: float, extensions: int) -> float:
    """How many times wider an interval of normal estimates is after one more extension, with equal labels."""
    now, then = (confidence_after(confidence, k) for k in (extensions, extensions + 1))
    return float(ndtri(0.5 + then / 2) / ndtri(0.5 + now / 2))
