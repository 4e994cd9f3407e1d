"""From the evidence of many windows and segments to what is said of one: ok, breach or inconclusive.

    step          many windows, one error rate: an alarm, or none
    called_out    many segments, one error rate: which of several alarms to believe
    verdict_of    the verdict on one window
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Literal, TypeVar

import numpy as np
import scipy

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.monitoring.betting import EFFECTS, Side, mixed
from assay.evalcore.monitoring.tracking import OwnDraws, Tracked, narrows
from assay.evalcore.types import Bools, Floats

Correction = Literal["e-bh", "bonferroni"]


def called_out(
    log_evidence: Sequence[float], error_rate: float, correction: Correction, members: int | None = None
) -> Bools:
    """Which of S segments (S,) are in breach, from the logarithms of their evidence.

    members: how many share the error rate, where some are not looked at now; S unless given.

    Many segments, one error rate: which of several alarms to believe.

    Segments are looked at all at once, window after window, and their evidence depends on one another.
    e-values need no assumption about that:

      e-BH         the k segments of the largest evidence, k the largest with e_(k) ≥ S/(k α).  Of the
                   segments
                   that are called out at one look, at most a share α is expected to be fine (Wang & Ramdas
                   2022, "False discovery rate control with e-values")
      Bonferroni   every segment is held against S/α: the chance that any of them is called out wrongly, in as
                   many windows as the promise is about, is ≤ α
    """
    logs = np.asarray(log_evidence, dtype=np.float64)
    if not len(logs):
        return np.zeros(0, np.bool_)
    price = np.log((members or len(logs)) / error_rate)
    if correction == "bonferroni":
        return np.asarray(logs >= price)
    order = np.argsort(-logs, kind="stable")
    enough = logs[order] >= price - np.log(np.arange(1, len(logs) + 1))
    chosen = np.zeros(len(logs), np.bool_)
    if enough.any():
        chosen[order[: np.flatnonzero(enough)[-1] + 1]] = True
    return chosen


Test = Literal["e-detector", "e-process", "alpha-spending", "cusum"]
Member = TypeVar("Member", bound=Hashable)

HORIZON_WINDOWS = 200   # windows that the error rate is about, unless said otherwise
_BEGINNINGS = 4.0    # ρ H: of the bets, so many begin anew in the horizon
# how windows are tested by themselves: by the draws of each stratum, of the whole window together, or not
Alone = Literal["strata", "pooled", "none"]
# s.  Half calls four more of a hundred falls by 0.20 than a third does, and those by 0.03 4% later
ALONE: Mapping[Alone, float] = {"strata": 1 / 2, "pooled": 1 / 3, "none": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The chance of a false alarm, and in how many windows.

    Many windows, one error rate: from the evidence of each window to an alarm or none.

    A window leaves log factors f (G,), one for each effect of the betting grid; given the windows before it,
    E exp(f) ≤ 1 while its measure is within the limit.  Four rules turn a sequence of them into alarms.

    **e-detector** (the default).  Trouble may begin at any window.  At each window the bets of those who
    began before it are carried on, a share ρ of them begins anew, and all are mixed over the grid:

        M_w = Σ_g π_g M_w,g        M_w,g = exp(f_w,g) ((1 − ρ) M_{w−1,g} + ρ)        M_0 = 1

    While all is well E M_w ≤ 1 at every w, and M_w + ρ (s + H − w) is a non-negative supermartingale from any
    window s on.  By Ville's inequality the chance that M reaches c in the H windows after s is at most
    (E M_s + ρ H)/c ≤ (1 + ρ H)/c.  So with c = (1 + ρ H)/α: **in any H windows of a life, however long and
    whenever they begin, the chance of a false alarm is at most α**.  The past costs nothing: after a thousand
    quiet windows M is distributed as after twenty.  ρ = 4/H is about best for delays of 2 to 40 windows.  (A
    Shiryaev-Roberts e-detector with forgetting: Shin, Ramdas & Rinaldo 2023, "E-detectors: a nonparametric
    framework for sequential change detection".)

    **e-process**.  The same for a whole life of any length: a beginning at window k has the prior weight
    ω_k = 1/(k (k + 1)), and these sum to 1:

        S_w = exp(f_w) (S_{w−1} + ω_w)        M_w = mean over the grid of S_w  +  1/(w + 1)

    M_0 = 1 and M is a non-negative supermartingale while all is well, so the chance that it *ever* reaches
    1/α is at most α.  The price is log k² in the way of a change at window k: the longer all was well, the
    later.

    **alpha-spending**.  Each window is tested by itself, at α/H.  The promise of the e-detector, by the union
    bound; nothing adds up over windows.

    **cusum**.  C_w = max(C_{w−1}, 1) · mean exp(f_w), alarm at 1/α.  It promises less: at least 1/α windows
    between false alarms on average, so at most α of them a window.

    **A window alone.**  Of the error rate of the e-detector and of alpha-spending a share s is spent on
    windows by themselves: one whose draws have a chance of at most s α/H while the limit is kept
    (`evalcore.monitoring.single_window`) is an alarm, whatever the windows before said.  By the union bound
    that takes s α of the promise in H windows; the bets have (1 − s) α, log evidence less by log(1/(1 − s)).
    It is the last of a window's factors, −log(s α/H) or −CERTAIN; those judged by version 1.0.0 have none.
    Nobody can spend more than α/H on a window: whoever keeps the promise calls a fall in its first window no
    more often, on average over H windows that it may begin in, than the most powerful test at that level.

    After an alarm every rule begins anew.  All four need factors with E exp(f) ≤ 1: intervals have none.
    """

    error_rate: float
    test: Test = "e-detector"
    horizon: int = HORIZON_WINDOWS  # windows; a whole life for the e-process, and each window for cusum
    alone: Alone = "strata"    # with e-detector and alpha-spending

    def __post_init__(self) -> None:
        """Raises BadInput for an error rate outside (0, 1), or a horizon below 1."""
        if not 0 < self.error_rate < 1:
            raise BadInput(f"an error rate lies between 0 and 1, got {self.error_rate}")
        if self.horizon < 1:
            raise BadInput(f"a horizon is at least one window, got {self.horizon}")

    @property
    def level_alone(self) -> float | None:
        """The chance below which the draws of one window are an alarm by themselves; None where only bets
        are. It is a share of the error rate for each window of the horizon."""
        if self.alone == "none" or self.test not in ("e-detector", "alpha-spending"):
            return None
        return ALONE[self.alone] * self.error_rate / self.horizon


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Life:
    """The evidence of a place since the beginning, or since its last alarm: the number of windows, and the
    log wealth of each bet (of a cusum its log statistic)."""

    windows: int      # w
    wealth: Floats    # (..., G) log of what the bets are worth; for cusum (..., 1) log C_w

    @staticmethod
    def new(test: Test, effects: int) -> "Life":
        """The life before the first window: no windows, and a log wealth of 0 for each bet with the
        e-detector, of −∞ with every other test."""
        match test:
            case "cusum":
                return Life(windows=0, wealth=np.full(1, -np.inf))
            case "e-detector":
                return Life(windows=0, wealth=np.zeros(effects))
            case _:
                return Life(windows=0, wealth=np.full(effects, -np.inf))


def step(promise: Promise, life: Life, factors: Floats) -> tuple[Life, Floats]:
    """One more window: the life after it and its log evidence (...); an alarm is due at −log(error_rate).

    factors (..., G), or (..., G + 1) with that of the window alone: of one life, or of many side by side.
    """
    effects = len(EFFECTS)
    life, by_bets = _step_of_bets(promise, life, factors[..., :effects])
    if factors.shape[-1] == effects:
        return life, by_bets
    share = ALONE[promise.alone]
    by_itself = factors[..., effects] + np.log(share / promise.horizon)
    return life, np.asarray(np.maximum(by_bets + np.log1p(-share), by_itself))


def _step_of_bets(promise: Promise, life: Life, factors: Floats) -> tuple[Life, Floats]:
    w = life.windows + 1
    match promise.test:
        case "e-detector":
            share = min(_BEGINNINGS / promise.horizon, 1.0)
            with np.errstate(divide="ignore"):
                carried = np.logaddexp(life.wealth + np.log1p(-share), np.log(share))
            wealth = factors + carried
            evidence = mixed(wealth) - np.log1p(share * promise.horizon)
            return Life(windows=w, wealth=np.asarray(wealth)), np.asarray(evidence)
        case "e-process":
            wealth = factors + np.logaddexp(life.wealth, -np.log(w * (w + 1)))
            evidence = np.logaddexp(mixed(wealth), -np.log(w + 1))
            return Life(windows=w, wealth=np.asarray(wealth)), np.asarray(evidence)
        case "alpha-spending":
            # held against α/H: the price of being one of many is taken off the evidence
            return Life(windows=w, wealth=life.wealth), np.asarray(mixed(factors) - np.log(promise.horizon))
        case "cusum":
            value = np.maximum(life.wealth[..., 0], 0.0) + mixed(factors)
            return Life(windows=w, wealth=np.asarray(value[..., None])), np.asarray(value)


def carried(promise: Promise, evidence: float) -> float:
    """The log evidence that the next window begins with, after one with this evidence and no alarm.

    It is what `step` returns for a window that says nothing, where none is tested by itself (all factors 0).
    The e-detector carries most of the evidence on and begins anew with ρ: log((1 − ρ) M + ρ) − log(1 + ρ H).
    """
    match promise.test:
        case "e-detector":
            share = min(_BEGINNINGS / promise.horizon, 1.0)
            anew = np.log(share) - np.log1p(share * promise.horizon)
            with np.errstate(divide="ignore"):
                return float(np.logaddexp(evidence + np.log1p(-share), anew))
        case "e-process":
            return evidence
        case "alpha-spending":
            return float(-np.log(promise.horizon))
        case "cusum":
            return max(evidence, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvidenceSoFar:
    """What a rule says after a window: the log evidence, and whether it calls an alarm, which is due at
    −log(error rate)."""

    evidence: float   # log; an alarm is due at −log(error_rate)
    alarm: bool


def family_evidence(
    promise: Promise, windows: Sequence[Mapping[Member, Floats]], correction: Correction = "e-bh",
    members: int | None = None,
) -> list[dict[Member, EvidenceSoFar]]:
    """The rule applied to several members (segments, say) side by side, window after window.

    windows: for each, member -> factors (G,) or (G + 1,), as `step` takes them; a member may be missing from
    some.  members: how many share the error rate; those of the window unless given.  The correction decides
    which of several alarms to believe; a member in breach begins anew.  With one member this is the plain
    rule.
    """
    lives: dict[Member, Life] = {}
    result: list[dict[Member, EvidenceSoFar]] = []
    for factors in windows:
        evidence: dict[Member, float] = {}
        for name, f in factors.items():
            life = lives.get(name) or Life.new(promise.test, min(len(f), len(EFFECTS)))
            lives[name], at = step(promise, life, f)
            evidence[name] = float(at)
        alarms = called_out(list(evidence.values()), promise.error_rate, correction, members)
        members_now = {
            name: EvidenceSoFar(evidence=evidence[name], alarm=bool(alarm))
            for name, alarm in zip(evidence, alarms, strict=True)
        }
        for name, so_far in members_now.items():
            if so_far.alarm:
                del lives[name]
        result.append(members_now)
    return result


def evidence_by_window(promise: Promise, windows: Sequence[Floats]) -> list[EvidenceSoFar]:
    """The rule applied to windows, the factors (G,) of one after the other, beginning anew after each alarm.
    One entry a window, each with the evidence against the limit so far."""
    return [by_member[""] for by_member in family_evidence(promise, [{"": f} for f in windows])]


# what the evidence of a window is made of; tangent: of draws, by a line that stands for the measure
Source = Literal["draws", "tangent", "exact", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedLimit:
    """A limit that the measure must not be below, or above: a number, its side, and its name (floor,
    ceiling, reference or previous).

    What is said of a window: ok, breach or inconclusive.

        breach          the evidence since the last breach is enough (see above).  In any
                        `horizon` windows, the chance of one or more false breaches is at most error_rate.
                        After a breach, a window whose own interval lies beyond the limit confirms it
        ok              this window's interval lies within the limits.  This speaks of one window, at the
                        confidence of its interval; it is not controlled over the life of a monitor.  Of
                                                                                                      methods
                        whose intervals end too near on few labels, the window's draws must show it too: bets
                        that the measure keeps its limit, at half of what the interval may miss.
                        Or the interval with the windows before lies within them (`tracking`), and the
                            window's
                        own labels show it at twice the risk
        inconclusive    neither

    A window beyond its limit by either interval confirms a breach that stands; with the windows before none
    is called.

    An exact value decides by itself.
    """

    side: Side
    value: float
    name: str      # floor, ceiling, reference or previous


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the labels of a window say about one measure: value, interval and confidence, the number of
    labels, and whether it is exact. None where there is no number."""

    value: float | None
    lower: float | None
    upper: float | None
    confidence: float
    labels: int
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceVerdict:
    """The verdict on one place of a window (the pool, a segment, or a question), with all it rests on."""

    # "column=value"; None: the whole pool, of several questions of the first that is watched; of the others
    # "question=name", and "question=name, column=value"
    segment: str | None
    measured: Measured
    limits: tuple[WatchedLimit, ...]
    # for each limit, the log factors (G,) of this window, and that of the window alone where one is tested
    factors: tuple[tuple[float, ...], ...]
    evidence: tuple[float, ...]              # for each limit, log, over the life since the last breach
    needed: float                            # log evidence that makes a breach
    verdict: Verdict
    source: Source = "none"                  # what the evidence of this window is made of
    # for each limit, the log evidence of this window alone that it is kept, where ok takes more than an
    # interval; None where an interval is enough
    kept: tuple[float | None, ...] = ()
    # with a drop: what the measure is at least (or at most), by its draws; later windows are held against it
    sure: float | None = None
    drawn: OwnDraws | None = None     # what this window's draws say alone
    tracked: Tracked | None = None    # and what they say with those of the windows before
    question: str | None = None       # of several that are asked about an item
    measure: str | None = None        # its measure, with the question; None: that of the window


def verdict_of(
    measured: Measured, limits: Sequence[WatchedLimit], alarm: bool, standing: bool = False,
    evidence_kept: Sequence[float | None] = (), tracked: Tracked | None = None, drawn: OwnDraws | None = None,
) -> Verdict:
    """The verdict on a place of a window.

    alarm          the evidence of the windows so far is enough for a breach
    standing       a breach was called before, and nothing has been ok since
    evidence_kept  for each limit, the log evidence that it is kept, where ok takes that beside the interval
    tracked        the measure by its draws and those of the windows before
    drawn          by its draws alone
    """
    if alarm:
        return "breach"
    if measured.lower is None or measured.upper is None:
        return "inconclusive"
    beyond = any(lies_beyond(measured, limit) for limit in limits) or any(
        tracked is not None and lies_beyond(tracked, limit) and not _keeps(tracked.own, limit)
        for limit in limits
    )
    if standing and beyond:
        return "breach"
    shown = all(
        evidence_of_limit is None or evidence_of_limit >= needed_for_ok(measured)
        for evidence_of_limit in evidence_kept
    )
    within = (shown and lies_within(measured, limits)) or shown_by_windows(
        measured, tracked, drawn, limits, evidence_kept
    )
    return "ok" if within else "inconclusive"


def shown_by_windows(
    measured: Measured, tracked: Tracked | None, drawn: OwnDraws | None, limits: Sequence[WatchedLimit],
    evidence_kept: Sequence[float | None] = (),
) -> bool:
    """Whether a window is within its limits by the windows before, and by its own labels at twice the risk.

    The windows before say nothing of one that jumped.  So its own interval must be within the limits when it
    may miss twice as often, and so must the evidence that ok takes: whatever the stream does, such an ok is
    wrong no more often than that.
    """
    m = measured
    if tracked is None or drawn is None or m.exact or m.value is None or m.lower is None or m.upper is None:
        return False
    if not narrows(tracked, drawn) or not lies_within(tracked, limits):
        return False
    shown = all(
        evidence_of_limit is None or evidence_of_limit >= needed_for_ok(m) - log(2)
        for evidence_of_limit in evidence_kept
    )
    twice, once = (float(scipy.special.ndtri(level)) for level in (m.confidence, (1 + m.confidence) / 2))
    nearer = max(twice, 0.0) / once
    own_interval = replace(
        m, lower=m.value - nearer * (m.value - m.lower), upper=m.value + nearer * (m.upper - m.value)
    )
    return shown and lies_within(own_interval, limits) and all(_keeps(tracked.own, limit) for limit in limits)


def _keeps(value: float, limit: WatchedLimit) -> bool:
    return value >= limit.value if limit.side == "below" else value <= limit.value


def needed_for_ok(measured: Measured) -> float:
    """The log evidence that a limit is kept which ok takes, where the interval is not enough. It is the
    logarithm of the inverse of half the error rate."""
    return -log((1 - measured.confidence) / 2)


def lies_beyond(measured: Measured | Tracked, limit: WatchedLimit) -> bool:
    """Whether the whole interval lies beyond the limit, where a breach is; False where there is no interval.
    Above a ceiling, or below a floor."""
    if measured.lower is None or measured.upper is None:
        return False
    return measured.upper < limit.value if limit.side == "below" else measured.lower > limit.value


def lies_within(measured: Measured | Tracked, limits: Sequence[WatchedLimit]) -> bool:
    """Whether the whole interval lies within all the limits; False where there is no interval. A window is ok
    by its interval then."""
    if measured.lower is None or measured.upper is None:
        return False
    return all(
        measured.lower >= limit.value if limit.side == "below" else measured.upper <= limit.value
        for limit in limits
    )
