"""How far a forecast may be off because only so many worlds were played: its Monte Carlo error.

It says nothing of how plausible the worlds are.  Both statements hold with 95%, for worlds drawn one by one.

    K   worlds
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrik, ndtri

from assay.evalcore.types import Floats

CONFIDENCE = 0.95
NARROW = 0.10    # error at which enough worlds were played: of the labels, or of the share of worlds


@dataclass(frozen=True, slots=True, kw_only=True)
class Luck:
    """What endlessly many worlds may say where K of them said something."""

    lower: float         # the median of the labels they take; infinite: more than the horizon
    upper: float
    share: float         # half-width of the share of them that met the goal

    @property
    def small(self) -> bool:
        """Whether more worlds would hardly say anything else."""
        if np.isinf(self.lower):                     # more than the horizon: then the share is told
            return self.share <= NARROW
        return bool(self.upper - self.lower <= NARROW * (self.upper + self.lower) < np.inf)


def luck(ordered: Floats) -> Luck:
    """From what each world took, in order (K,), infinite where that is more than the horizon.

    The median lies between two of the ordered numbers, by the binomial distribution of how many lie below it
    (David and Nagaraja 2003, Order Statistics, section 7.1).  The share has the interval of Wilson (1927).
    """
    worlds = len(ordered)
    rank = max(int(np.ceil(bdtrik((1 - CONFIDENCE) / 2, worlds, 0.5))), 1)      # 1 is the lowest
    z = float(ndtri(0.5 + CONFIDENCE / 2))
    met = float(np.isfinite(ordered).mean())
    share = z * np.sqrt(met * (1 - met) / worlds + z**2 / (4 * worlds**2)) / (1 + z**2 / worlds)
    return Luck(lower=float(ordered[rank - 1]), upper=float(ordered[worlds - rank]), share=float(share))
