"""The JSON of a monitor's history: its keys and what they hold."""

from typing import Literal

from typing_extensions import TypedDict

from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.monitoring.betting import Side
from assay.evalcore.monitoring.recent import Joined
from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.monitoring.sizing import Sizing


class AmendmentJson(TypedDict):
    """A version of the monitor's spec after the first."""

    version: int                     # from 2
    first: str                       # the first window that it applies to
    at: str                          # when it was made
    reason: str
    changed: list[str]               # the keys that differ from the version before
    evidence_begins_anew: list[str]  # the limits whose evidence begins anew with it
    new_model: bool                  # whether reference, evidence and label model all begin anew
    reference: str                   # the window that its windows are compared with


class MuteJson(TypedDict):
    """A change of what is muted."""

    at: str
    reason: str
    until: str | None                # null: the mute ended


class JudgeChangeJson(TypedDict):
    """One figure of a judge in the newest window, and how it differs from the windows before."""

    judge: str
    figure: str                      # agreement, kappa, ...
    value: float                     # in the newest window
    lower: float
    upper: float
    before: float                    # the mean of the windows before
    change: float
    change_lower: float
    change_upper: float
    confidence: float
    labels: int                      # of the newest window
    labels_before: int
    windows_before: list[str]
    beyond_chance: bool              # the interval of the change leaves out 0


class LimitJson(TypedDict):
    """A limit of a place, with the evidence against it."""

    name: str                        # floor, ceiling, reference or previous
    side: Side
    value: float
    evidence: float                  # log, over the life since the last breach


class RecentJson(TypedDict):
    """The mean over the last windows."""

    windows: list[str]               # those that have an estimate
    value: float
    lower: float
    upper: float
    confidence: float
    labels: int                      # in all of them
    joined: Joined


class PlaceJson(TypedDict):
    """The measure in one place of a window: the pool, or a segment."""

    value: float | None              # null where it is undefined, or nothing was judged yet
    lower: float | None
    upper: float | None
    confidence: float | None
    labels: int
    limits: list[LimitJson]
    evidence_needed: float | None    # log evidence that makes a breach


class SegmentJson(PlaceJson):
    """A segment of a window."""

    segment: str | None              # as column=value
    verdict: Verdict
    recent: RecentJson | None


class WrongJson(TypedDict):
    """What keeps a window from a verdict, or from a newer one."""

    state: str
    why: str
    found: str                       # when


class WindowJson(PlaceJson):
    """One window."""

    window: str
    state: str                       # ok, breach, inconclusive, waiting, or what keeps it from a verdict
    wrong: WrongJson | None
    version: int                     # of the monitor's spec
    model_version: str | None
    interval: str | None             # the kind of interval
    bought: int                      # labels paid for
    asked: int                       # labels asked for since the verdict
    pool: int | None                 # items in the window
    labels_to_decide: int | None     # about so many more would decide
    recent: RecentJson | None        # null where fewer than two windows have an estimate
    why: str | None                  # first, quiet, suspicious, ...: what its labels were decided by
    sizing: Sizing | None            # what its number of labels was decided from; null: the spec says it
    outcomes: Literal["arrived", "complete"] | None   # labels that came by themselves
    contradicted: list[str]          # items whose outcome is not what people had said of them
    signals: list[Signal]
    replaced: int                    # how often its predictions were replaced
    reissued: int                    # how often it was judged again
    evaluations: list[str]
    segments: list[SegmentJson]


class HistoryJson(TypedDict):
    """All windows of a monitor, in order of time; also the file history.json."""

    monitor: str
    measure: str
    error_rate: float                # chance of a false breach over the horizon
    horizon: int                     # in windows
    test: str                        # the rule that calls a breach
    labels: int                      # paid for, in all windows
    no_data_since: str | None        # the first of the newest windows that all have no predictions
    amendments: list[AmendmentJson]
    mutes: list[MuteJson]
    judges: list[JudgeChangeJson]    # of the newest judged window
    windows: list[WindowJson]
