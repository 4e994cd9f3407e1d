"""Where an evaluation stands by its ledger, and its estimates round by round."""

from assay.evalcore.evaluation.stopping import Verdict, verdict
from assay.flows.record.opened import Opened
from assay.flows.record.reported import Reissued, estimates_moved, reissued_at
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.checkpoints import last_checkpoint
from assay.tasks.ledger.closed_round import RoundEstimate, read_estimate, read_labels
from assay.tasks.ledger.life import Ending, read_ending
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.standing import ExtensionRow, Standing, StateName, WaitingFor


def verdict_on(opened: Opened, known: RoundEstimate | None) -> Verdict | None:
    """The verdict on the first measure so far; None without a limit, or before the first round."""
    limit = opened.spec.limit
    if limit is None or known is None:
        return None
    return verdict(known.estimates[0], limit.min, limit.max)


def standing_of(
    opened: Opened,
    state: StateName,
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
