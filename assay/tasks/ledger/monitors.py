"""What a monitor leaves in the ledger, as typed values.

    monitors/<name>/spec.json                              what was asked at first: version 1
    monitors/<name>/versions/0002.json                     a version of the spec, from one of its windows on
    monitors/<name>/windows/<window>/openings/0001.json    an evaluation opened for a window, and why so
    monitors/<name>/windows/<window>/states/0001.json      what keeps a window from a verdict
    monitors/<name>/months/<month>/0001.json               labels of a month that an opening has claimed
    monitors/<name>/verdicts/000001.json                   a verdict on a window
    monitors/<name>/mutes/0001.json                        when alerts are muted (of an evaluation, too)
    monitors/<name>/log/000001.json                        all of these but claims, in one chain

Openings of one window are numbered, and so are the verdicts of the whole life; the process that creates a key
first has decided, and all others use what is there. Predictions of a window that are replaced get a further
opening. A verdict is reissued, under a further number, where the predictions, the labels or their number
changed. Nothing is deleted. The state of a monitor is a fold over these keys and those of its evaluations.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeVar, get_args

from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.monitoring.earlier_windows import RecentMean
from assay.evalcore.monitoring.profile import Profile
from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.monitoring.sizing import Sizing
from assay.evalcore.monitoring.tracking import DrawnPart
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.log import put_logged_record
from assay.tasks.ledger.record import Ledger, put_record, read_records
from assay.tasks.ledger.stores.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """An evaluation for a window, decided on and about to begin."""

    window: str
    number: int                  # over the openings of the window, from 1
    replaced: int                # how often the window's predictions were replaced before; the most counts
    evaluation: str | None       # its name; None: no labels were left to buy this month
    labels: int                  # the most it may ask for; of a follow-up, so many more
    inherits: str | None         # the evaluation its label model starts from
    carry: float                 # what one of that one's labels is worth
    content: str                 # digest of the window's predictions
    files: str                   # digest of the names, sizes and versions of its files: never compared
    month: str                   # the calendar month whose label budget pays
    why: str                     # first, quiet, suspicious, follow-up, late predictions, outcomes complete
    opened: datetime             # when; never compared
    signals: tuple[Signal, ...] = ()
    sizing: Sizing | None = None     # what a quiet window's labels were decided from; None: fixed by the spec
    profile: Profile | None = None   # of its predictions; None for a follow-up, which has the same
    outcomes: Literal["arrived", "complete"] | None = None   # labels that came by themselves; None: none yet
    contradicted: tuple[str, ...] = ()   # items whose outcome is not what people had said of them


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportingEvaluation:
    """The evaluation that a verdict rests on: its name, the revision of its labels, how often it had been
    extended, how many items were labelled, and how many of these labels were paid for."""

    evaluation: str
    revision: int                # of that evaluation's labels
    follow_ups: int              # how often it had been extended
    labels: int                  # labelled items
    bought: int                  # of them, paid for: the others were known from an earlier window


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowVerdict:
    """One verdict on a window of a monitor, and why: the measure, the evaluation that it rests on, the
    verdicts on the whole pool and on each segment, and how many more labels would decide. Numbered over
    the monitor's life."""

    number: int                  # over the life of the monitor
    window: str
    version: int = 1             # of the monitor's spec
    reissue: int                 # how often the window had a verdict before
    measure: str
    interval: str                # the kind of interval
    pool: int                    # items in the window
    rests_on: SupportingEvaluation
    overall: PlaceVerdict
    segments: tuple[PlaceVerdict, ...]
    labels_to_decide: int | None
    dependent: bool = False             # its estimates took earlier labels, or are over clusters
    parts: tuple[DrawnPart, ...] = ()          # other measures of the same draws, of the pool
    recent: tuple[RecentMean, ...] = ()   # over the last windows, with this one: the pool's, its segments'

    @property
    def verdict(self) -> Verdict:
        """The verdict on the window: a segment or a question in breach is a breach; ok where every question
        is. In every other case it is inconclusive."""
        if any(place.verdict == "breach" for place in self.segments):
            return "breach"
        open_ = any(is_question(place) and place.verdict == "inconclusive" for place in self.segments)
        return "inconclusive" if open_ else self.overall.verdict

    def of_question(self, question: str | None) -> PlaceVerdict | None:
        """The verdict on the whole pool by one of several questions; None: by the only one. None where the
        window has no verdict by it."""
        places = (self.overall, *filter(is_question, self.segments))
        return next((place for place in places if place.question == question), None)


def own_segment(place: PlaceVerdict) -> str | None:
    """The segment of a place as its question alone has it; None: the whole pool. Ledgers keep question and
    segment in one text."""
    if place.segment is None or place.question is None:
        return place.segment
    return place.segment.removeprefix(f"question={place.question}").removeprefix(", ") or None


def verdict_by_question(verdict: WindowVerdict) -> list[WindowVerdict]:
    """Of several questions what is said of each, as if it were the only one; else the verdict itself. In the
    order of the questions in the spec."""
    verdicts = []
    for pool in (verdict.overall, *filter(is_question, verdict.segments)):
        places = {
            place.segment: own_segment(place) for place in (verdict.overall, *verdict.segments)
            if place.question == pool.question
        }
        verdicts.append(replace(
            verdict, measure=pool.measure or verdict.measure, overall=replace(pool, segment=None),
            segments=tuple(
                replace(place, segment=places[place.segment]) for place in verdict.segments
                if place.question == pool.question and place is not pool
            ),
            recent=tuple(
                replace(place, segment=places[place.segment]) for place in verdict.recent
                if place.segment in places
            ),
            parts=verdict.parts if pool is verdict.overall else (),
            # a reading answers all: labels are bought for the question that needs most
            labels_to_decide=verdict.labels_to_decide if pool.verdict == "inconclusive"
            or pool.question is None else None,
        ))
    return verdicts


def is_question(place: PlaceVerdict) -> bool:
    """Whether a place beside the first is the whole pool by another question."""
    return place.question is not None and place.segment == f"question={place.question}"


def create_opening(ledger: Ledger, opening: Opening) -> Opening:
    """The opening under its window and number afterwards: ours, or that of the process which was first and
    has decided. The monitor's log has it too."""
    key = layout.monitor_opening(ledger.name, opening.window, opening.number)
    return put_logged_record(ledger, key, opening)


def read_openings(ledger: Ledger, keys: Iterable[str] | None = None) -> dict[str, list[Opening]]:
    """Window -> its openings in order, for every window that has one; keys: where they are listed already.
    Raises DamagedRecord where one cannot be read."""
    return _by_window(ledger, layout.monitor_opening, Opening, keys)


_OfWindow = TypeVar("_OfWindow", Opening, "WindowState")


def _by_window(
    ledger: Ledger, pattern: layout.KeyPattern[str, str, int], kind: type[_OfWindow],
    keys: Iterable[str] | None,
) -> dict[str, list[_OfWindow]]:
    """Window -> its records of a kind, in the order of their keys."""
    by_window: dict[str, list[_OfWindow]] = {}
    for entry in read_records(ledger, layout.monitor_windows(ledger.name), pattern, kind, keys):
        by_window.setdefault(entry.window, []).append(entry)
    return by_window


def signals_of(openings: Sequence[Opening]) -> tuple[Signal, ...]:
    """What was measured of a window's newest predictions, given its openings."""
    return next((opening.signals for opening in current(openings)), ())


def current(openings: Sequence[Opening]) -> list[Opening]:
    """Of the openings of a window, those of its newest predictions."""
    newest = max((opening.replaced for opening in openings), default=0)
    return [opening for opening in openings if opening.replaced == newest]


def create_verdict(ledger: Ledger, verdict: WindowVerdict) -> WindowVerdict:
    """Put a verdict; returns the one under its number.

    Its entry in the log covers what it rests on: the newest seal of its evaluation, and the version of the
    spec.
    """
    version = layout.monitor_version(ledger.name, verdict.version)   # none is there of the first
    key = layout.monitor_verdict(ledger.name, verdict.number)
    return put_logged_record(ledger, key, verdict, [newest_seal(verdict.rests_on), version])


def newest_seal(part: SupportingEvaluation) -> str:
    """The newest seal of an evaluation when a verdict was given: its last one, or that of a revision. Its
    key; the digest under it covers all that the verdict rests on."""
    if part.revision:
        return layout.revision_seal(part.evaluation, part.revision)
    return layout.final_seal_after(part.evaluation, part.follow_ups)


def read_verdicts(ledger: Ledger, keys: Iterable[str] | None = None) -> list[WindowVerdict]:
    """All verdicts, in the order they were given; keys: where they are listed already."""
    folder = layout.monitor_verdicts(ledger.name)
    return read_records(ledger, folder, layout.monitor_verdict, WindowVerdict, keys)


def means_monitor(store: Store, name: str) -> bool:
    """Whether a monitor has this name, and no evaluation; `monitors/NAME` is always one.

    Raises BadInput for what cannot be a name.
    """
    if name.startswith(layout.MONITORS_PREFIX):
        return True
    layout.check_name(name)
    return not store.exists(layout.spec(name)) and store.exists(layout.spec(layout.monitor_ledger(name)))


def window_of(store: Store, evaluation: str) -> tuple[str, str] | None:
    """The monitor and the window that an evaluation was opened for; None for one of its own. Names alone do
    not say so: an opening must name the evaluation."""
    for owner, window in layout.windows_of(evaluation):
        openings = read_openings(Ledger(store, owner), store.keys(layout.monitor_window(owner, window)))
        if any(opening.evaluation == evaluation for opening in openings.get(window, ())):
            return owner.removeprefix(layout.MONITORS_PREFIX), window
    return None


def monitors(store: Store) -> list[str]:
    """The names of the monitors in a store, sorted: the folders below `monitors/` that hold a spec. One whose
    spec is damaged is among them."""
    return [name for name in store.folders(layout.MONITORS_PREFIX) if is_monitor(store, name)]


def is_monitor(store: Store, name: str) -> bool:
    """Whether the store holds a monitor of this name, that is, its spec; False for text that cannot be a
    name."""
    key = layout.spec(layout.monitor_ledger(name))
    return layout.spec.match(key) is not None and store.exists(key)


def last_certain(verdicts: Iterable[WindowVerdict], segment: str | None) -> PlaceVerdict | None:
    """The last verdict on a place that was ok or breach; verdicts in the order they were given. None where no
    verdict on the place was either."""
    last_place = None
    for verdict in verdicts:
        for place in (verdict.overall, *verdict.segments):
            if place.segment == segment and place.verdict != "inconclusive":
                last_place = place
    return last_place


def latest(verdicts: Sequence[WindowVerdict]) -> dict[str, WindowVerdict]:
    """Window -> the last verdict on it, in the order of the windows' first verdicts. A verdict given again
    later takes the place of the one before."""
    return {verdict.window: verdict for verdict in verdicts}


@dataclass(frozen=True, slots=True)
class VerdictGlance:
    """One verdict of a monitor in brief: its window, what it is, and how many labels were bought for it."""

    window: str
    verdict: Verdict
    bought: int     # labels


_VERDICTS: Mapping[bytes, Verdict] = {word.encode(): word for word in get_args(Verdict)}
# the keys of a record are sorted: a place ends with its verdict, and a verdict with its window
_GLANCE = re.compile(
    rb'"verdict":"(ok|breach|inconclusive)"\},"pool":.*"rests_on":\{"bought":(\d+),.*'
    rb'"window":"([^"\\]+)"\}\s*\Z', re.DOTALL,
)


def glance_at_verdict(blob: bytes, key: str) -> VerdictGlance:
    """What a list of many needs, out of the bytes: to check the whole record takes thirty times as long.
    Window, verdict and labels bought; a record that looks otherwise is read whole. Raises DamagedRecord."""
    match = _GLANCE.search(blob)
    if match is None:
        verdict = record.decode(WindowVerdict, blob, key)
        return VerdictGlance(verdict.window, verdict.verdict, verdict.rests_on.bought)
    of_segments = blob[blob.rfind(b'"segments":'):]
    if b'"segment":"question=' in of_segments:
        verdict = record.decode(WindowVerdict, blob, key)
        return VerdictGlance(verdict.window, verdict.verdict, verdict.rests_on.bought)
    called: Verdict = "breach" if b'"verdict":"breach"' in of_segments else _VERDICTS[match[1]]
    return VerdictGlance(match[3].decode(), called, int(match[2]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Labels of a calendar month that one opening of a window has claimed. Claims are numbered over the
    month, so two processes cannot spend the same labels.

    The labels of a month that openings have claimed.

    A run that is about to open an evaluation claims its labels first. Claims of a month are numbered, and the
    process that creates a number first has it, so of two runs at once the second counts what the first one
    took. The opening that is then written has the labels of its claim. After a crash in between, the next run
    finds the claim and opens with the same labels.
    """

    month: str
    number: int     # over the claims of the month, from 1
    window: str
    opening: int    # its number, of the window
    labels: int


def create_claim(ledger: Ledger, claim: Claim) -> Claim:
    """The claim under its month and number afterwards: ours, or that of the process which was first. Claims
    alone are not in the monitor's log."""
    return put_record(ledger, layout.month_claim(ledger.name, claim.month, claim.number), claim)


def read_claims(ledger: Ledger, month: str) -> list[Claim]:
    """The claims on the labels of a calendar month, in the order of their numbers. Raises DamagedRecord. Each
    keeps labels for one opening, so two processes never spend the same."""
    return read_records(ledger, layout.month_claims(ledger.name, month), layout.month_claim, Claim)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """A version of a monitor's spec after the first: the spec in full, the window from which it applies, the
    keys that differ, the limits whose evidence begins anew, and by what, when and why it was made."""

    number: int                  # from 2
    first: str                   # the first window that it applies to
    reference: str               # the window that its windows are compared with
    spec: Mapping[str, object]   # in full
    changed: tuple[str, ...]     # the keys that differ from the version before, such as limit.min
    anew: tuple[str, ...]        # the limits whose evidence begins anew with it
    new_model: bool              # whether reference, evidence and label model all begin anew
    reason: str                  # as the person said; "" where nothing was said
    at: datetime                 # when it was made
    versions: Mapping[str, str]  # of what made it: `tasks.ledger.life.versions`


def create_amendment(ledger: Ledger, amendment: Amendment) -> Amendment:
    """The amendment under its number afterwards: ours, or that of the process which was first. The monitor's
    log has it too."""
    return put_logged_record(ledger, layout.monitor_version(ledger.name, amendment.number), amendment)


def read_amendments(ledger: Ledger) -> list[Amendment]:
    """All amendments of a monitor's spec, in the order of their numbers, which begin at 2. Raises
    DamagedRecord. The registered spec is version 1."""
    return read_records(ledger, layout.monitor_versions(ledger.name), layout.monitor_version, Amendment)


State = Literal["missing", "empty", "small", "unlabelled", "stale", "failed", "cleared"]
"""
    missing      no file came within the grace period
    empty        its files hold no prediction
    small        fewer items than the spec asks for
    unlabelled   the month's labels were spent when it was opened
    stale        people have not finished within the time that the spec allows
    failed       the last run could not work on it
    cleared      none of these any more
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowState:
    """A change of what keeps a window from a verdict: the state (`missing`, `small`, ... or `cleared`), why
    in a sentence, a digest of the files that were looked at, and when. Numbered over the window.

    What keeps a window from a verdict, for as long as it does.

    A record is written when the state of a window changes, and only then; the last one counts. No record says
    that nothing was ever wrong.
    """

    window: str
    number: int      # over the states of the window, from 1
    state: State
    why: str         # in a sentence; "" for cleared
    files: str       # digest of the files that were looked at; "" where none were
    at: datetime     # when it was found


def create_state(ledger: Ledger, state: WindowState) -> WindowState:
    """The state under its window and number afterwards: ours, or that of the process which was first. The
    monitor's log has it too."""
    key = layout.window_state(ledger.name, state.window, state.number)
    return put_logged_record(ledger, key, state)


def read_states(ledger: Ledger, keys: Iterable[str] | None = None) -> dict[str, list[WindowState]]:
    """Window -> its states in order, for every window that has one; keys: where they are listed already.
    Raises DamagedRecord where one cannot be read."""
    return _by_window(ledger, layout.window_state, WindowState, keys)


def standing_state(states: list[WindowState]) -> WindowState | None:
    """What is wrong with a window, by its states in order; None if nothing is. A state stands until one
    follows it that says `cleared`."""
    return states[-1] if states and states[-1].state != "cleared" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    """A change of what is muted, of a monitor or an evaluation: until when nobody is told of alerts (None:
    muted no more), why, and when the change was made.

    When the alerts of an owner are muted, and why: `<owner>/mutes/0001.json`.

    The last record counts from the moment it was made: it mutes until a date, or it ends the mute.
    """

    number: int               # from 1
    until: datetime | None    # None: nothing is muted any more
    reason: str
    at: datetime              # when it was made


def create_mute(ledger: Ledger, mute: Mute) -> Mute:
    """The mute under its number afterwards: ours, or that of the process which was first. The log of its
    owner has it too."""
    return put_logged_record(ledger, layout.mute(ledger.name, mute.number), mute)


def read_mutes(ledger: Ledger) -> list[Mute]:
    """All mutes of a monitor or an evaluation, in the order of their numbers. Raises DamagedRecord. A mute
    that ends another one is a record as well."""
    return read_records(ledger, layout.mutes(ledger.name), layout.mute, Mute)


def mute_at(mutes: Sequence[Mute], moment: datetime) -> Mute | None:
    """The mute in force at a moment: the last one made by then, if its end has not come; None elsewhere.
    `mutes` are in the order in which they were made."""
    newest = next((mute for mute in reversed(mutes) if mute.at <= moment), None)
    return newest if newest is not None and newest.until is not None and moment < newest.until else None


def ended_mutes(mutes: Sequence[Mute], moment: datetime) -> list[Mute]:
    """The mutes that were in force before a moment, and are not any more."""
    active = mute_at(mutes, moment)
    return [mute for mute in mutes if mute.until is not None and mute.at <= moment and mute is not active]
