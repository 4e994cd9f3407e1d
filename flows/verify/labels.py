"""The labels of a round recomputed, from the answers they name and by the function that decided them.

What a ledger cannot prove is taken from the labels themselves: which answers the desk still had when it was
read, and that an item set aside as deleted was gone. That such an item arrived twice, as it must have, is
checked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields

from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.decisions import decide
from assay.evalcore.annotators.rules import Rule
from assay.flows.people.labels import gold_answers, label_rows
from assay.flows.verify.checking import Checking
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.answers import read_answers
from assay.tasks.ledger.rounds.labels import Decided, read_gold_answers
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.ledger.rounds.posts import read_posts, removed_on_purpose
from assay.tasks.ledger.seals import sealed_in
from assay.tasks.spec.evaluation import Spec


def label_differences(
    check: Checking, planned: PlannedRound, decided: Sequence[Decided], rule: Rule
) -> Iterator[str]:
    """The labels and the answers to gold that a round was closed with; `rule`: of the round."""
    ledger, number = check.ledger, planned.number
    gold = read_gold_answers(ledger, number)
    named = [digest for one in decided for digest in one.annotations]
    answers = read_answers(ledger, number, [*named, *(d for several in gold.values() for d in several)])
    decisions = decide(
        [planned.item_id[t] for t in planned.to_people()], answers, rule,
        removed=_removed(ledger, number, decided), asks_twice=check.opened.spec.skipped != "set-aside",
        early=layout.closing(ledger.name, number) in check.found.keys,
    )
    twice = {one.item_id for one in decided if one.askings == 2}
    computed = label_rows(planned, decisions, answers, twice)
    if [one.item_id for one in decided] != [one.item_id for one in computed]:
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
        first, said = pair.order(answer.item_id)[0], answer.raw.get("answer_a")
        if said != first:
            yield f"{answer.item_id!r}: {said!r} is said to have been shown as A, but {first!r} was drawn"


def row_differences(what: str, stored: Decided, computed: Decided) -> Iterator[str]:
    """Every field in which two rows about an item differ."""
    for field in fields(Decided):
        a, b = getattr(stored, field.name), getattr(computed, field.name)
        if a != b:
            yield f"{what}: {field.name} is {a!r}, but its answers give {b!r}"


def sealed_answer_differences(check: Checking, number: int, decided: Sequence[Decided]) -> Iterator[str]:
    """Whether the labels name the answers that the round's seal covers; an open round has none."""
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
    for several in (*(one.annotations for one in decided), *gold.values()):
        for digest in several:
            yield layout.annotation(ledger.name, number, digest)


def _removed(ledger: Ledger, number: int, decided: Sequence[Decided]) -> set[str]:
    """Of the items set aside as deleted, those that arrived on the desk twice."""
    claimed = [one for one in decided if one.reason == "deleted"]
    posts = read_posts(ledger, number) if claimed else []
    twice = {
        asking: removed_on_purpose([post for post in posts if post.asking == asking]) for asking in (1, 2)
    }
    return {one.item_id for one in claimed if one.item_id in twice[one.askings or 1]}
