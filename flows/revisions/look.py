"""A look: a closed round's batches are read once more, and each item's label follows what people say now.

What a look makes of an item:

    its answers give a label                   that label (fewer answers than were asked for will do)
    everybody skips it now                     undecided
    nobody's answer is left, it is on the desk undecided ("withdrawn"), if it had a label; else as it was
    it is gone from the desk                   the answers that were seen still count
    tied, or an answer that is none            as it was
    the answers say what they said before      as it was
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.evalcore.annotators.adjudication import AnswerTally
from assay.evalcore.annotators.annotation import Annotation
from assay.flows.people.asked import AskedRound
from assay.flows.people.context import People
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.answers import read_answers
from assay.tasks.ledger.rounds.labels import Decided


def labels_now(people: People, asked: AskedRound, decided: Sequence[Decided]) -> dict[str, Decided]:
    """Item -> what it comes to now.

    asked     the round's batches, as they were read once more
    decided   what the round's items came to so far
    """
    tallies, fresh = asked.tallies, {one.item_id: one for one in asked.labels(early=True)}
    now = {}
    for before in decided:
        now[before.item_id] = before
        # nobody was asked about an item whose label was bought before
        if before.item_id in tallies and not say_the_same(
            people.ledger, asked.planned.number, before, fresh[before.item_id]
        ):
            now[before.item_id] = relabelled(
                before, fresh[before.item_id], tallies[before.item_id],
                on_desk=before.item_id in asked.present,
            )
    return now


def relabelled(before: Decided, fresh: Decided, tally: AnswerTally, *, on_desk: bool) -> Decided:
    """What an item comes to whose answers changed.

    before    what it came to so far
    fresh     what its answers of now give when the round is closed with what is there
    tally     of these answers
    on_desk   whether the item is on the desk now
    """
    if fresh.label is not None and (on_desk or before.reason != "withdrawn"):
        return fresh
    if tally.status == "skipped":
        return replace(fresh, reason="skipped")
    if not tally.answers and on_desk and before.label is not None:
        return replace(fresh, reason="withdrawn")
    return before


def say_the_same(ledger: Ledger, number: int, before: Decided, after: Decided) -> bool:
    """Whether the answers behind both say the same: a file that is saved again has new times, and no news."""
    if before.annotations == after.annotations:
        return True
    then, now = (read_answers(ledger, number, one.annotations) for one in (before, after))
    return _said(then) == _said(now)


def _said(answers: Iterable[Annotation]) -> set[tuple[str, int, str, str | None]]:
    return {(a.annotator, a.asking, a.kind, a.label) for a in answers}
