"""What a revision comes to: everything that is computed once labels have changed, from the ledger alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.evalcore.design.round import ClosedDraws
from assay.evalcore.evaluation.revision import revised_state
from assay.evalcore.types import Floats
from assay.flows.people.annotating import Annotating
from assay.flows.people.quality import annotators_record
from assay.flows.record.fold import Fold, in_full, not_begun
from assay.flows.record.opened import Opened
from assay.tasks.ledger.revisions import Revision, with_revision
from assay.tasks.ledger.rounds.closed import ClosedRound
from assay.tasks.ledger.rounds.estimate import RoundEstimate
from assay.tasks.ledger.rounds.labels import Decided, shares_of_draws


def revised_fold(opened: Opened, folded: Fold, revision: Revision) -> Fold:
    """What is known with a revision's labels, after the rounds it covers; `folded`: as rounds were closed."""
    statistics = opened.statistics
    closed = [in_full(opened.ledger, one) for one in folded.closed[: revision.rounds]]
    effective = with_revision([one.decided or () for one in closed], revision)
    rounds = _answered_now(closed, effective)
    labelled = not_begun(statistics).labelled
    for decided in effective:
        labelled = statistics.counted(labelled, decided)
    return Fold(
        state=revised_state(statistics.question, rounds),
        labelled=labelled,
        last_asked=len(effective[-1]),
        closed=tuple(
            ClosedRound(planned=one.planned, labels=now.code)
            for one, now in zip(closed, rounds, strict=True)
        ),
        as_if=statistics.revised_as_if(rounds),
    )


def revised_estimate(opened: Opened, folded: Fold, revision: Revision) -> RoundEstimate:
    """The estimates after the last round a revision covers, with its labels: computed, not read."""
    statistics = opened.as_of(revision.rounds).statistics
    return revised_fold(opened, folded, revision).estimate(statistics, opened.segments)


def revised_annotators(opened: Opened, folded: Fold, revision: Revision) -> AnnotatorQuality | None:
    """How the people do by the answers of now; None if there is nothing to say, as with a round's record.

    Answers to gold are those the rounds were closed with: a look does not read gold again.
    """
    closed = [in_full(opened.ledger, one) for one in folded.closed[: revision.rounds]]
    annotating = Annotating(opened, with_revision([one.decided or () for one in closed], revision))
    then = opened.as_of(revision.rounds)
    record = annotators_record(then, annotating, revised_fold(opened, folded, revision))
    return None if record is None else replace(record, revision=revision.number)


def _answered_now(
    closed: Sequence[ClosedRound], effective: Sequence[Sequence[Decided]]
) -> list[ClosedDraws]:
    """The rounds with the labels of now, draws of items labelled earlier included."""
    label: dict[tuple[int, int], float] = {}
    for decided in effective:
        label |= {(one.cell, one.rank): one.code for one in decided if one.reason != "unanswered"}
    return [
        one.answered(shares_of_draws(one.planned, decided), _labels_now(one, decided, label))
        for one, decided in zip(closed, effective, strict=True)
    ]


def _labels_now(
    one: ClosedRound, decided: Sequence[Decided], label: Mapping[tuple[int, int], float]
) -> Floats:
    own = {(d.cell, d.rank): d.code for d in decided}
    now = one.labels.copy()
    plan = one.planned.plan
    for t, (cell, rank, known) in enumerate(
        zip(plan.cell.tolist(), plan.rank.tolist(), one.planned.known, strict=True)
    ):
        now[t] = own[cell, rank] if known is None else label[cell, rank]
    return now
