"""A verdict on a window in words: the same in the alert, on the window's page and in Prefect.

`news_of_place` gathers what is to be said of one place (the whole pool, or a segment), from the verdicts
alone. So an alert and the page it links to cannot differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import exp, inf

from assay.evalcore.monitoring.betting import EFFECTS
from assay.evalcore.monitoring.signals import Expectation, Signal
from assay.evalcore.monitoring.tracking import PartChange, part_changes, simultaneous_half
from assay.evalcore.monitoring.verdicts import (
    Measured,
    PlaceVerdict,
    Promise,
    WatchedLimit,
    lies_beyond,
    lies_within,
    needed_for_ok,
    shown_by_windows,
)
from assay.evalcore.types import TRUSTING_INTERVALS
from assay.tasks.ledger.monitors import WindowVerdict, is_question, own_segment
from assay.tasks.ledger.responses import IncidentResponse
from assay.tasks.report import wording
from assay.tasks.report.history.record import HistoryRow, MonitorHistory, held_against

STATES = {
    "ok": "within the limits",
    "breach": "in breach",
    "inconclusive": "inconclusive",
    "waiting": "people are working",
    "unlabelled": "not labelled",
    "missing": "no predictions came",
    "empty": "no predictions in it",
    "small": "too few predictions for a verdict",
    "stale": "people have not finished in time",
    "failed": "the last run failed",
}
SIGNALS = {
    "rows": "number of items",
    "repeats": "share of items that repeat another one",
    "new_classes": "new predicted classes",
    "lost_classes": "predicted classes that are lost",
    "collapse": "all predictions are of one class",
    "psi": "distribution of scores (PSI)",
    "ks": "distribution of scores (Kolmogorov-Smirnov)",
    "predictions": "share of predicted positives",
    "classes": "shares of the predicted classes",
    "expected": "measure that the probabilities expect",
    "beyond_limit": "what the probabilities expect, corrected by labels so far, is beyond the limit by",
}
_MUST = {"below": "at least", "above": "at most"}
_TIMES = {1: "once", 2: "twice"}
_BEYOND = {"below": "below", "above": "above"}
_LARGEST_FACTOR = 1_000_000   # of evidence, as a factor


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceNews:
    """What is to be said of one place of a window."""

    verdict: WindowVerdict
    place: PlaceVerdict
    before: tuple[str, PlaceVerdict] | None    # the newest verdict on an earlier window
    breached: tuple[str, ...]    # windows of the breach that stands, or that this verdict ends; sorted
    raised: tuple[Signal, ...]   # signals
    worst: PlaceVerdict | None = None   # of those windows without this one, the one furthest beyond its limit
    last: PlaceVerdict | None = None    # and the last one
    changes: tuple[PartChange, ...] = ()   # of the parts, beside windows before; the largest fall first
    model: str | None = None     # the version of the model, where the spec says it
    promise: str = ""            # how rare a false breach is
    reason: str = ""             # why the spec was changed, in the version that the window belongs to
    labelled: datetime | None = None    # when its last labels had come, where that is known
    shown_from: str | None = None       # of `breached` the first whose own interval lies beyond its limit

    @property
    def recovers(self) -> bool:
        """Whether this verdict ends a breach: it is ok, and windows before it stood in breach. People are
        told of it as good news, with the windows that it ends."""
        return self.place.verdict == "ok" and bool(self.breached)

    @property
    def moved_limit(self) -> tuple[WatchedLimit, WatchedLimit] | None:
        """The limit of the breach that this verdict ends, before and now, if that is what moved: by the old
        one this window would not be ok."""
        if not self.recovers or self.last is None:
            return None
        limits = {limit.name: limit for limit in self.place.limits if limit.name in ("floor", "ceiling")}
        for limit in self.last.limits:
            new_limit = limits.get(limit.name)
            if new_limit is not None and new_limit.value != limit.value and not lies_within(
                self.place.measured, [limit]
            ):
                return limit, new_limit
        return None

    @property
    def deepens(self) -> bool:
        """Whether a breach that stands got worse: all of the interval lies beyond every value so far. People
        are told once more of such a breach, and of no other."""
        limit = limit_in_question(self.place)
        if self.place.verdict != "breach" or self.worst is None or limit is None:
            return False
        before = self.worst.measured.value
        return before is not None and lies_beyond(self.place.measured, replace(limit, value=before))

    @property
    def name(self) -> str:
        """The measure and, of a segment, where: `F1` or `F1 in region=north`."""
        segment = own_segment(self.place)
        of = f" in {segment}" if segment else ""
        return wording.measure_name(self.place.measure or self.verdict.measure) + of


def news_of_place(
    verdict: WindowVerdict, place: PlaceVerdict, verdicts: Sequence[WindowVerdict],
    signals: Sequence[Signal] = (), reasons: Mapping[int, str] | None = None,
) -> PlaceNews:
    """Gather it.

    verdicts   all of the monitor; those after this one are not looked at
    signals    of the window's predictions
    reasons    why the spec was changed, by version
    """
    earlier = [v for v in verdicts if v.number < verdict.number]
    breached: set[str] = set()
    before: tuple[str, PlaceVerdict] | None = None
    standing: dict[str, PlaceVerdict] = {}
    for v, same in _of_place(earlier, place.segment):
        if same.verdict == "breach":
            breached.add(v.window)
            standing[v.window] = same
        elif same.verdict == "ok":
            breached.clear()
            standing.clear()
        if v.window < verdict.window and (before is None or v.window >= before[0]):
            before = v.window, same
    if place.verdict == "breach":
        breached.add(verdict.window)
    last_place = list(standing.values())[-1] if standing else None
    in_breach = standing | ({verdict.window: place} if place.verdict == "breach" else {})
    standing.pop(verdict.window, None)     # judged again
    return PlaceNews(
        verdict=verdict, place=place, before=before, breached=tuple(sorted(breached)),
        raised=tuple(signal for signal in signals if signal.raised),
        changes=_changes_of_parts(verdict, place, earlier),
        worst=max(standing.values(), key=_how_far, default=None), last=last_place,
        reason=(reasons or {}).get(verdict.version, ""),
        shown_from=min((name for name, breach in in_breach.items() if _is_shown(breach)), default=None),
    )


def _is_shown(place: PlaceVerdict) -> bool:
    """Whether the interval of a window lies beyond a limit by itself."""
    return any(lies_beyond(place.measured, limit) for limit in place.limits)


_WINDOWS_COMPARED = 8   # windows before, that a change of a part is told against


def _changes_of_parts(
    verdict: WindowVerdict, place: PlaceVerdict, earlier: Sequence[WindowVerdict]
) -> tuple[PartChange, ...]:
    """Of the whole pool: its parts beside the last windows before without a breach, by the same spec."""
    if place.segment is not None or not verdict.parts:
        return ()
    quiet = {
        v.window: v for v in earlier if v.window < verdict.window and v.version == verdict.version
    }
    before = [
        {part.name: part.drawn for part in quiet[name].parts}
        for name in sorted(quiet) if quiet[name].overall.verdict != "breach"
    ][-_WINDOWS_COMPARED:]
    parts = {part.name: part.drawn for part in verdict.parts}
    return tuple(part_changes(parts, before, place.measured.confidence))


def what_fell(news: PlaceNews) -> str:
    """`Recall fell most: 0.612, before 0.781, a change of -0.169 (-0.290 to -0.048).`, of a breach.

    The intervals of all parts that were looked at hold together.
    """
    if news.place.verdict != "breach" or not news.changes:
        return ""
    names = [wording.measure_name(change.name) for change in news.changes]
    fell = news.changes[0]
    if fell.upper >= 0:
        return f"Of {', '.join(names)} none fell beyond what chance explains, by itself."
    change = wording.value_and_interval(fell.change, fell.lower, fell.upper)
    other_parts = f", held together with {', '.join(names[1:])}" if names[1:] else ""
    moved = f"{wording.number(fell.now, 3)}, before {wording.number(fell.before, 3)}"
    return (f"{names[0]} fell most: {moved}, a change of "
            f"{change}{other_parts}.")


def _how_far(place: PlaceVerdict) -> float:
    """How far an estimate lies beyond the limit in question."""
    limit, value = limit_in_question(place), place.measured.value
    if limit is None or value is None:
        return -inf
    return limit.value - value if limit.side == "below" else value - limit.value


def windows_in_words(rows: Sequence[HistoryRow]) -> str:
    """The names of the first and the last of consecutive windows, `2026-11-10 to 2026-11-22`, or the name of
    the only one. There has to be one at least."""
    first_window, last_window = rows[0].window, rows[-1].window
    return first_window if first_window == last_window else f"{first_window} to {last_window}"


def no_data_in_words(history: MonitorHistory) -> str | None:
    """`No predictions since 2026-11-10: 13 windows in a row. The newest verdict is of 2026-11-09.` One or two
    sentences for the head of a page.

    None where the newest window has predictions.
    """
    silent = history.without_data
    if not silent:
        return None
    judged = [row.window for row in history.rows if row.verdict is not None]
    newest = f" The newest verdict is of {judged[-1]}; nothing is known since." if judged else ""
    row = "" if len(silent) == 1 else " in a row"
    return f"No predictions since {silent[0].window}: {wording.plural(len(silent), 'window')}{row}.{newest}"


def again_in_words(row: HistoryRow) -> str:
    """`predictions replaced once, verdict reissued twice`; nothing for a window that was judged once."""
    counts = [("predictions replaced", row.replaced), ("verdict reissued", row.reissued)]
    return ", ".join(f"{what} {_TIMES.get(n, f'{n} times')}" for what, n in counts if n)


def false_breaches(history: MonitorHistory) -> str:
    """A sentence on how often a breach is called although there is none, by the error rate and the test of
    this monitor. It names the number of windows that the rate is about."""
    return promise_in_words(
        Promise(error_rate=history.error_rate, test=history.test, horizon=history.horizon)
    )


def promise_in_words(promise: Promise) -> str:
    """A sentence on how often a breach is called although there is none: in each window (cusum), ever
    between two real ones (e-process), else within the horizon, with the error rate as its chance."""
    chance = wording.percent(promise.error_rate)
    when = {
        "cusum": "in each window",
        "e-process": "ever, between two real ones,",
    }.get(promise.test, f"in any {promise.horizon} windows")
    return f"A false breach is called {when} with a chance of at most {chance} ({promise.test})."


def news_in(history: MonitorHistory, row: HistoryRow) -> list[PlaceNews]:
    """What is to be said of a window of a history: of the whole pool first, then of its segments.

    Nothing for a window without a verdict.
    """
    if row.verdict is None:
        return []
    places = (row.verdict.overall, *row.verdict.segments)
    reasons = {amendment.number: amendment.reason for amendment in history.amendments}
    return [
        news_of_place(row.verdict, place, history.verdicts, row.signals, reasons) for place in places
    ]


def first_news(all_news: Sequence[PlaceNews]) -> PlaceNews:
    """What is told first of a window: the whole pool, or a segment where only segments are in breach; of
    several questions one in breach, or undecided where the first is ok."""
    in_breach = [news for news in all_news if news.place.verdict == "breach"]
    undecided = [
        news for news in all_news if is_question(news.place) and news.place.verdict == "inconclusive"
    ] if all_news[0].place.verdict == "ok" else []
    return next(iter((*in_breach, *undecided, all_news[0])))


def alert_headline(news: PlaceNews) -> str:
    """What, the value with its interval, the limit, and since when.

    `F1 in breach: 0.712 (0.662 to 0.762), must be at least 0.8, since 2026-11-20`: the first window whose own
    interval lies beyond the limit; where none does, the window in which all of them together called it.
    """
    what = "recovered" if news.recovers else news.place.verdict
    state = {"breach": "in breach"}.get(what, what)
    if beyond := beyond_in_words(news.place):
        state = beyond
    if news.deepens:
        state = "worse, still in breach"
    if news.moved_limit is not None:
        return f"{news.name} {closed_in_words(news)}: {value_in_words(news.place.measured)}"
    parts = [f"{news.name} {state}: {value_in_words(news.place.measured)}", *_limit_in_question(news)]
    begun = f"since {news.shown_from}" if news.shown_from else f"called in {''.join(news.breached[:1])}"
    if what == "breach":
        parts.append(begun)
    elif what == "recovered":
        parts.append(f"was in breach{'' if news.shown_from else ','} {begun}")
    return ", ".join(parts)


def closed_in_words(news: PlaceNews) -> str:
    """`closed: floor changed from 0.7 to 0.25 (agreed); F1 did not improve`, of a breach that a change of its
    limit ends; nothing of any other."""
    if news.moved_limit is None or news.last is None:
        return ""
    old, new = news.moved_limit
    change = (f"{old.name} changed from {wording.limit_number(old.value)} to "
              f"{wording.limit_number(new.value)}")
    value, then = news.place.measured.value, news.last.measured.value
    up = 0.0 if value is None or then is None else value - then
    better = up > 0 if old.side == "below" else up < 0
    within = "above" if old.side == "below" else "below"
    measure = (f"{news.name} is not shown to be {within} {wording.limit_number(old.value)}" if better
               else f"{news.name} did not improve")
    return f"closed: {change}" + (f" ({news.reason})" if news.reason else "") + f"; {measure}"


def what_moved(news: PlaceNews) -> str:
    """Sentences on what moved in a window: the value in it and in the window before, and the signals that
    were raised before anyone labelled."""
    text = f"{news.name} is {_value(news.place.measured)} in window {news.verdict.window}."
    if news.before is not None:
        window, place = news.before
        text += f" In the window before, {window}, it was {value_in_words(place.measured)}."
    if news.raised:
        signals = ", ".join(map(signal_in_words, news.raised))
        text += f" Before anyone labelled, signals were raised: {signals}."
    return text


def with_windows_before(place: PlaceVerdict) -> str:
    """`With the 5 windows before it, by what their draws say: 0.812 (0.790 to 0.834).` One sentence, with
    about how much of the evidence is older.

    Nothing where there is no such interval.
    """
    track = place.tracked
    if track is None or place.measured.exact:
        return ""
    text = (f"With the {wording.plural(track.windows - 1, 'window')} before it, by what their draws say: "
            f"{wording.value_and_interval(track.value, track.lower, track.upper)}.")
    decided = shown_by_windows(place.measured, track, place.drawn, place.limits, place.kept)
    if place.verdict == "ok" and decided and not lies_within(place.measured, place.limits):
        text += " That is why it counts as ok."
    return text


def decided_with_windows(place: PlaceVerdict) -> str:
    """`with the windows before 0.790 to 0.834`, of a window that is ok by that interval alone. It stands
    behind the verdict of the window, which its own interval would leave open."""
    track = place.tracked
    if (track is None or place.verdict != "ok" or lies_within(place.measured, place.limits)
            or not shown_by_windows(place.measured, track, place.drawn, place.limits, place.kept)):
        return ""
    return f"with the windows before {wording.ends_in_words(track.value, track.lower, track.upper)}"


def expected_in_words(expected: Expectation | None) -> str:
    """What the model itself expects of a window, and its record, in a sentence; nothing without one. The
    record says how far earlier expectations were from what labels said."""
    if expected is None:
        return ""
    text = f"The probabilities of the predictions expect {wording.number(expected.value, 3)}"
    if expected.lean is None or expected.off is None or expected.corrected is None:
        return f"{text}; too few windows with labels yet to say what that is worth."
    high = "high" if expected.lean >= 0 else "low"
    return (f"{text}. In the {wording.plural(expected.windows, 'window')} before they were too {high} by "
            f"{wording.number(abs(expected.lean), 3)} on average; corrected by that "
            f"{wording.number(expected.corrected, 3)}, give or take {wording.number(expected.off, 3)}.")


def worst_segment(news: PlaceNews) -> str:
    """`Worst of 4 segments: carrier=HA 0.410 (0.330 to 0.520), each interval by itself.`, of a breach of the
    whole pool; nothing with fewer than two segments."""
    limit = limit_in_question(news.place)
    segments = [
        place for place in news.verdict.segments
        if place.measured.value is not None and place.question == news.place.question and own_segment(place)
    ]
    if news.place.verdict != "breach" or own_segment(news.place) or limit is None or len(segments) < 2:
        return ""
    sign = 1.0 if limit.side == "below" else -1.0
    drawn = [(own_segment(place), place.drawn) for place in segments if place.drawn is not None]
    if len(drawn) == len(segments):
        segment, estimate = min(drawn, key=lambda pair: sign * pair[1].value)
        half = simultaneous_half(estimate, segments[0].measured.confidence, len(drawn))
        lowest, highest = max(estimate.value - half, 0.0), estimate.value + half
        text = f"{segment} {wording.value_and_interval(estimate.value, lowest, highest)}"
        return f"Worst of {len(drawn)} segments: {text}; the intervals of all of them hold together."
    worst = min(segments, key=lambda place: sign * (place.measured.value or 0.0))
    text = f"{own_segment(worst)} {value_in_words(worst.measured)}"
    return f"Worst of {len(segments)} segments: {text}, each interval by itself."


def how_sure(news: PlaceNews) -> str:
    """The interval, what it rests on, and whether it alone would say the same."""
    m = news.place.measured
    on = (f"{wording.plural(m.labels, 'label')} of {wording.grouped_digits(news.verdict.pool)} predictions"
          if own_segment(news.place) is None else wording.plural(m.labels, "label"))
    if m.exact and m.labels < news.verdict.pool and own_segment(news.place) is None:
        return f"The value is exact: by the predictions alone, no label can change it ({on})."
    if m.exact:
        return f"The value is exact: every item is labelled ({on})."
    if m.lower is None or m.upper is None:
        return f"There is no interval. It rests on {on}."
    ends = wording.ends_in_words(m.value, m.lower, m.upper)
    text = f"The {wording.percent(m.confidence)} interval is {ends}, from {on}."
    if news.place.verdict != "breach" and news.verdict.interval in TRUSTING_INTERVALS:
        text = f"{text} {wording.TRUSTS_THE_SCORE}"
    if news.place.verdict == "breach":
        limit = limit_in_question(news.place)
        if limit is not None and lies_beyond(m, limit):
            return f"{text} All of it is {_BEYOND[limit.side]} {wording.limit_number(limit.value)}."
        return (f"{text} This interval alone does not show the breach: all windows since the last breach do, "
                "taken together.")
    further = (why_open(news.place), with_windows_before(news.place))
    return " ".join(part for part in (text, *further) if part)


def why_open(place: PlaceVerdict) -> str:
    """Of an open verdict whose whole interval lies on one side of the limit, what is missing; else nothing.

    `All of the interval is below 0.8, but a breach takes more evidence than one interval, so that false
    alarms stay rare: it is 7 now, and 20 calls one.`
    """
    m, limit = place.measured, limit_in_question(place)
    if place.verdict != "inconclusive" or limit is None:
        return ""
    if beyond_in_words(place):
        evidence = max(place.evidence)
        by_itself = (" So would draws of one window that are unlikely enough by themselves; these are not."
                     if tested_alone(place) else "")
        return (f"All of the interval is {_BEYOND[limit.side]} {wording.limit_number(limit.value)}, but a "
                "breach takes more evidence than one interval, so that false alarms stay rare: it is "
                f"{as_factor(evidence)} now, and {as_factor(place.needed)} calls one.{by_itself}")
    shown = [evidence for evidence in place.kept if evidence is not None]
    if shown and lies_within(m, place.limits):
        return ("All of the interval is within the limit. Intervals of this method can end too near on few "
                f"labels, so ok takes evidence of the draws too: it is {as_factor(min(shown))} now, and "
                f"{as_factor(needed_for_ok(m))} is enough.")
    return ""


def beyond_in_words(place: PlaceVerdict) -> str:
    """`below, not yet proven: evidence 7 of 20 by all windows, and not by this one alone`; nothing but of an
    open verdict beyond its limit."""
    beyond = [
        (limit, evidence) for limit, evidence in held_against(place) if lies_beyond(place.measured, limit)
    ]
    if place.verdict != "inconclusive" or not beyond:
        return ""
    limit, evidence = max(beyond, key=lambda pair: pair[1])
    alone = " by all windows, and not by this one alone" if tested_alone(place) else ""
    return (f"{_BEYOND[limit.side]}, not yet proven: evidence {as_factor(evidence)} of "
            f"{as_factor(place.needed)}{alone}")


def tested_alone(place: PlaceVerdict) -> bool:
    """Whether the draws of the window were judged by themselves too, beside the bets on all windows: then
    the factors of a limit are one more than there are bets."""
    return any(len(factors) > len(EFFECTS) for factors in place.factors)


def as_factor(log_evidence: float) -> str:
    """The evidence as a factor, exp(log_evidence), in words: `0.4`, `3.2`, `25`, or `over 1,000,000`."""
    factor = exp(min(log_evidence, 20.0))
    if factor > _LARGEST_FACTOR:
        return f"over {wording.grouped_digits(_LARGEST_FACTOR)}"
    return wording.grouped_digits(round(factor)) if factor >= 10 else f"{factor:.2g}"


def limits_in_words(place: PlaceVerdict) -> str:
    """`at least 0.8 (floor), at least 0.7812 (reference)`; nothing without a limit."""
    return ", ".join(map(limit_in_words, place.limits))


def limit_in_words(limit: WatchedLimit) -> str:
    """A limit in words with where it comes from: `at least 0.8 (floor)`."""
    return f"{_MUST[limit.side]} {wording.limit_number(limit.value)} ({limit.name})"


def limit_in_question(place: PlaceVerdict) -> WatchedLimit | None:
    """The limit that the evidence says most against; the first without evidence; None without a limit. A
    message about the place names this limit."""
    against = held_against(place)
    return max(against, key=lambda pair: pair[1])[0] if against else None


def value_in_words(m: Measured) -> str:
    """A measured value with its interval, `0.712 (0.662 to 0.762)`; `0.9 exactly` where every label is known,
    and `undefined` without a value. Ends are rounded outwards."""
    if m.exact and m.value is not None:
        return f"{_value(m)} exactly"
    return wording.value_and_interval(m.value, m.lower, m.upper)


def signal_in_words(signal: Signal) -> str:
    """A signal with its value, where it has one: `distribution of scores (PSI) 0.25`."""
    shown = "" if signal.value is None else f" {wording.number(signal.value, 3)}"
    return SIGNALS.get(signal.name, signal.name) + shown


def response_in_words(reply: IncidentResponse) -> str:
    """What a person did about an incident, in one line: `breach: acknowledged by ada on 2026-11-27 09:12 UTC
    (rolled back)`, and which signals count as ordinary from then on."""
    done = {
        "acknowledge": "acknowledged", "assign": f"assigned to {reply.to}",
        "snooze": f"snoozed until {reply.until:%Y-%m-%d %H:%M} UTC" if reply.until is not None else "snoozed",
    }[reply.action]
    ordinary = "" if not reply.signals else (
        f"; {', '.join(reply.signals)} in {reply.windows[0]} to {reply.windows[-1]} count as ordinary"
    )
    reason = f" ({reply.reason})" if reply.reason else ""
    return f"{reply.incident}: {done} by {reply.by} on {reply.at:%Y-%m-%d %H:%M} UTC{reason}{ordinary}"


def signal_in_full(signal: Signal) -> str:
    """`number of items 400, usually 1,000`, `every item is predicted 'other', before 55.0% of them`. A clause
    for messages and tables: what was measured, and what was usual before."""
    name = SIGNALS.get(signal.name, signal.name)
    if signal.name == "collapse":
        return signal.why
    if signal.why and signal.raised:
        return f"{name}: {signal.why}"
    if signal.level is None or signal.usual is None or signal.name == "beyond_limit":
        return signal_in_words(signal)
    if signal.name == "rows":
        return f"{name} {round(signal.level):,}, usually {round(signal.usual):,}"
    return f"{name} {wording.number(signal.level, 3)}, usually {wording.number(signal.usual, 3)}"


def _value(m: Measured) -> str:
    return wording.estimate_text(m.value, m.lower, m.upper)


def _limit_in_question(news: PlaceNews) -> list[str]:
    limit = limit_in_question(news.place)
    return [] if limit is None else [f"must be {_MUST[limit.side]} {wording.limit_number(limit.value)}"]


def _of_place(
    verdicts: Sequence[WindowVerdict], segment: str | None
) -> Iterator[tuple[WindowVerdict, PlaceVerdict]]:
    for verdict in verdicts:
        for place in (verdict.overall, *verdict.segments):
            if place.segment == segment:
                yield verdict, place
