"""The rounds recomputed: what was drawn, what was decided, what was estimated, and why it stopped.

Each round is recomputed from the rounds before it as they are stored, so one wrong round is one difference
and not the beginning of a long list. A round that rests on damaged keys ends the recomputation.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.evalcore.evaluation.plan import plan
from assay.flows.people.annotating import Annotating
from assay.flows.people.quality import annotators_record
from assay.flows.record.fold import not_begun, why_stop
from assay.flows.record.opened import Opened
from assay.flows.record.standing import verdict_on
from assay.flows.verify.checking import UNREADABLE, Checking
from assay.flows.verify.labels import answer_keys, label_differences, sealed_answer_differences
from assay.flows.verify.plans import draw_differences, item_differences, people_differences
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.differences import column_differences
from assay.tasks.ledger.checks.findings import Integrity
from assay.tasks.ledger.extensions import Extension
from assay.tasks.ledger.rounds.answers import pack_of, read_answers
from assay.tasks.ledger.rounds.estimate import read_estimate
from assay.tasks.ledger.rounds.labels import Decided, named_answers, read_labels
from assay.tasks.ledger.rounds.plan import PlannedRound, read_design, read_plan
from assay.tasks.ledger.stores.protocol import StoreUnreachable
from assay.tasks.pool.index import PoolIndex


class RoundsCheck:
    """Recomputes the rounds of one evaluation; what it finds goes into `found`."""

    def __init__(self, opened: Opened, found: Integrity) -> None:
        self.closed = 0               # rounds recomputed in full
        self.labels = 0
        self.folded = not_begun(opened.statistics)   # of the rounds recomputed
        self._opened, self._found = opened, found
        self._check = Checking(opened, found)
        self._annotating = Annotating(opened, read=read_answers)   # one by one, not by their packs
        self._index = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells)

    def run(self, told: Callable[[int, int], None] | None = None) -> None:
        """All rounds, then the ending.  told: of the rounds recomputed so far, and of how many there are."""
        for number in range(1, self._found.rounds + 1):
            if told is not None:
                told(number - 1, self._found.rounds)
            try:
                complete = self._round(number)
            except StoreUnreachable:
                raise
            except UNREADABLE as error:
                self._check.say_unreadable(error)
                complete = False
            if not complete:
                if number < self._found.rounds or self._found.finished:
                    self._found.notes.append(f"round {number} and what follows it could not be recomputed")
                return
        self._ending(self._opened)

    def _round(self, number: int) -> bool:
        """Recompute a round; False if it is open, or nothing can be built on it."""
        planned = self._plan(number)
        if planned is None:
            return False
        decided = self._labels(planned)
        if decided is None:
            return False
        self._estimate(planned, decided)
        self.closed, self.labels = number, self.folded.state.labels
        self._annotators(number)
        for extension in self._opened.extensions:
            if extension.rounds == number:
                self._extension(extension)
        return True

    def _plan(self, number: int) -> PlannedRound | None:
        """The plan as it is stored; None if there is none to go on from."""
        check, opened, folded = self._check, self._opened, self.folded
        check.look_at(layout.plan(opened.name, number))
        if check.key in self._found.damaged:
            return None
        planned = read_plan(opened.ledger, number)
        if planned is None:
            return None
        reason = why_stop(opened.as_of(number).rule, folded)
        if reason is not None:
            check.say([f"should not be there: round {number - 1} met a reason to stop ({reason})"])
            return None
        draws = plan(opened.question, folded.state, opened.as_of(number).round_size(folded.asked))
        check.say([
            *draw_differences(planned.plan, draws),
            *item_differences(opened, self._index, folded, planned),
            *people_differences(opened, self._annotating, folded, planned),
        ])
        if check.look_at(layout.design(opened.name, number)):
            written = read_design(opened.ledger, number)
            check.say(column_differences(written.to_columns(), draws.design.to_columns()))
        return planned

    def _labels(self, planned: PlannedRound) -> Sequence[Decided] | None:
        """The labels as they are stored; None if there are none, or they rest on answers that are damaged."""
        check, number = self._check, planned.number
        if not check.look_at(layout.labels(self._opened.name, number)):
            return None
        decided = read_labels(self._opened.ledger, number) or []
        named = set(answer_keys(self._opened.ledger, number, decided))
        for key in named - self._found.keys:
            self._found.add(key, f"is missing; {check.key} names it")
        if named & self._found.damaged:
            return None
        rule = self._annotating.rule(planned, self.folded)
        check.say([
            *label_differences(check, planned, decided, rule),
            *sealed_answer_differences(check, number, decided),
        ])
        if check.look_at(layout.pack(self._opened.name, number)) and self._opened.ledger.get(
            check.key
        ) != pack_of(self._opened.ledger, number, named_answers(self._opened.ledger, number)):
            check.say(["is not made of the answers that the labels name"])
        return decided

    def _estimate(self, planned: PlannedRound, decided: Sequence[Decided]) -> None:
        """Close the round in the fold: with its estimate as stored, or as computed where that differs."""
        opened, number = self._opened, planned.number
        folded = replace(self.folded, open_round=planned).close(opened.statistics, list(decided))
        self._check.look_at(layout.estimate(opened.name, number))
        known = folded.estimate(opened.as_of(number).statistics, opened.segments)
        if self._check.key in self._found.keys and not self._check.compare(codec.plain(known)):
            known = read_estimate(opened.ledger, number) or known
        self.folded = replace(folded, looks=(*folded.looks, known))

    def _annotators(self, number: int) -> None:
        """How the people did, recomputed."""
        if self._check.look_at(layout.annotators(self._opened.name, number)):
            record = annotators_record(self._opened.as_of(number), self._annotating, self.folded)
            self._check.compare(None if record is None else codec.plain(record))

    def _extension(self, extension: Extension) -> None:
        """Whether it had stopped here, and could be extended as it was."""
        before = self._opened.as_of(extension.rounds)
        self._ending(before)
        if not self._check.look_at(layout.extension(before.name, extension.number)):
            return
        reason = why_stop(before.rule, self.folded)
        wrong = []
        if extension.number != len(before.extensions) + 1 or reason in (None, "pool"):
            wrong.append(f"does not follow an ending after round {extension.rounds}")
        if extension.labels_before != before.rule.budget:
            wrong.append(f"labels_before: {extension.labels_before} instead of {before.rule.budget}")
        if not self.folded.asked < extension.labels <= before.manifest.rows:
            wrong.append(f"labels: {extension.labels}, with {self.folded.asked} asked so far")
        if extension.beyond_target != (reason in ("half_width", "variance")):
            wrong.append(f"beyond_target: {extension.beyond_target}, and it stopped by {reason}")
        self._check.say(wrong)

    def _ending(self, opened: Opened) -> None:
        """Whether it should have stopped here, with these extensions, and with what."""
        folded = self.folded
        self._check.look_at(layout.ending_after(opened.name, len(opened.extensions)))
        if self._check.key not in self._found.keys:
            return
        try:
            self._check.compare({
                "stopped_by": why_stop(opened.rule, folded),
                "verdict": verdict_on(opened, folded.looks[-1] if folded.looks else None),
                "rounds": folded.state.round,
                "labels": folded.state.labels,
                "undecided": folded.state.undecided,
            })
        except UNREADABLE as error:
            self._check.say_unreadable(error)
