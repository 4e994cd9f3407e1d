"""Where an evaluation stands, and what it waits for: what every command prints."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import Verdict, verdict
from assay.evalcore.forecast.labels_needed import Outlook
from assay.evalcore.printed import printed
from assay.flows.record.opened import Opened
from assay.flows.record.reported import Reissued, estimates_moved, reissued_at
from assay.tasks.ledger.checkpoints import last_checkpoint
from assay.tasks.ledger.ending import Ending, read_ending
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.rounds.estimate import RoundEstimate, read_estimate
from assay.tasks.ledger.rounds.labels import read_labels
from assay.tasks.ledger.rounds.plan import read_plan
from assay.tasks.report.data import ExtensionRow, Moved
from assay.tasks.report.forecast import outlook_json
from assay.tasks.report.machine import (
    extensions_part,
    joint_part,
    known_before_part,
    outcomes_part,
    revision_part,
)
from assay.tasks.report.printed import StandingJson, WaitingForJson

_ONLY_IF_SO = ("tied", "invalid", "not_on_desk", "asked_again", "overdue")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFor:
    """The items of a round that people have to answer."""

    round: int
    items: int                        # asked; of what is asked a second time, only these
    on_desk: int | None = None        # of them; None where the desk was not read
    answered: int | None = None       # of them, by somebody
    tied: int = 0                     # one more person is asked
    invalid: int = 0                  # answered with something that is not a class
    not_on_desk: int = 0              # they will be posted again
    asked_again: int = 0              # everybody skipped them the first time
    deadline: datetime | None = None  # of the round
    overdue: bool = False             # the deadline has passed
    cannot_close: str | None = None   # why the round is not closed although it should be
    desk: str                         # the kind of desk
    place: str = ""                   # where people find it; for people, and not part of the JSON

    def to_json(self) -> WaitingForJson:
        """The contract's object: counts of unusual things only where there are any."""
        told: Any = {
            name: value for name, value in asdict(self).items()
            if value is not None and (value or name not in _ONLY_IF_SO) and name != "place"
        }
        if self.deadline is not None:
            told["deadline"] = self.deadline.isoformat(timespec="seconds")
        there: WaitingForJson = told
        return there


StandingState = Literal["waiting", "open", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One evaluation, now. `open` means that something is due; `waiting`, that people are working."""

    evaluation: str
    state: StandingState
    waiting_for: WaitingFor | None
    ending: Ending | None
    verdict: Verdict | None
    rounds: int                        # closed
    labels: int
    undecided: int
    known: RoundEstimate | None        # after the last closed round, as revised; None before the first
    budget: int
    positive: str = "positive"         # what people call a positive item
    interval_note: str = ""            # what intervals of the method's kind were measured to cover
    method: str = ""                   # the one in use, never `auto`
    why_method: str | None = None      # why `auto` chose it; None where it was asked for by name
    forecast: Outlook | None = None    # only where asked for: flows.report.gather
    revision: int = 0                  # of the estimates; 0: as the rounds were closed
    moved: tuple[Moved, ...] = ()      # what the revisions did to the estimates, first measure first
    outcomes: int | None = None        # items whose label came by itself; None without a source of them
    revised_items: int = 0             # whose labels differ from those their rounds were closed with
    extensions: tuple[ExtensionRow, ...] = ()   # more labels that it was given after it had finished
    confidence_asked: float = 0.95     # that of the intervals unless it was extended
    known_before: int = 0              # of the labels: not bought, but bought earlier or come by themselves

    @property
    def stopped_by(self) -> str | None:
        """Why it stopped, or None."""
        return self.ending.stopped_by if self.ending else None

    def rows(self) -> list[MeasureEstimate]:
        """The estimates, first measure first."""
        return list(self.known.rows) if self.known else []

    def to_json(self) -> StandingJson:
        """The contract's object."""
        return {
            "evaluation": self.evaluation,
            "state": self.state,
            "waiting_for": None if self.waiting_for is None else self.waiting_for.to_json(),
            "stopped_by": self.stopped_by,
            "verdict": self.verdict,
            "labels": self.labels,
            "rounds": self.rounds,
            "revision": self.revision,
            "estimates": [printed(row) for row in self.rows()],
            "method": self.method,
            "method_reason": self.why_method,
            "forecast": None if self.forecast is None else outlook_json(self.forecast),
            **known_before_part(self.known_before),
            **outcomes_part(self.outcomes),
            **joint_part(self.known.joint if self.known else None),
            **revision_part(self.revision, self.revised_items, self.moved),
            **extensions_part(self.extensions),
        }

    @property
    def exit_code(self) -> int:
        """0 done, 3 breach, 4 inconclusive, 5 not finished."""
        if self.state != "finished":
            return 5
        return {None: 0, "ok": 0, "breach": 3, "inconclusive": 4}[self.verdict]


def verdict_on(opened: Opened, known: RoundEstimate | None) -> Verdict | None:
    """The verdict on the first measure so far; None without a limit, or before the first round."""
    limit = opened.spec.limit
    if limit is None or known is None:
        return None
    return verdict(known.estimates[0], limit.min, limit.max)


def standing_of(
    opened: Opened,
    state: StandingState,
    known: RoundEstimate | None,
    *,
    waiting_for: WaitingFor | None = None,
    ending: Ending | None = None,
    reissued: Reissued | None = None,
) -> Standing:
    """Put a standing together; `reissued`: the newest revision, whose estimates are the ones that count."""
    as_closed, known = known, reissued.known if reissued else known
    return Standing(
        evaluation=opened.name,
        state=state,
        waiting_for=waiting_for,
        ending=ending,
        verdict=ending.verdict if ending and reissued is None else verdict_on(opened, known),
        rounds=known.round if known else 0,
        labels=known.labels if known else 0,
        undecided=known.undecided if known else 0,
        known=known,
        budget=opened.rule.budget,
        positive=opened.spec.labels.positive_name or "",
        interval_note=opened.question.method.interval_note,
        method=opened.question.method.name,
        why_method=opened.why_method,
        revision=reissued.number if reissued else 0,
        moved=estimates_moved(as_closed, reissued.known) if reissued else (),
        revised_items=reissued.items if reissued else 0,
        outcomes=None if opened.spec.outcomes is None else opened.n_outcomes,
        extensions=extension_rows(opened),
        confidence_asked=opened.spec.target.confidence,
        known_before=_known_before(opened, known.round if known else 0),
    )


def extension_rows(opened: Opened) -> tuple[ExtensionRow, ...]:
    """The extensions as a report has them."""
    return tuple(
        ExtensionRow(
            extension=one.number, rounds=one.rounds, labels_before=one.labels_before, labels=one.labels,
            confidence=opened.as_of(one.rounds + 1).confidence,
            corrected=not opened.question.method.holds_at_every_look, beyond_target=one.beyond_target,
            by=one.by, reason=one.reason, at=one.at.isoformat(),
        )
        for one in opened.extensions
    )


def _known_before(opened: Opened, rounds: int) -> int:
    if not opened.inherited and not opened.outcomes:
        return 0
    decided = (read_labels(opened.ledger, number) or [] for number in range(1, rounds + 1))
    return sum(one.reason == "reused" for several in decided for one in several)


def current_standing(opened: Opened) -> Standing:
    """Where an evaluation stands by its ledger alone: no desk is asked, nothing is written."""
    ending = read_ending(opened.ledger, len(opened.extensions))
    known = last_estimate(opened.ledger, ending.rounds if ending else last_checkpoint(opened.ledger))
    reissued = reissued_at(opened.ledger, known)
    if ending is not None:
        return standing_of(opened, "finished", known, ending=ending, reissued=reissued)
    number = known.round + 1 if known else 1
    planned = read_plan(opened.ledger, number)
    if planned is None or read_labels(opened.ledger, number) is not None:
        return standing_of(opened, "open", known, reissued=reissued)
    waiting_for = WaitingFor(round=number, items=len(planned.to_people()), desk=opened.spec.desk.kind)
    return standing_of(opened, "waiting", known, waiting_for=waiting_for, reissued=reissued)


def last_estimate(ledger: Ledger, closed: int) -> RoundEstimate | None:
    """The estimates after the last closed round; `closed`: rounds that are known to be closed."""
    known = read_estimate(ledger, closed) if closed else None
    number = known.round if known else 0
    while (later := read_estimate(ledger, number + 1)) is not None:
        known, number = later, number + 1
    return known


def read_history(ledger: Ledger) -> list[RoundEstimate]:
    """The estimates after every closed round."""
    history: list[RoundEstimate] = []
    while (known := read_estimate(ledger, len(history) + 1)) is not None:
        history.append(known)
    return history
