"""Opening a window: look at its predictions, decide how many labels it is worth, and write that down.

Every opening records why it got its labels:

    first              there is nothing to compare with yet: the full budget
    late predictions   they replaced what was there: the full budget
    suspicious         a signal is newly raised (evalcore.monitoring.signals): the full budget
    quiet              none is: what would decide, judged by the last windows before it, from
                       `quiet_labels` to the full budget (evalcore.monitoring.sizing); with `sizing: fixed`
                       always `quiet_labels`
    outcomes complete  all labels that come by themselves have come: they replace what was sampled, and people
                       are asked for what is still missing
    follow-up          a verdict was inconclusive, and the window's evaluation is extended: by the labels that
                       would decide it, or call a breach where its interval lies beyond a limit; at most the
                       full budget, and at most `follow_ups` times a window

    catching up        the window was opened late, and the labels there were went to newer ones: none for now
    spread             the month's labels are too few for every window: this one is passed over, so that
                       others later in the month get theirs
    labelled later     it was opened without labels, and there are some now

No opening gets more labels than are left of the month's. With none left the window is opened without an
evaluation.  Newer windows get what is left of a month first (`shared_out`).
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.monitoring.calendar import Window, seasons
from assay.evalcore.monitoring.judging import fixed_watched
from assay.evalcore.monitoring.profile import Profile
from assay.evalcore.monitoring.signals import Signal, Watched, beyond_limit, expectation, is_quiet, signals
from assay.evalcore.monitoring.tracking import MOST_WINDOWS_BACK
from assay.flows.monitor.judging import size_for
from assay.flows.monitor.month import (
    is_behind,
    is_passed_over,
    is_short,
    kept_from,
    left_this_month,
    month_of,
    room_for_late,
    too_old,
)
from assay.flows.monitor.run import MonitorRun
from assay.flows.monitor.versions import Versions
from assay.tasks.effects import effect
from assay.tasks.ledger.monitors import (
    Claim,
    Opening,
    WindowVerdict,
    create_claim,
    create_opening,
    current,
    read_claims,
    signals_of,
)
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.responses import IncidentResponse
from assay.tasks.pool.inherited import labels_by_item
from assay.tasks.pool.known_answers import outcomes_of
from assay.tasks.pool.window import NoRows, WindowTraffic, files_digest, read_traffic
from assay.tasks.sources.reader import is_there

_log = logging.getLogger("assay.monitor")


def open_window(run: MonitorRun, window: Window) -> Opening | None:
    """Open a window for the first time, or again with predictions that changed. None: they are unchanged.

    Raises NoFile when nothing is there, NothingToJudge for too few predictions, BadInput when they cannot be
    read.
    """
    spec, before = run.spec_of(window.name), list(run.openings.get(window.name, ()))
    profiles = known_profiles(run.versions, window, run.openings)
    traffic = _traffic(run, window, next(iter(profiles.values()), None))
    complete = outcomes_due(run, window)
    if before and traffic.content == before[-1].content and not complete:
        return None
    apart = unusual_signals(run.openings, run.responses)
    signals = signals_of_traffic(run.versions, window, traffic.profile, profiles, apart) + _expected_beyond(
        run, window, traffic.profile, profiles
    )
    replaced = before[-1].replaced + 1 if before else 0
    repeat_reason = "outcomes complete" if complete else "late predictions"
    reason = repeat_reason if before else _why(signals, _standing_before(apart, profiles, window))
    sizing = size_for(run.versions, window.name, run.verdicts) if reason == "quiet" else None
    quiet = spec.quiet_labels if sizing is None else sizing.labels
    labels = quiet if reason == "quiet" else spec.budget.labels
    name = f"{spec.name}-{window.name}" + (f"-r{replaced}" if replaced else "")
    inherits, carry = _inherits(run, window), spec.monitor.carry_over
    if reason == "outcomes complete" and spec.starts_warm:
        inherits, carry = current(before)[-1].evaluation, 1.0   # the same items: their labels count in full
    wanted_opening = Opening(
        window=window.name, number=len(before) + 1, replaced=replaced, evaluation=name,
        labels=min(labels, traffic.rows), inherits=inherits, carry=carry if inherits else 0.0,
        content=traffic.content, files=traffic.files, month=month_of(run), why=reason, opened=run.now,
        signals=tuple(signals), sizing=sizing, profile=traffic.profile,
        outcomes=outcomes_then(run, window, complete=complete),
    )
    if window.name in run.held:
        return _put(run.ledger, replace(
            wanted_opening, evaluation=None, labels=0, inherits=None, carry=0.0, why="catching up",
            sizing=None,
        ))
    if reason in ("first", "quiet") and is_passed_over(run, window):
        return _put(run.ledger, replace(
            wanted_opening, evaluation=None, labels=0, inherits=None, carry=0.0, why="spread", sizing=None,
        ))
    if not complete:
        behind = is_behind(run, window)
        keep = kept_from(run, window, further=behind or reason == "quiet")
        # a quiet window on time has its own `quiet_labels` before those of windows to come
        reserve = max(kept_from(run, window, further=False), left_this_month(run) - spec.quiet_labels)
        if reason == "first" and is_short(run, window):
            keep = reserve
        return _create(run, wanted_opening, keep if behind else min(keep, reserve))
    return _open_complete(run, window, replace(wanted_opening, contradicted=contradicted(run, window)))


def _open_complete(run: MonitorRun, window: Window, draft: Opening) -> Opening:
    """Where the outcomes say everything nobody is asked, so the month's budget does not matter."""
    if not run.spec_of(window.name).all_known_when_complete:
        return _create(run, draft)
    opening = _put(run.ledger, replace(draft, labels=1, inherits=None, carry=0.0))
    _log.info("%s, window %s: outcomes complete", run.spec.name, window.name)
    return opening


class NothingToJudge(BadInput):
    """Raised where a window holds too few predictions for a verdict. `state` is `empty` where it holds none
    and `small` below `monitor.least_items`; `files` is the digest of the files that were looked at."""

    def __init__(self, state: Literal["empty", "small"], message: str, files: str) -> None:
        super().__init__(message)
        self.state, self.files = state, files


def _traffic(run: MonitorRun, window: Window, like: Profile | None) -> WindowTraffic:
    spec = run.spec_of(window.name)
    of_window = spec.evaluation(window, spec.name, 1, None, 0)
    try:
        traffic = read_traffic(of_window, like, run.workers)
    except NoRows as error:
        raise NothingToJudge("empty", str(error), files_digest(of_window)) from None
    minimum = spec.monitor.least_items
    if traffic.rows < minimum:
        text = f"{plural(traffic.rows, 'item')}, and monitor.least_items asks for {minimum:,}"
        raise NothingToJudge("small", text, traffic.files)
    return traffic


def open_follow_up(run: MonitorRun, verdict: WindowVerdict) -> Opening | None:
    """A further batch for a window whose verdict is inconclusive; None where the rule allows none. It asks
    for as many labels as would decide, as far as the month has them."""
    labels = verdict.labels_to_decide
    if labels is None or not run.buys or not may_follow_up(run, verdict):
        return None
    keep = kept_from(run, run.window(verdict.window), further=True)
    if left_this_month(run) - keep < 1:
        return None
    spec, of_window = run.spec_of(verdict.window), run.openings[verdict.window]
    first_opening = next(opening for opening in current(of_window) if opening.evaluation is not None)
    return _create(run, Opening(
        window=verdict.window, number=len(of_window) + 1, replaced=first_opening.replaced,
        evaluation=first_opening.evaluation, inherits=None, carry=0.0,
        labels=min(labels, spec.budget.labels), content=first_opening.content, files=first_opening.files,
        month=month_of(run), why="follow-up", opened=run.now, outcomes=first_opening.outcomes,
    ), keep)


def may_follow_up(run: MonitorRun, verdict: WindowVerdict) -> bool:
    """Whether the rule allows a further batch after this verdict, in this month or a later one. It must be
    inconclusive, recent enough, and have follow-ups left."""
    if verdict.verdict != "inconclusive" or verdict.labels_to_decide is None:
        return False
    watch, window = run.spec_of(verdict.window).monitor, run.window(verdict.window)
    if run.now > run.due_at(window) + timedelta(days=watch.follow_up_days):
        return False
    got = [opening for opening in current(run.openings[verdict.window]) if opening.evaluation is not None]
    return len(got) <= watch.follow_ups


def label_later(run: MonitorRun) -> bool:
    """Give labels to the newest window that has none, if there are any left for it; whether it got some.

    A window that somebody named may be of any age; one that was named alone need leave nothing for others.
    """
    asked_for = run.asked_for
    for name in reversed([candidate for candidate in run.active if not asked_for or candidate in asked_for]):
        openings, window = current(run.openings[name]), run.window(name)
        if name in run.done.failed or any(opening.evaluation is not None for opening in openings):
            continue
        spec, keep = run.spec_of(name), 0 if len(asked_for) == 1 else kept_from(run, window, further=True)
        budget, base = left_this_month(run) - keep, openings[-1]
        refused = not asked_for and (too_old(run, window) or room_for_late(run) < 1)
        if refused or budget < spec.quiet_labels:
            continue
        inherits = _inherits(run, window)
        profile = _profile(openings)
        rows = spec.quiet_labels if profile is None else profile.rows
        opening = _create(run, replace(
            base, number=len(run.openings[name]) + 1,
            evaluation=f"{spec.name}-{name}" + (f"-r{base.replaced}" if base.replaced else ""),
            labels=min(spec.quiet_labels, rows), inherits=inherits,
            carry=spec.monitor.carry_over if inherits else 0.0, month=month_of(run), why="labelled later",
            opened=run.now, signals=(), sizing=None, profile=None,
        ), keep)
        run.add_opening(opening)
        return opening.evaluation is not None
    return False


def _create(run: MonitorRun, draft: Opening, keep: int = 0) -> Opening:
    """Put an opening, with no more labels than the month has left; without an evaluation if it has none.

    keep: labels of the month that it leaves alone
    """
    got = _claimed(run, draft, keep)
    if got < 1:
        affordable = replace(draft, evaluation=None, labels=0, inherits=None, carry=0.0)
    else:
        affordable = replace(draft, labels=got)
    opening = _put(run.ledger, affordable)
    labels = plural(opening.labels, "label")
    _log.info("%s, window %s: %s, %s", run.spec.name, opening.window, opening.why, labels)
    return opening


@effect("claim-labels")
def _claimed(run: MonitorRun, draft: Opening, keep: int) -> int:
    """The labels that an opening gets of its month, claimed so that no other run spends them too."""
    place = (draft.window, draft.number)
    while True:
        claims = read_claims(run.ledger, draft.month)
        own_claim = next((claim for claim in claims if (claim.window, claim.opening) == place), None)
        if own_claim is not None:
            return own_claim.labels
        # openings that others are about to write, or wrote since this run began
        unknown = sum(c.labels for c in claims if len(run.openings.get(c.window, ())) < c.opening)
        budget = left_this_month(run) - unknown - keep
        if budget < 1:
            return 0
        create_claim(run.ledger, Claim(
            month=draft.month, number=len(claims) + 1, window=draft.window, opening=draft.number,
            labels=min(draft.labels, budget),
        ))


@effect(
    "open-window",
    shown=lambda ledger, opening: f"open {opening.evaluation or opening.window}: {opening.why}",
)
def _put(ledger: Ledger, opening: Opening) -> Opening:
    return create_opening(ledger, opening)


def _why(measured: Sequence[Signal], standing: Collection[str]) -> str:
    """standing: signals that were raised in the window before already, whose labels say what they mean."""
    if not measured:
        return "first"
    return "quiet" if is_quiet([s for s in measured if s.name not in standing]) else "suspicious"


def _standing_before(
    apart: Mapping[str, frozenset[str]], profiles: Mapping[str, Profile], window: Window
) -> frozenset[str]:
    """The signals that were raised in the newest window before this one."""
    before = max((name for name in profiles if name < window.name), default=None)
    return frozenset() if before is None else apart.get(before, frozenset())


def _inherits(run: MonitorRun, window: Window) -> str | None:
    """The last evaluation of the latest earlier window of the same model whose verdict rests on labels."""
    spec, model = run.spec_of(window.name), run.versions.model_of(window.name)
    if spec.monitor.carry_over == 0 or not spec.starts_warm:
        return None
    standing = run.standing
    earlier = sorted(
        name for name, verdict in standing.items()
        if name < window.name and run.versions.model_of(name) == model and verdict.rests_on.labels
    )
    return standing[earlier[-1]].rests_on.evaluation if earlier else None


def known_profiles(
    versions: Versions, window: Window, openings: Mapping[str, Sequence[Opening]]
) -> dict[str, Profile]:
    """The profile of each window of the same model, by name; the first says where the edges of bins lie.
    Windows without a profile are left out."""
    model = versions.model_of(window.name)
    return {
        name: profile for name in sorted(openings)
        if versions.model_of(name) == model and (profile := _profile(openings[name])) is not None
    }


def signals_of_traffic(
    versions: Versions, window: Window, profile: Profile, profiles: Mapping[str, Profile],
    apart: Mapping[str, frozenset[str]],
) -> list[Signal]:
    """The signals of a window against earlier ones of the same model.

    profiles   their profiles (`known_profiles`)
    apart   what was unusual about them (`unusual_signals`)
    """
    spec = versions.version_of(window.name).spec
    before = [
        Watched(
            profile=profiles[name], seasons=seasons(spec.window(name)), apart=apart.get(name, frozenset())
        )
        for name in profiles if name < window.name
    ]
    new = Watched(profile=profile, seasons=seasons(window))
    watch, offered = spec.monitor, spec.labels.offered
    return signals(
        [*before, new], rate=watch.signal_rate, fewest=watch.signal_windows,
        classes=tuple(reversed(offered)) if len(offered) == 2 else (),
    )


def unusual_signals(
    openings: Mapping[str, Sequence[Opening]], responses: Sequence[IncidentResponse]
) -> dict[str, frozenset[str]]:
    """Window -> the signals that were raised in it, and that nobody has said are ordinary. Acknowledged
    signals count as ordinary from then on. Every window that was opened has an entry, which may be empty."""
    accepted = {
        (window, signal) for response in responses if response.action == "acknowledge"
        for window in response.windows for signal in response.signals
    }
    return {
        window: frozenset(
            s.name for s in signals_of(of_window) if s.raised and (window, s.name) not in accepted
        )
        for window, of_window in openings.items()
    }


def _expected_beyond(
    run: MonitorRun, window: Window, profile: Profile, profiles: Mapping[str, Profile]
) -> list[Signal]:
    """Whether the probabilities, corrected by their record, expect this window beyond a fixed limit."""
    limit, standing = run.spec_of(window.name).limit, run.standing
    if profile.expected is None or limit is None:
        return []
    before = [
        (profiles[name].expected, standing[name].overall.drawn)
        for name in sorted(profiles) if name < window.name and name in standing
    ]
    pairs = [(value, drawn) for value, drawn in before if value is not None and drawn is not None]
    if len(pairs) < run.spec_of(window.name).monitor.signal_windows:
        return []
    fixed = fixed_watched(limit.min, limit.max)
    return beyond_limit(expectation(profile.expected, pairs[-MOST_WINDOWS_BACK:]), fixed)


def _profile(openings: Sequence[Opening]) -> Profile | None:
    """Of a window's newest predictions."""
    return next((opening.profile for opening in reversed(openings) if opening.profile is not None), None)


def outcomes_due(run: MonitorRun, window: Window) -> bool:
    """Whether the outcomes of a window are complete by now, and no opening of it has used them so.

    Labels that come by themselves: which of a window are there, and when they are complete.

    A window is opened as soon as it is due, with the outcomes that have arrived by then; people are asked
    about a sample of the other items. Once the outcomes are complete (`outcomes.complete_after_days`) it is
    opened again: with `outcomes.otherwise` every item then has a label, nobody is asked, and the measure is
    exact. An outcome that is not what people had said holds, because it is what happened; the opening names
    such items.
    """
    openings = run.openings.get(window.name, [])
    used = bool(openings) and openings[-1].outcomes == "complete"
    return run.spec_of(window.name).outcomes_complete(window, run.now) and not used


def outcomes_then(
    run: MonitorRun, window: Window, *, complete: bool
) -> Literal["arrived", "complete"] | None:
    """Which outcomes of a window there are.

    A source of which no file is there yet is waited for; once they should be complete it is an error.
    """
    outcomes = run.spec_of(window.name).outcomes
    if outcomes is None:
        return None
    if complete:
        return "complete"
    return "arrived" if is_there(window.fill(outcomes.source)) else None


def contradicted(run: MonitorRun, window: Window) -> tuple[str, ...]:
    """The items of a window that people gave another label than their outcome: what happened holds. Item ids
    in order; people are told, since one of both must be wrong."""
    labels: dict[str, int] = {}
    for opening in current(run.openings.get(window.name, ())):
        if opening.evaluation is not None:
            labels |= labels_by_item(run.of_evaluation(opening.evaluation))
    if not labels:
        return ()
    spec = run.spec_of(window.name).evaluation(window, run.spec.name, 1, None, 0, "complete")
    outcomes = outcomes_of(spec, labels.keys())
    return tuple(sorted(item_id for item_id, label in outcomes.items() if label != labels[item_id]))
