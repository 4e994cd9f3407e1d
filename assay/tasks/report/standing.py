"""Where an evaluation stands, and what it waits for: every command prints it, every report is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, NotRequired

from typing_extensions import TypedDict

from assay.evalcore.errors import ordinal, plural
from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.evaluation.best import BestSystem, SystemRanks
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.forecast.labels_needed import Outlook
from assay.evalcore.printed import HIDDEN, IF_ANY, key_as, printed
from assay.tasks.ledger.life import NOBODYS, Ending, Ownership, OwnershipJson, ownership_json
from assay.tasks.report.price import OutlookJson, outlook_json

StateName = Literal["waiting", "open", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFor:
    """What an evaluation waits for. Counts of unusual things are there only where there are any."""

    round: int
    items: int                       # asked; of what is asked a second time, only these
    on_desk: int | None = field(default=None, metadata=IF_ANY)    # of them; left out where it was not read
    answered: int | None = field(default=None, metadata=IF_ANY)   # of them, by everybody who has to
    # items that one person answered, or several, by the person that they wait for: 2 for a second one
    waiting_for_person: Mapping[str, int] = field(default_factory=dict, metadata=IF_ANY)
    tied: int = field(default=0, metadata=IF_ANY)           # one more person is asked
    invalid: int = field(default=0, metadata=IF_ANY)        # answered with something that is not a class
    not_on_desk: int = field(default=0, metadata=IF_ANY)    # they will be posted again
    asked_again: int = field(default=0, metadata=IF_ANY)    # everybody skipped them the first time
    deadline: datetime | None = field(default=None, metadata=HIDDEN)
    overdue: bool = field(default=False, metadata=IF_ANY)   # the deadline has passed
    cannot_close: str | None = field(default=None, metadata=IF_ANY)   # why it stays open
    desk: str                        # the kind of desk
    place: str = field(default="", metadata=HIDDEN)         # where people find it

    also_printed: ClassVar = {"deadline_text": key_as("deadline", if_any=True)}

    @property
    def partly_answered(self) -> str:
        """`2 items wait for a second person, 1 item waits for a third person`; nothing where none does. A
        clause for the line that says what the evaluation waits for."""
        listed = [
            f"{plural(count, 'item waits', 'items wait')} for a {ordinal(int(person))} person"
            for person, count in sorted(self.waiting_for_person.items(), key=lambda pair: int(pair[0]))
        ]
        return ", ".join(listed)

    @property
    def deadline_text(self) -> str | None:
        """The deadline of the round with its time zone, in ISO 8601 to the second; None without a deadline.
        After it the round is closed with the answers that are there."""
        return None if self.deadline is None else self.deadline.isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What revised labels did to one estimate of the whole pool."""

    measure: str
    value_before: float | None
    value: float | None
    lower_before: float | None
    lower: float | None
    upper_before: float | None
    upper: float | None
    of: str = ""                        # the system and the class it is of


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionRow:
    """More labels that a finished evaluation was given: the budget before and after, the rounds closed by
    then, the confidence of each interval from then on, and who asked for it."""

    extension: int                      # from 1
    rounds: int                         # closed by then
    labels_before: int                  # the budget until then
    labels: int                         # the budget from then on
    confidence: float                   # of each interval from then on
    corrected: bool                     # the confidence was raised for the looks; else it holds at every look
    beyond_target: bool                 # its target had been met: from then on the budget alone stops it
    by: str                             # as they call themselves; may be empty
    reason: str                         # may be empty
    at: str


class OutcomesJson(TypedDict):
    """Labels that come by themselves, from a source of outcomes: how many items have one."""

    known: int                       # items whose label has come


class RevisedJson(TypedDict):
    """What answers that changed after their rounds were closed did: how many items have another label now,
    and how each estimate of the whole pool moved."""

    items: int                       # with another label than their round was closed with
    moved: list[Moved]               # one for each estimate of the whole pool


class EvaluationJson(OwnershipJson):
    """An evaluation, finished or not: its state, verdict, labels, rounds and estimates. Keys for what is
    unusual, such as extensions or revisions, are there only where they apply."""

    evaluation: str                  # its name
    state: StateName                 # waiting: for people; open: something is due
    waiting_for: WaitingFor | None
    stopped_by: str | None           # half_width, variance, best_of, budget or pool; null until it stops
    verdict: Verdict | None          # on the first measure; null without a limit
    labels: int                      # labelled items
    rounds: int                      # closed
    revision: int                    # of the labels; 0: as the rounds were closed
    estimates: list[MeasureEstimate]    # the first measure first; segments after the whole pool
    labels_known_before: NotRequired[int]      # of the labels: not bought; only where there are any
    outcomes: NotRequired[OutcomesJson]        # only with a source of outcomes
    best: NotRequired[BestSystem]              # only where the best of several systems is asked for
    ranks: NotRequired[SystemRanks]            # only where systems are compared
    joint_region: NotRequired[JointRegion]     # only where the method gives several measures one
    revised: NotRequired[RevisedJson]          # only after a revision
    extensions: NotRequired[list[ExtensionRow]]   # only after an extension


class StandingJson(EvaluationJson):
    """Where an evaluation stands: what the JSON of every evaluation has, the method in use and why it was
    chosen, what the interval takes on trust, and a forecast of the labels ahead."""

    method: str                      # the one in use, never auto
    method_reason: str | None        # why auto chose it; null where it was asked for by name
    rests_on: str                    # what the interval takes without being shown: nothing, or score
    forecast: OutlookJson | None     # null where it has finished, or nothing was forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One evaluation, now. `open` means that something is due; `waiting`, that people are working."""

    evaluation: str
    state: StateName
    waiting_for: WaitingFor | None = None
    ending: Ending | None = None
    verdict: Verdict | None = None
    rounds: int = 0                    # closed
    labels: int = 0
    undecided: int = 0                 # items that people could not decide
    known: RoundEstimate | None        # after the last closed round, as revised; None before the first
    budget: int                        # the one in force: an extension makes it larger
    positive: str = "positive"         # what people call a positive item
    interval_note: str = ""            # what intervals of the method's kind were measured to cover
    method: str = ""                   # the one in use, never `auto`
    why_method: str | None = None      # why `auto` chose it; None where it was asked for by name
    rests_on: str = "nothing"          # what the interval takes without being shown: nothing, or score
    ranks: SystemRanks | None = None   # of systems that are compared, by the first measure
    forecast: Outlook | None = None    # only where asked for: flows.report.gather
    revision: int = 0                  # of the estimates; 0: as the rounds were closed
    moved: tuple[Moved, ...] = ()      # what the revisions did to the estimates, first measure first
    outcomes: int | None = None        # items whose label came by itself; None without a source of them
    revised_items: int = 0             # whose labels differ from those their rounds were closed with
    extensions: tuple[ExtensionRow, ...] = ()   # more labels that it was given after it had finished
    confidence_asked: float = 0.95     # that of the intervals unless it was extended
    known_before: int = 0              # of the labels: not bought, but bought earlier or come by themselves
    ownership: Ownership = NOBODYS
    question: str = ""                 # what people are asked about every item, where the spec says it
    limit_min: float | None = None     # what the first measure must keep
    limit_max: float | None = None

    @property
    def stopped_by(self) -> str | None:
        """Why it stopped: half_width, variance, best_of, budget or pool; None before."""
        return self.ending.stopped_by if self.ending else None

    @property
    def estimates(self) -> Sequence[MeasureEstimate]:
        """Those that count now, first measure first; segments after the rows of the whole pool. None of them
        before the first round has closed."""
        return self.known.rows if self.known else ()

    @property
    def joint(self) -> JointRegion | None:
        """The joint region of several measures after the last closed round; None before the first, and where
        the method gives none. It holds for all those measures together, at the confidence of the spec."""
        return self.known.joint if self.known else None

    @property
    def best(self) -> BestSystem | None:
        """What is known of the best of several systems, where that is asked for."""
        return self.known.best if self.known else None

    def contract(self) -> EvaluationJson:
        """What the JSON of every evaluation has. What is unusual is there only where there is any.
        docs/reference/json.md lists its fields."""
        fields: EvaluationJson = {
            "evaluation": self.evaluation,
            "state": self.state,
            "waiting_for": printed(self.waiting_for),
            "stopped_by": self.stopped_by,
            "verdict": self.verdict,
            "labels": self.labels,
            "rounds": self.rounds,
            "revision": self.revision,
            "estimates": printed(self.estimates),
        }
        owned: Any = ownership_json(self.ownership)
        fields.update(owned)
        if self.known_before:
            fields["labels_known_before"] = self.known_before
        if self.outcomes is not None:
            fields["outcomes"] = {"known": self.outcomes}
        if self.best is not None:
            fields["best"] = printed(self.best)
        if self.ranks is not None:
            fields["ranks"] = printed(self.ranks)
        if self.joint is not None:
            fields["joint_region"] = printed(self.joint)
        if self.revision:
            fields["revised"] = {"items": self.revised_items, "moved": printed(self.moved)}
        if self.extensions:
            fields["extensions"] = printed(self.extensions)
        return fields

    def to_json(self) -> StandingJson:
        """The object that `run`, `advance`, `status` and `report` print with `--json`: what every evaluation
        has, with method and forecast. docs/reference/json.md lists its fields."""
        return {
            **self.contract(), "method": self.method, "method_reason": self.why_method,
            "rests_on": self.rests_on,
            "forecast": None if self.forecast is None else outlook_json(self.forecast),
        }

    @property
    def exit_code(self) -> int:
        """The exit code of a command: 0 done, 3 breach, 4 inconclusive or finished without a best system, 5
        not finished. `assay run`, `advance`, `status` and `report` all end with it."""
        if self.state != "finished":
            return 5
        if self.verdict is None and self.best is not None and self.best.winner is None:
            return 4
        return {None: 0, "ok": 0, "breach": 3, "inconclusive": 4}[self.verdict]
