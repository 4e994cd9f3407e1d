"""From the sample of a window to the verdict on each of its places, by the limits of the rules in force."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.evalcore.monitoring.betting import EFFECTS, Side
from assay.evalcore.monitoring.evidence import WindowSample, sure_end
from assay.evalcore.monitoring.tracking import MOST_WINDOWS_BACK, OwnDraws, Tracked, track
from assay.evalcore.monitoring.verdicts import (
    HORIZON_WINDOWS,
    Alone,
    Correction,
    EvidenceSoFar,
    PlaceVerdict,
    Promise,
    Test,
    WatchedLimit,
    family_evidence,
    verdict_of,
)
from assay.evalcore.types import Floats

NewestVerdicts = Mapping[str, Mapping[str | None, PlaceVerdict]]   # by window and place


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRule:
    """What counts as worse than another window: a drop by more than `by` from the reference window, or from
    the mean of windows before.

    What a window is held against, and how much of the error rate is spent on each limit.

        floor, ceiling   fixed values
        reference        worse than one chosen window by more than `by`
        previous         worse than the mean of the last few windows by more than `by`

    The limits of one place share its error rate evenly.  Other windows are known from labels only, so half of
    such a limit's share pays for how well they are known: the limit starts at what their measure is at least
    (or at most), by their own draws (`evalcore.monitoring.evidence.sure_end`).  That half is spent once for a
    reference. Windows before come again and again: there it is shared by all windows of the horizon, and by
    the windows that make the mean.  The other half pays for the windows themselves.
    """

    by: float
    than: Literal["reference", "previous"]
    windows: int = 1         # with previous: how many windows before

    def knowing(self, rate: float, horizon: int) -> float:
        """The error rate at which one window's measure must be known, to be compared with.

        rate: of the limit, half of which is for this.
        """
        return rate / 2 if self.than == "reference" else rate / 2 / horizon / self.windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a monitor holds its windows against, and how sure it wants to be."""

    floor: float | None = None
    ceiling: float | None = None
    drop: DropRule | None = None
    reference: str           # the window that a drop from the reference is told against
    error_rate: float        # chance of a false breach in `horizon` windows
    horizon: int = HORIZON_WINDOWS
    test: Test = "e-detector"
    correction: Correction = "e-bh"
    is_error: bool = False             # the measure is an error: the smaller the better
    alone: Alone = "strata"            # how windows are tested by themselves: as when the monitor began

    @property
    def worse(self) -> Side:
        """On which side of a limit a breach lies: above, of an error or where a ceiling is all that is
        fixed; below where there is a floor."""
        if self.floor is not None:
            return "below"
        return "above" if self.is_error or self.ceiling is not None else "below"

    @property
    def limits(self) -> int:
        """How many limits share the error rate of a place: floor, ceiling and drop, as far as they are set.
        Each gets an equal part of the rate."""
        return (self.floor is not None) + (self.ceiling is not None) + (self.drop is not None)

    def promise(self, error_rate: float) -> Promise:
        """What is promised of one limit, or of a family of them, at this rate. It names the test and the
        number of windows that the rate is about."""
        return Promise(error_rate=error_rate, test=self.test, horizon=self.horizon, alone=self.alone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """A limit, and the share of the error rate that is spent on the windows held against it."""

    limit: WatchedLimit
    error_rate: float


def fixed_watched(floor: float | None, ceiling: float | None) -> list[WatchedLimit]:
    """The limits that are the same for every window, floor and ceiling, as far as they are set. A drop is
    measured against the reference, so it is none of them."""
    ends: list[tuple[Side, float | None, str]] = [("below", floor, "floor"), ("above", ceiling, "ceiling")]
    return [WatchedLimit(side=side, value=at, name=name) for side, at, name in ends if at is not None]


def limits_of(
    rules: Rules, window: str, segment: str | None, standing: NewestVerdicts, error_rate: float
) -> list[Against]:
    """What one place of a window is held against, `error_rate` dealt out among its limits.

    A drop from a window of which nothing is sure is no limit yet; the share kept for it is not spent.
    """
    rate = error_rate / max(rules.limits, 1)
    against_limits = [
        Against(limit=fixed_limit, error_rate=rate)
        for fixed_limit in fixed_watched(rules.floor, rules.ceiling)
    ]
    if rules.drop is None:
        return against_limits
    edge = _sure_of(drop_references(rules, rules.drop, window, standing), segment, standing)
    if edge is None:
        return against_limits
    value = edge - rules.drop.by if rules.worse == "below" else edge + rules.drop.by
    limit = WatchedLimit(side=rules.worse, value=value, name=rules.drop.than)
    return [*against_limits, Against(limit=limit, error_rate=rate / 2)]


def drop_references(rules: Rules, drop: DropRule, window: str, standing: NewestVerdicts) -> Sequence[str]:
    """The windows that a drop of this one is told against."""
    if drop.than == "reference":
        return [] if window == rules.reference else [rules.reference]
    return sorted(name for name in standing if name < window)[-drop.windows:]


def _sure_of(windows: Sequence[str], segment: str | None, standing: NewestVerdicts) -> float | None:
    """What the mean of these windows is at least (or at most); None if nothing is sure of any of them."""
    places = [standing.get(name, {}).get(segment) for name in windows]
    sure_values = [place.sure for place in places if place is not None and place.sure is not None]
    return float(np.mean(sure_values)) if sure_values else None


# Of several questions each has a share of the error rate, and is judged as if it were asked alone: the chance
# that any of them is wrongly in breach is at most the sum of the shares.
#
_Member = tuple[str | None, str]   # a place and the name of one of its limits


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedRules:
    """What one of several questions of a monitor is held against: its measure, and rules with its share of
    the error rate.

    From the sample of a window to the verdict on each of its places: the whole pool, and every segment.

    The evidence of a place is a fold over windows (`evalcore.monitoring.verdicts`), in the order in which
    they were first judged, each with its newest log factors.  So the verdict does not depend on who judges
    first, a window whose people are slow holds up no other, and a window judged again takes the place of its
    old verdict.

    The error rate is spent once.  Without segments it is the pool's, and its limits share it.  With segments,
    half is the pool's; the other half is for the segments of all columns together, which are one family
    (`evalcore.monitoring.verdicts`).

        G   effects of the betting grid
    """

    question: str
    measure: str      # with the question
    rules: Rules      # with its share of the error rate


def judge_questions(
    rules_of_questions: Sequence[WatchedRules], window: str, samples: Mapping[str | None, WindowSample],
    standing: NewestVerdicts, in_breach: Collection[str | None],
) -> tuple[PlaceVerdict, tuple[PlaceVerdict, ...]]:
    """As `judge_places`: of the first question the pool; and its segments, then the other questions with
    theirs. The verdicts of the places, the pool first."""
    verdicts: list[PlaceVerdict] = []
    for number, rules_of_question in enumerate(rules_of_questions):
        name = f"question={rules_of_question.question}" if number else ""
        own_standing = {
            window_name: {_inside(key, name): place for key, place in places.items()
                    if place.question == rules_of_question.question}
            for window_name, places in standing.items()
        }
        pool, segments = judge_places(
            rules_of_question.rules, window, samples[rules_of_question.question], own_standing,
            {_inside(key, name) for key in in_breach if _is_inside(key, name)},
        )
        verdicts += [
            replace(
                place, question=rules_of_question.question, measure=rules_of_question.measure,
                segment=", ".join(filter(None, (name, place.segment))) or None,
            )
            for place in (pool, *segments)
        ]
    return verdicts[0], tuple(verdicts[1:])


def _is_inside(key: str | None, name: str) -> bool:
    """Whether a place is of the question whose places are called so; of the first they have no name."""
    if not name:
        return key is None or not key.startswith("question=")
    return key is not None and (key == name or key.startswith(f"{name}, "))


def _inside(key: str | None, name: str) -> str | None:
    """The place as the question alone has it."""
    return key if not name or key is None else key.removeprefix(name).removeprefix(", ") or None


def judge_places(
    rules: Rules, window: str, sample: WindowSample, standing: NewestVerdicts,
    in_breach: Collection[str | None],
) -> tuple[PlaceVerdict, tuple[PlaceVerdict, ...]]:
    """The verdict on a window's pool, and on each of its segments.

    sample      of this window
    standing    the newest verdicts on all windows, this one included if it was judged before, in the order
                of their first verdicts
    in_breach   places whose last verdict other than inconclusive was a breach, in whichever window

    Raises BadInput for an error rate outside (0, 1), or a horizon below 1.
    """
    segments = list(sample.places)
    spent = rules.error_rate / 2 if segments else rules.error_rate
    pool = _judge_pool(rules, window, sample, standing, None in in_breach, spent)
    return pool, _judge_segments(rules, window, sample, standing, in_breach, spent)


def _judge_pool(
    rules: Rules, window: str, sample: WindowSample, standing: NewestVerdicts, in_breach: bool,
    spent: float,
) -> PlaceVerdict:
    measured = sample.measured(None)
    chosen = limits_of(rules, window, None, standing, spent)
    factors = [
        sample.log_factors(against.limit, None, rules.promise(against.error_rate))
        for against in chosen
    ]
    lives = [
        _life_of(rules, window, against, f, standing) for against, f in zip(chosen, factors, strict=True)
    ]
    limits = tuple(against.limit for against in chosen)
    evidence_kept = tuple(sample.kept(limit, None) for limit in limits)
    drawn, tracked = _tracked(window, sample, None, standing)
    return PlaceVerdict(
        segment=None,
        measured=measured,
        limits=limits,
        factors=tuple(tuple(f.tolist()) for f in factors),
        # on one scale: of every limit an alarm is due at the rate of the whole
        evidence=tuple(
            so_far.evidence + float(np.log(against.error_rate / rules.error_rate))
            for so_far, against in zip(lives, chosen, strict=True)
        ),
        needed=float(-np.log(rules.error_rate)),
        verdict=verdict_of(
            measured, limits, any(so_far.alarm for so_far in lives), in_breach, evidence_kept, tracked, drawn
        ),
        source=sample.source(None),
        kept=evidence_kept,
        sure=_sure(rules, sample, None, spent),
        drawn=drawn,
        tracked=tracked,
    )


def _life_of(
    rules: Rules, window: str, against: Against, factors: Floats, standing: NewestVerdicts
) -> EvidenceSoFar:
    """What the life of one of the pool's limits says at this window, `factors` (G,) being the window's."""
    name = against.limit.name
    series = {
        window_name: _stored(places, lambda member: member == (None, name))
        for window_name, places in standing.items()
    }
    series[window] = {(None, name): factors}
    evidence_of_windows = family_evidence(
        rules.promise(against.error_rate), list(series.values()), rules.correction
    )
    return evidence_of_windows[list(series).index(window)][None, name]


def _judge_segments(
    rules: Rules, window: str, sample: WindowSample, standing: NewestVerdicts,
    in_breach: Collection[str | None], spent: float,
) -> tuple[PlaceVerdict, ...]:
    """All segments at once, of whatever column: one family, in which every limit of every segment counts."""
    segments = list(sample.places)
    if not segments:
        return ()
    share = spent / len(segments)
    # of a drop, half is for how well other windows are known: its members count twice
    members = len(segments) * (rules.limits + (rules.drop is not None))
    of_one = rules.promise(spent / members)
    chosen = {name: limits_of(rules, window, name, standing, share) for name in segments}
    factors_now: dict[_Member, Floats] = {
        (name, a.limit.name): sample.log_factors(a.limit, name, of_one)
        for name in segments for a in chosen[name]
    }
    series = {
        window_name: _stored(places, lambda member: member[0] is not None)
        for window_name, places in standing.items()
    }
    series[window] = factors_now
    promise = rules.promise(spent)
    lives = family_evidence(promise, list(series.values()), rules.correction, members)
    evidence_now = lives[list(series).index(window)]

    def verdict(name: str) -> PlaceVerdict:
        measured = sample.measured(name)
        limits = tuple(against.limit for against in chosen[name])
        evidence_of_limits = [evidence_now[name, limit.name] for limit in limits]
        evidence_kept = tuple(sample.kept(limit, name) for limit in limits)
        drawn, tracked = _tracked(window, sample, name, standing)
        return PlaceVerdict(
            segment=name,
            measured=measured,
            limits=limits,
            factors=tuple(tuple(factors_now[name, limit.name].tolist()) for limit in limits),
            evidence=tuple(so_far.evidence for so_far in evidence_of_limits),
            needed=float(np.log(members / spent)),
            verdict=verdict_of(
                measured, limits, any(so_far.alarm for so_far in evidence_of_limits), name in in_breach,
                evidence_kept, tracked,
                drawn,
            ),
            source=sample.source(name),
            kept=evidence_kept,
            sure=_sure(rules, sample, name, share),
            drawn=drawn,
            tracked=tracked,
        )

    return tuple(verdict(name) for name in segments)


def judged_without_tests_alone(verdicts: Iterable[PlaceVerdict]) -> bool:
    """Whether some of these verdicts are of a version that did not test windows by themselves: there its bets
    have all of the error rate, and the monitor goes on so."""
    return any(len(row) == len(EFFECTS) for place in verdicts for row in place.factors)


def _stored(
    places: Mapping[str | None, PlaceVerdict], is_wanted: Callable[[_Member], bool]
) -> dict[_Member, Floats]:
    """The log factors (G,) that the verdicts on a window rest on, of the members that are wanted."""
    rows = {
        (place, limit.name): row
        for place, verdict in places.items()
        for limit, row in zip(verdict.limits, verdict.factors, strict=True)
    }
    return {member: np.array(row) for member, row in rows.items() if is_wanted(member)}


def _tracked(
    window: str, sample: WindowSample, segment: str | None, standing: NewestVerdicts
) -> tuple[OwnDraws | None, Tracked | None]:
    """What the draws of a place say alone, and with those of the windows before it, in order of time."""
    own_draws = sample.own_draws(segment)
    if own_draws is None:
        return None, None
    places = (standing[name].get(segment) for name in sorted(name for name in standing if name < window))
    before = [place.drawn for place in places if place is not None and place.drawn is not None]
    return own_draws, track([*before[1 - MOST_WINDOWS_BACK:], own_draws], sample.confidence, sample.bounds)


def _sure(
    rules: Rules, sample: WindowSample, segment: str | None, spent: float
) -> float | None:
    """What the measure is at least (or at most), where windows are held against other windows."""
    if rules.drop is None:
        return None
    rate = rules.drop.knowing(spent / rules.limits, rules.horizon)
    return sure_end(sample, segment, rules.worse, rate)


def begins_anew(before: Rules, after: Rules) -> tuple[str, ...]:
    """The names of the limits of `after` whose evidence begins anew, in order.

    What becomes of the evidence of a monitor when its rules are amended.

    The factor of a window is evidence against "the measure is within this limit", given everything before the
    window.  So it stays valid whatever else about the monitor is changed between two windows, and by whom,
    after whatever look at the data: the next window is only ever judged by rules that were fixed before it
    was due. What the factors of one limit cannot do is speak about another limit.  Hence:

      a limit with another value          its evidence begins anew; that of the other limits goes on
      a limit added or removed; another   the share of each limit, or the rule, is another: all evidence
                                          begins
      error rate, test or correction      anew
      anything else                       the evidence goes on

    A beginning is an optional restart, and it is not free.  The bound on false breaches holds for each
    stretch between two beginnings (or real breaches) by itself, so k beginnings allow k times the error rate
    in all.  And evidence that had gathered against a limit is given up with it: whoever moves a limit
    whenever the evidence rises delays every breach.
    """
    limits_now = _limits(after)
    with_old_limits = replace(
        after, floor=before.floor, ceiling=before.ceiling, drop=before.drop, reference=before.reference
    )
    if with_old_limits != before or limits_now.keys() != _limits(before).keys():
        return tuple(limits_now)
    return tuple(name for name, value in limits_now.items() if value != _limits(before)[name])


def carried_over(place: PlaceVerdict, limits: Collection[str]) -> PlaceVerdict:
    """A verdict on an earlier window, with the evidence against these limits only.

    Its estimate stays, so it can still be compared with.
    """
    kept_limits = [i for i, limit in enumerate(place.limits) if limit.name in limits]
    return replace(
        place,
        limits=tuple(place.limits[i] for i in kept_limits),
        factors=tuple(place.factors[i] for i in kept_limits),
        evidence=tuple(place.evidence[i] for i in kept_limits),
        kept=tuple(place.kept[i] for i in kept_limits) if place.kept else (),
    )


def _limits(rules: Rules) -> dict[str, object]:
    """Name -> all that its value depends on."""
    basis_of_limit: dict[str, object] = {}
    if rules.floor is not None:
        basis_of_limit["floor"] = rules.floor
    if rules.ceiling is not None:
        basis_of_limit["ceiling"] = rules.ceiling
    if rules.drop is not None:
        compared = rules.reference if rules.drop.than == "reference" else None
        basis_of_limit[rules.drop.than] = (rules.drop, compared)
    return basis_of_limit
