"""Asking people: put a round's items on the desk, once, and read what they said.

A post can succeed without our knowing, and even commit minutes later, so "posted once" cannot be promised.
What is promised is one label per item, and copies kept rare:

1. `posts/0001.json` is created exclusively before the first post, and only its creator posts.
2. The reply may be lost (AmbiguousPost) and the creator may die. Either way everybody, the creator included,
   only reads from now on.
3. Items that are still not on the desk when the last post is older than `repost_after` are posted again, by
   whoever creates the next `posts/` key, after one more look.
4. Whether anybody answered is never guessed from the desk's counters (Label Studio's lag behind its answers,
   and a lost update leaves them behind for good): every look is a full read of the batch.
5. When everything a post carried has been seen on the desk, `posts/0001.arrived.json` says so. An item that
   arrived twice and is gone again was removed by somebody who meant it: it is settled as "deleted". One that
   disappeared once may be an accident, and is asked again.

Answers are copied into the ledger as soon as they are seen. Those of an item that is gone from the desk still
count; of one that is there, only what the desk says now counts.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from evalcore.adjudication import Outcome, adjudicate
from tasks.desk_effects import (
    collect_answers,
    missing_items,
    post_items,
    prepare_desk,
    request_more,
)
from tasks.desks.desk import AmbiguousPost, Annotation, Batch, Desk, Item
from tasks.ledger.answers import digests_by_item, store_answers, stored_answers
from tasks.ledger.posts import Post, create_post, mark_arrived, read_posts, removed_on_purpose
from tasks.ledger.records import Decided, PlannedRound
from tasks.ledger.store import Store

_log = logging.getLogger("assay.asking")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a round has: `decided` when every item is settled, or else what it waits for."""

    decided: list[Decided] | None
    waiting: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asker:
    """Everything asking needs to know."""

    store: Store
    desk: Desk
    evaluation: str
    classes: Mapping[str, int]           # class name -> 0 or 1
    annotators: int                      # people asked per item
    repost_after: timedelta
    now: Callable[[], datetime]

    def ask(self, planned: PlannedRound) -> Answers:
        """Post what is due, read what was answered, and say whether the round can be closed."""
        batch = _batch(self.evaluation, planned)
        if not batch.items:
            return Answers(decided=[])
        posts = read_posts(self.store, self.evaluation, batch.round)
        if not posts:
            if batch.round == 1:
                prepare_desk(self.desk)   # `begin` may have been cut short; later, a lost project is an error
            posts = self._post(batch, batch.items, posts)
        posts, answers, outcomes = self._look(batch, posts)
        lost = self._lost(batch, posts, outcomes)
        if lost:
            posts, answers, outcomes = self._look(batch, self._post(batch, lost, posts))
        return self._settle(planned, batch, posts, answers, outcomes)

    def _post(self, batch: Batch, items: Sequence[Item], before: list[Post]) -> list[Post]:
        """Create the next posts/ key and, if it is ours, post."""
        item_ids = [item.item_id for item in items]
        if create_post(
            self.store, self.evaluation, batch.round, len(before) + 1, item_ids, self.now()
        ):
            try:
                post_items(self.desk, batch, items)
            except AmbiguousPost as error:
                _log.warning("%s, round %d: %s; reading the desk", self.evaluation, batch.round, error)
        return read_posts(self.store, self.evaluation, batch.round)

    def _look(
        self, batch: Batch, posts: list[Post]
    ) -> tuple[list[Post], list[Annotation], dict[str, Outcome]]:
        """Read the desk in full, keep what was read, and judge it: posts, the answers judged, outcomes."""
        collected = collect_answers(self.desk, batch)
        if collected.twins_removed:
            _log.info("%s, round %d: removed %d untouched copies from the desk",
                      self.evaluation, batch.round, collected.twins_removed)
        store_answers(self.store, self.evaluation, batch.round, collected.annotations)
        last = posts[-1]
        if not last.arrived and collected.present.issuperset(last.items):
            mark_arrived(self.store, self.evaluation, batch.round, last.attempt)
            posts = read_posts(self.store, self.evaluation, batch.round)
        ids = [item.item_id for item in batch.items]
        answers = list(collected.annotations)
        gone = set(ids) - collected.present
        if gone:
            answers += stored_answers(self.store, self.evaluation, batch.round, gone)
        outcomes = adjudicate(ids, answers, annotators=self.annotators, present=collected.present)
        return posts, answers, outcomes

    def _lost(self, batch: Batch, posts: list[Post], outcomes: Mapping[str, Outcome]) -> list[Item]:
        """The items to post again, now."""
        absent = _absent(outcomes) - removed_on_purpose(posts)
        if not absent or self.now() - posts[-1].at < self.repost_after:
            return []
        return [item for item in missing_items(self.desk, batch) if item.item_id in absent]

    def _settle(
        self, planned: PlannedRound, batch: Batch, posts: list[Post],
        answers: list[Annotation], outcomes: Mapping[str, Outcome],
    ) -> Answers:
        removed = _absent(outcomes) & removed_on_purpose(posts)
        unsettled = {
            item_id: outcome
            for item_id, outcome in outcomes.items()
            if outcome.status not in ("labelled", "skipped") and item_id not in removed
        }
        if unsettled:
            self._request_more(batch, unsettled)
            answered = sum(1 for outcome in outcomes.values() if outcome.votes or outcome.skips)
            on_desk = len(batch.items) - len(_absent(outcomes))
            return Answers(decided=None, waiting=_waiting(batch, on_desk, unsettled, answered))
        digests = digests_by_item(answers)
        return Answers(
            decided=[
                self._decide(planned, t, outcomes[planned.item_id[t]], digests) for t in planned.asked()
            ]
        )

    def _decide(
        self, planned: PlannedRound, t: int, outcome: Outcome, digests: Mapping[str, tuple[str, ...]]
    ) -> Decided:
        return Decided(
            item_id=planned.item_id[t],
            cell=int(planned.plan.cell[t]),
            rank=int(planned.plan.rank[t]),
            label=None if outcome.label is None else self.classes[outcome.label],
            reason={"labelled": None, "skipped": "skipped"}.get(outcome.status, "deleted"),
            annotations=digests.get(planned.item_id[t], ()),
        )

    def _request_more(self, batch: Batch, unsettled: Mapping[str, Outcome]) -> None:
        """Ties, and answers that are none, go to one more person."""
        wanted: dict[int, list[str]] = {}
        for item_id, outcome in unsettled.items():
            people = outcome.people + (1 if outcome.status == "invalid" else 0)
            if outcome.status != "absent" and people > self.annotators:
                wanted.setdefault(people, []).append(item_id)
        for people, item_ids in sorted(wanted.items()):
            request_more(self.desk, batch, item_ids, people)


def _batch(evaluation: str, planned: PlannedRound) -> Batch:
    items = [Item(item_id=planned.item_id[t], shown=planned.shown[t] or {}) for t in planned.asked()]
    return Batch(evaluation=evaluation, round=planned.number, items=items)


def _absent(outcomes: Mapping[str, Outcome]) -> set[str]:
    return {item_id for item_id, outcome in outcomes.items() if outcome.status == "absent"}


def _waiting(
    batch: Batch, on_desk: int, unsettled: Mapping[str, Outcome], answered: int = 0
) -> dict[str, Any]:
    """What people are told: how far the round is, and what is unusual about it."""
    unusual = {
        "tied": sum(1 for o in unsettled.values() if o.status == "waiting" and len(o.votes) > 1),
        "invalid": sum(1 for o in unsettled.values() if o.status == "invalid"),
        "not_on_desk": sum(1 for o in unsettled.values() if o.status == "absent"),
    }
    usual = {"round": batch.round, "items": len(batch.items), "on_desk": on_desk, "answered": answered}
    return usual | {name: count for name, count in unusual.items() if count}
