"""The rounds recomputed: what was drawn, what was decided, what was estimated, and why it stopped.

Each round is recomputed from the rounds before it as they are stored, so one wrong round is one difference
and not the beginning of a long list. A round that rests on damaged keys ends the recomputation.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.rules import Rule, decide
from assay.evalcore.design.round import RoundPlan
from assay.evalcore.evaluation.state import known_labels
from assay.evalcore.types import Array, Floats
from assay.flows.people.annotating import Annotating, annotators_record
from assay.flows.people.closing import gold_answers, label_rows
from assay.flows.record.fold import Fold, not_begun, why_stop
from assay.flows.record.opened import Opened
from assay.flows.record.standing import verdict_on
from assay.flows.verify.checking import UNREADABLE, Checking
from assay.tasks.ledger import layout
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.asked_round import (
    PlannedRound,
    pack_of,
    read_answers,
    read_design,
    read_plan,
    read_posts,
    removed_on_purpose,
)
from assay.tasks.ledger.closed_round import (
    Decided,
    named_answers,
    read_estimate,
    read_gold_answers,
    read_labels,
)
from assay.tasks.ledger.findings import Integrity, column_differences
from assay.tasks.ledger.life import Extension
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.seals import sealed_in
from assay.tasks.ledger.stores.store import StoreUnreachable
from assay.tasks.pool.frozen import FrozenRow, columns_of_items
from assay.tasks.pool.shown import PoolIndex
from assay.tasks.spec.evaluation import Spec


class RoundsCheck:
    """Recomputes the rounds of one evaluation; what it finds goes into `found`."""

    def __init__(self, opened: Opened, integrity: Integrity) -> None:
        self.closed = 0               # rounds recomputed in full
        self.labels = 0
        self.folded = not_begun(opened.statistics)   # of the rounds recomputed
        self._opened, self._found = opened, integrity
        self._check = Checking(opened, integrity)
        self._annotating = Annotating(opened, read=read_answers)   # one by one, not by their packs
        self._index = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells)

    def run(self, watch: Callable[[int, int], None] | None = None) -> None:
        """All rounds, then the ending. watch: of the rounds recomputed so far, and of how many there are.
        After a round that cannot be recomputed only the readable parts of later ones are compared."""
        for number in range(1, self._found.rounds + 1):
            if watch is not None:
                watch(number - 1, self._found.rounds)
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
        draws = opened.as_of(number).next_draws(folded.state, folded.asked)
        check.say([
            *column_differences(*(items_drawn(side) for side in (planned.plan, draws))),
            *item_differences(opened, self._index, folded, planned),
            *people_differences(opened, self._annotating, folded, planned),
        ])
        check.say_computed(chance_differences(planned.plan, draws))
        if check.look_at(layout.design(opened.name, number)):
            written = read_design(opened.ledger, number)
            check.say_computed(column_differences(written.to_columns(), draws.design.to_columns()))
        return planned

    def _labels(self, planned: PlannedRound) -> Sequence[Decided] | None:
        """The labels as they are stored; None if there are none, or they rest on answers that are damaged."""
        check, number = self._check, planned.number
        if not check.look_at(layout.labels(self._opened.name, number)):
            return None
        decided = read_labels(self._opened.ledger, number) or []
        keys = set(answer_keys(self._opened.ledger, number, decided))
        for key in keys - self._found.keys:
            self._found.add(key, f"is missing; {check.key} names it")
        if keys & self._found.damaged:
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
        look = folded.estimate(opened.as_of(number).statistics, opened.segments)
        if self._check.key in self._found.keys and not self._check.compare_estimate(codec.plain(look)):
            look = read_estimate(opened.ledger, number) or look
        self.folded = replace(folded, looks=(*folded.looks, look))

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


def items_drawn(plan: RoundPlan) -> dict[str, Array]:
    """Cell and rank of every draw, and whether it asks: columns of T draws."""
    return {"cell": plan.cell, "rank": plan.rank, "ask": plan.ask}


def chance_differences(stored: RoundPlan, computed: RoundPlan) -> Iterator[str]:
    """The probabilities of the draws, and the design that the plan carries."""
    yield from column_differences({"probability": stored.probability}, {"probability": computed.probability})
    for text in column_differences(stored.design.to_columns(), computed.design.to_columns()):
        yield f"design carried: {text}"


def item_differences(opened: Opened, index: PoolIndex, folded: Fold, planned: PlannedRound) -> Iterator[str]:
    """Ids, predictions, segments, known labels and shown fields, read again by cell and rank."""
    labels = known_labels(folded.state)
    display = opened.spec.pool.display
    rows = index.rows(planned.plan.cell, planned.plan.rank)
    to_show = [] if opened.all_known else planned.asked()
    frozen = dict(zip(to_show, index.shown(opened.spec, [rows[t] for t in to_show]), strict=True))
    for t, row in enumerate(rows):
        is_asked = bool(planned.plan.ask[t])
        address = (int(planned.plan.cell[t]), int(planned.plan.rank[t]))
        shown = planned.shown[t]
        inherited = opened.label_beforehand(row.item_id, frozen.get(t)) if is_asked else None
        compared = (
            ("item_id", planned.item_id[t], row.item_id),
            ("prediction", _entry(planned.prediction, t), row.prediction),
            ("probabilities", _row(planned.probabilities, t), row.probabilities),
            ("predictions", _row(planned.predictions, t), row.predictions),
            ("by_system", _row(planned.by_system, t), row.by_system),
            ("judges", _row(planned.judges, t), row.judges),
            ("columns beside", _row(planned.beside, t), row.beside),
            ("score", _entry(planned.scores, t), of_curve(row)),
            ("cluster", None if planned.clusters is None else planned.clusters[t], row.cluster),
            ("weight", _entry(planned.weights, t), row.weight),
            ("rank in its query", _entry(planned.ranks, t), row.rank),
            ("stratum", _entry(planned.strata, t), row.stratum),
            ("contender", _entry(planned.contenders, t), row.contender),
            ("label", planned.known[t], None if is_asked else labels.get(address)),
            ("segments", dict(planned.segments[t]), dict(row.segments)),
            ("inherited label", planned.inherited.get(t), inherited),
            ("fields shown", None if shown is None else list(shown),
             sorted(display) if t in frozen else None),
        )
        for what, stored, computed in compared:
            if stored != computed:
                yield f"draw {t}: {what} is {stored!r}, recomputed {computed!r}"
        if shown and set(shown) == set(display) and shown != frozen.get(t):
            yield f"draw {t}: what was shown of {row.item_id!r} is not what was frozen"


def _entry(values: Floats | None, t: int) -> float | None:
    return None if values is None else float(values[t])


def _row(table: Floats | None, t: int) -> tuple[float, ...] | None:
    return None if table is None else tuple(table[t].tolist())


def of_curve(row: FrozenRow) -> float | None:
    """The score of an item that a plan has to hold."""
    scores = columns_of_items([row])["scores"]
    return None if scores is None else float(scores[0])


def people_differences(
    opened: Opened, annotating: Annotating, folded: Fold, planned: PlannedRound
) -> Iterator[str]:
    """The gold mixed in, and the answers to be asked again."""
    item_ids = [planned.item_id[t] for t in planned.to_people()]
    if planned.gold != (gold := annotating.choose(folded, item_ids)):
        yield f"the gold mixed in is {planned.gold!r}, recomputed {gold!r}"
    if planned.again != annotating.surprises(folded, planned):
        yield "the answers to be asked again are not those recomputed"
    alone = opened.spec.desk.again.when == "always"
    if planned.again_alone != alone:
        yield f"answers are asked again of a single person: {planned.again_alone}, the spec has {alone}"


def label_differences(
    check: Checking, planned: PlannedRound, decided: Sequence[Decided], rule: Rule
) -> Iterator[str]:
    """The labels and the answers to gold that a round was closed with; `rule`: of the round.

    The labels of a round recomputed, from the answers they name and by the function that decided them.

    What a ledger cannot prove is taken from the labels themselves: which answers the desk still had when it
    was read, and that an item set aside as deleted was gone. That such an item arrived twice, as it must
    have, is checked.
    """
    ledger, number = check.ledger, planned.number
    gold = read_gold_answers(ledger, number)
    digests = [digest for row in decided for digest in row.annotations]
    answers = read_answers(ledger, number, [*digests, *(d for group in gold.values() for d in group)])
    decisions = decide(
        [planned.item_id[t] for t in planned.to_people()], answers, rule,
        removed=_removed(ledger, number, decided), asks_twice=check.opened.spec.skipped != "set-aside",
        early=layout.closing(ledger.name, number) in check.found.keys,
    )
    twice = {row.item_id for row in decided if row.askings == 2}
    computed = label_rows(planned, decisions, answers, twice)
    if [row.item_id for row in decided] != [row.item_id for row in computed]:
        yield "the items are not those that were asked, in the order of the plan"
        return
    for stored, fresh in zip(decided, computed, strict=True):
        yield from row_differences(repr(stored.item_id), stored, fresh)
    yield from order_differences(check.opened.spec, answers)
    if gold != gold_answers(planned.gold, answers):
        yield "the answers to gold are not answers about the gold that was mixed in"


def order_differences(spec: Spec, answers: Sequence[Annotation]) -> Iterator[str]:
    """Which of two compared answers was shown as A, drawn again."""
    pair = spec.labelling.pair if spec.desk.blinds else None
    if pair is None:
        return
    for answer in answers:
        name, text = pair.order(answer.item_id)[0], answer.raw.get("answer_a")
        if text != name:
            yield f"{answer.item_id!r}: {text!r} is said to have been shown as A, but {name!r} was drawn"


def row_differences(what: str, stored: Decided, computed: Decided) -> Iterator[str]:
    """A sentence for each field in which the stored row about an item differs from the one computed from its
    answers; nothing where they are equal. Each begins with the name of the item."""
    for field in fields(Decided):
        a, b = getattr(stored, field.name), getattr(computed, field.name)
        if a != b:
            yield f"{what}: {field.name} is {a!r}, but its answers give {b!r}"


def sealed_answer_differences(check: Checking, number: int, decided: Sequence[Decided]) -> Iterator[str]:
    """Whether the labels name the answers that the round's seal covers; an open round has none. An answer
    under the seal that no label names, or the other way round, is one sentence."""
    name = check.ledger.name
    seal = layout.seal(name, number)
    if seal not in check.found.keys or seal in check.found.damaged:
        return
    prefix = layout.annotations(name, number)
    sealed = {key for key in sealed_in(check.ledger.get(seal), seal, name) if key.startswith(prefix)}
    if sealed != set(answer_keys(check.ledger, number, decided)):
        yield f"names other answers than {seal} covers"


def answer_keys(ledger: Ledger, number: int, decided: Sequence[Decided]) -> Iterator[str]:
    """The keys of the answers that a round's labels name, of those about gold too."""
    gold = read_gold_answers(ledger, number)
    for digests in (*(row.annotations for row in decided), *gold.values()):
        for digest in digests:
            yield layout.annotation(ledger.name, number, digest)


def _removed(ledger: Ledger, number: int, decided: Sequence[Decided]) -> set[str]:
    """Of the items set aside as deleted, those that arrived on the desk twice."""
    claimed = [row for row in decided if row.reason == "deleted"]
    posts = read_posts(ledger, number) if claimed else []
    twice = {
        asking: removed_on_purpose([post for post in posts if post.asking == asking]) for asking in (1, 2)
    }
    return {row.item_id for row in claimed if row.item_id in twice[row.askings or 1]}
