"""Many windows, one error rate: from the evidence of each window to an alarm or none.

A window leaves log factors f (G,), one for each share of the betting grid; given the windows before it,
E exp(f) ≤ 1 while its measure is within the limit.  Three rules turn a sequence of them into alarms.

**e-process** (the default).  Trouble may begin at any window k, so the bets of every possible beginning are
carried along, with prior weights ω_k = 1/(k(k + 1)) that sum to 1:

    S_w = exp(f_w) (S_{w−1} + ω_w)        M_w = mean over the grid of S_w  +  1/(w + 1)

M_0 = 1 and M is a non-negative supermartingale while all is well, so by Ville's inequality the chance that it
*ever* reaches 1/α is at most α, over a life of any length, whenever anybody looks.  Evidence of small drops
adds up over windows, and the past weighs no more than log k² in the way of a change at k.  (Mixtures over the
time of change: Shin, Ramdas & Rinaldo 2022, "E-detectors".)

**alpha-spending**.  Window w is tested by itself at ω_w α.  Also at most α in all, by the union bound,
whatever depends on what; nothing adds up over windows.

**cusum**.  C_w = max(C_{w−1}, 1) · mean exp(f_w), alarm at 1/α (the e-CUSUM of the same paper).  It promises
less: at least 1/α windows between false alarms on average, so at most α of them a window.

After an alarm every rule begins anew.  So for the first two the chance of even one false alarm between two
real ones is at most α, and on a stream that is fine for ever α/(1 − α) of them are expected in all.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.multiplicity import Correction, called_out
from assay.evalcore.types import Floats

Test = Literal["e-process", "alpha-spending", "cusum"]
Member = TypeVar("Member", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Life:
    """The evidence since the beginning, or since the last alarm."""

    windows: int      # w
    wealth: Floats    # (G,) log S_w; for cusum (1,) log C_w

    @staticmethod
    def new(test: Test, shares: int) -> "Life":
        """Before the first window."""
        return Life(windows=0, wealth=np.full(1 if test == "cusum" else shares, -np.inf))


def step(test: Test, life: Life, factors: Floats, error_rate: float) -> tuple[Life, float]:
    """One more window: the life after it and its log evidence; an alarm is due at −log(error_rate).

    factors (G,).  Raises BadInput for an error rate outside (0, 1).
    """
    if not 0 < error_rate < 1:
        raise BadInput(f"an error rate lies between 0 and 1, got {error_rate}")
    w = life.windows + 1
    match test:
        case "cusum":
            carried = max(float(life.wealth[0]), 0.0) + mean_exp(factors)
            return Life(windows=w, wealth=np.array([carried])), carried
        case "e-process":
            wealth = factors + np.logaddexp(life.wealth, -np.log(w * (w + 1)))
            evidence = float(np.logaddexp(mean_exp(wealth), -np.log(w + 1)))
            return Life(windows=w, wealth=np.asarray(wealth)), evidence
        case "alpha-spending":
            # held against ω_w α: the price of being one of many is taken off the evidence
            return Life(windows=w, wealth=life.wealth), mean_exp(factors) - float(np.log(w * (w + 1)))


def mean_exp(logs: Floats) -> float:
    """log of the mean of exp(logs); logs (G,)."""
    return float(np.logaddexp.reduce(logs) - np.log(len(logs)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvidenceSoFar:
    """What a rule says after a window."""

    evidence: float   # log; an alarm is due at −log(error_rate)
    alarm: bool


def family_evidence(
    test: Test, windows: Sequence[Mapping[Member, Floats]], error_rate: float,
    correction: Correction = "e-bh",
) -> list[dict[Member, EvidenceSoFar]]:
    """The rule applied to several members (segments, say) side by side, window after window.

    windows: for each, member -> factors (G,); a member may be missing from some.  The correction decides
    which of several alarms to believe; a member in breach begins anew.  With one member this is the plain
    rule.  Raises BadInput for an error rate outside (0, 1).
    """
    lives: dict[Member, Life] = {}
    result: list[dict[Member, EvidenceSoFar]] = []
    for factors in windows:
        evidence: dict[Member, float] = {}
        for name, f in factors.items():
            life = lives.get(name) or Life.new(test, len(f))
            lives[name], evidence[name] = step(test, life, f, error_rate)
        alarms = called_out(list(evidence.values()), error_rate, correction)
        here = {
            name: EvidenceSoFar(evidence=evidence[name], alarm=bool(alarm))
            for name, alarm in zip(evidence, alarms, strict=True)
        }
        for name, so_far in here.items():
            if so_far.alarm:
                del lives[name]
        result.append(here)
    return result


def evidence_by_window(test: Test, windows: Sequence[Floats], error_rate: float) -> list[EvidenceSoFar]:
    """The rule applied to windows, the factors (G,) of one after the other, beginning anew after each alarm.

    Raises BadInput for an error rate outside (0, 1).
    """
    return [one[""] for one in family_evidence(test, [{"": f} for f in windows], error_rate)]
