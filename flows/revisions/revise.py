"""Revisions: what becomes of an evaluation when people change their answers after a round was closed.

A *look* reads the batches of closed rounds once more. An answer edited, taken back, or given late changes the
item's label; the changes become `revisions/<n>/`, and the estimates are reissued with them. Nothing that was
there before is touched: rounds keep the labels they were closed with, their plans and estimates, and every
later plan the probabilities it was drawn with. Plans and the rule that stops go by the labels as rounds were
closed; what is reported, and the verdict, go by the newest revision.

What a look makes of an item:

    a class with more votes than any other     that class (fewer votes than were asked for will do)
    everybody skips it now                     undecided
    nobody's answer is left, it is on the desk undecided ("withdrawn"), if it had a label; else as it was
    it is gone from the desk                   the answers that were seen still count
    tied, or an answer that is no class        as it was

An item whose round was closed before it was answered, and which a later round asks again, is answered there
and nowhere else.

Revisions are numbered; whoever writes a number first has written it, and the others look again before they
write the next one. So a revision that was begun is finished by whoever comes along, from what is in it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.evalcore.evaluation.nonresponse import UNANSWERED
from assay.flows.people.asking import Asker
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.flows.revisions.recompute import revised_annotators, revised_fold
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.revisions import (
    RevisedItem,
    Revision,
    last_revision,
    read_revised_estimate,
    reissued,
    with_revision,
    write_revised_annotators,
    write_revised_estimate,
    write_revision,
)
from assay.tasks.ledger.rounds.answers import annotators_of
from assay.tasks.ledger.rounds.estimate import RoundEstimate
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.seals import seal_revision

_log = logging.getLogger("assay.revising")
TRIES = 10   # looks at a desk that changes under our eyes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reviser:
    """Revises one evaluation; `folded` holds its closed rounds, all of them estimated and sealed."""

    opened: Opened
    folded: Fold
    finished: bool

    def catch_up(self) -> Revision | None:
        """Finish the last revision if it was cut short, and reissue it if rounds closed since; the newest."""
        last = self._last()
        if last is None:
            return None
        self._complete(last)
        if last.rounds < self.folded.state.round:
            last = write_revision(
                self.opened.ledger, reissued(last, self.folded.state.round, self.finished)
            )
            self._complete(last)
        return last

    def look_again(self, asker: Asker, *, only_gaps: bool = False) -> Revision | None:
        """Read the closed rounds' batches; the newest revision, written if anything changed.

        only_gaps: read only rounds that were closed with items unanswered, and not asked again since.
        """
        for _ in range(TRIES):
            last = self.catch_up()
            effective = with_revision([one.decided for one in self.folded.closed], last)
            items = self._changes(asker, effective, last, only_gaps)
            if items is None:
                return last
            number = last.number + 1 if last else 1
            mine = Revision(
                number=number, rounds=self.folded.state.round, finished=self.finished, items=items
            )
            written = write_revision(self.opened.ledger, mine)
            self._complete(written)
            if written == mine:
                changed = len(mine.changed)
                _log.info("%s: revision %d, %d labels changed", self.opened.name, number, changed)
                return written
        return self.catch_up()

    def estimate(self, revision: Revision) -> RoundEstimate:
        """The estimates after the last round a revision covers, with its labels: computed, not read."""
        return revised_fold(self.opened, self.folded.closed[: revision.rounds], revision).estimate(
            self.opened.question, self.opened.segments
        )

    def _complete(self, revision: Revision) -> None:
        if read_revised_estimate(self.opened.ledger, revision.number) is None:
            write_revised_estimate(
                self.opened.ledger, revision.number, self.estimate(revision)
            )
        if not self.opened.ledger.exists(layout.revision_seal(self.opened.name, revision.number)):
            record = revised_annotators(
                self.opened, self.folded.closed[: revision.rounds], revision
            )
            if record is not None:
                write_revised_annotators(self.opened.ledger, revision.number, record)
            seal_revision(self.opened.ledger, revision)

    def _last(self) -> Revision | None:
        return retried(last_revision)(self.opened.ledger)

    def _changes(
        self, asker: Asker, effective: Sequence[Sequence[Decided]], last: Revision | None, only_gaps: bool
    ) -> tuple[RevisedItem, ...] | None:
        """The items of the next revision, or None if nothing changed."""
        asked_since = self._asked_since()
        found: dict[tuple[int, str], RevisedItem] = {
            (item.round, item.decided.item_id): replace(item, changed=False, by=())
            for item in (last.items if last else ())
        }
        changed = False
        for number, decided in enumerate(effective, start=1):
            free = [one for one in decided if number >= asked_since.get((one.cell, one.rank), 0)]
            if not free or (only_gaps and all(one.code != UNANSWERED for one in free)):
                continue
            now = asker.look_again(self.folded.closed[number - 1].planned, decided)
            for before in free:
                after = now[before.item_id]
                if after.code != before.code:
                    changed = True
                    digests = set(before.annotations) ^ set(after.annotations)
                    by = annotators_of(self.opened.ledger, number, digests)
                    found[number, before.item_id] = RevisedItem(
                        round=number, decided=after, changed=True, by=by
                    )
        return tuple(found[place] for place in sorted(found)) if changed else None

    def _asked_since(self) -> Mapping[tuple[int, int], int]:
        """(cell, rank) -> the last round that asked the item, the open one included."""
        rounds = [one.planned for one in self.folded.closed]
        if self.folded.open_round:
            rounds.append(self.folded.open_round)
        return {
            (int(planned.plan.cell[t]), int(planned.plan.rank[t])): planned.number
            for planned in rounds
            for t in planned.asked()
        }


