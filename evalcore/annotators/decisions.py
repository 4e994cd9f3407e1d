"""What becomes of the items of a round: the label that people's answers give, or why there is none.

    a label      enough people answered and agree, the first time the item was asked or the second
    skipped      everybody skipped it, it was asked once more, and everybody skipped it again
    deleted      somebody removed it from the desk on purpose
    unanswered   the round was closed early, and its answers give no label
    (neither)    people still have to answer it: the round is open

An item that everybody skipped is asked a second time, as a question of its own (`asks_twice`). A label
given to the first question counts even then, because people may change their minds; otherwise the second
question decides. When a round is closed early, fewer answers than were asked for will do: each item is
decided by its own answers, whatever the rule.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.evalcore.annotators.adjudication import AnswerTally
from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.rules import Rule, settle

SETTLED = ("labelled", "skipped")   # statuses of tallies that wait for nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What became of one item; with neither a label nor a reason it is still open."""

    label: float | None = None     # its code: of a class 0..K-1
    reason: Literal["skipped", "deleted", "unanswered"] | None = None   # why there is no label
    share: float | None = None     # of two classes, of its votes that name the positive one

    @property
    def is_open(self) -> bool:
        """Whether people still have to answer the item."""
        return self.label is None and self.reason is None


def decide(
    items: Sequence[str], answers: Sequence[Annotation], rule: Rule, *, removed: Collection[str] = (),
    asks_twice: bool = True, early: bool = False,
) -> dict[str, Decision]:
    """What became of every item that people were asked about, in the order of `items`.

    answers      to both askings of the round; those about gold tell Dawid-Skene whom to believe
    removed      items that somebody removed from the desk on purpose
    asks_twice   what everybody skipped is asked a second time
    early        the round is closed with the answers there are: each item's own decide
    """
    rule = rule.by_item() if early else rule
    on_desk = set(items) - set(removed)
    to_first, to_second = ([a for a in answers if a.asking == asking] for asking in (1, 2))
    twice = {a.item_id for a in to_second}.intersection(items)   # answered a second time
    first = settle(rule, items, (), to_first, on_desk, elsewhere=twice)
    labelled = {item for item, tally in first.items() if tally.status == "labelled"}
    second = settle(rule, sorted(twice), (), to_second, on_desk, elsewhere=labelled)
    return {
        item: _decision(
            deciding_tally(first[item], second.get(item)), rule, removed=item in removed, early=early,
            asked_twice=item in twice, skips_decide=early or item in twice or not asks_twice,
        )
        for item in items
    }


def deciding_tally(first: AnswerTally, second: AnswerTally | None) -> AnswerTally:
    """Which of an item's two tallies decides; `second` is None unless it was asked twice."""
    return first if second is None or first.status == "labelled" else second


def tally_of(item: str, answers: Sequence[Annotation], rule: Rule, *, asked_twice: bool) -> AnswerTally:
    """The tally that decides one item, from answers to either asking; where the item is now is not known."""
    first, second = (
        settle(rule, [item], (), [a for a in answers if a.asking == asking])[item] for asking in (1, 2)
    )
    return deciding_tally(first, second if asked_twice else None)


def _decision(
    tally: AnswerTally, rule: Rule, *, removed: bool, early: bool, asked_twice: bool,
    skips_decide: bool,
) -> Decision:
    name = tally.label
    if early and tally.status not in SETTLED:
        name = rule.joined(tally.votes)
    if name is not None and rule.kind.meaning(name) == name:
        return Decision(label=rule.kind.code(name), share=_share(tally, rule))
    skipped = tally.status == "skipped"
    if removed and not (skipped and asked_twice):
        return Decision(reason="deleted")
    if skipped and skips_decide:
        return Decision(reason="skipped")
    return Decision(reason="unanswered" if early else None)


def _share(tally: AnswerTally, rule: Rule) -> float | None:
    """Of two classes, the share of an item's votes that name the positive one; None without votes."""
    if len(rule.kind.choices) != 2 or rule.kind.several or not tally.votes:
        return None
    votes = {rule.kind.code(name): n for name, n in tally.votes.items()}
    return votes.get(1, 0) / sum(votes.values())
