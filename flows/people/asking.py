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
   disappeared once may be an accident, and is posted again.
6. When nothing else of the round is open, what everybody skipped is asked a second time, under the same
   rules: a batch of its own with its own posts, numbered on from the first asking's
   (`flows.people.settling`).
7. A round that was posted more than once is read again when the next one closes: an import may have committed
   since, and copies nobody touched are removed before they cost somebody's time.
8. A round may be closed with what is there: at its deadline, or when somebody says so. `closing.json` records
   the decision before the last look; what has no answer then is recorded as unanswered, and the others stand
   for it (`evalcore.evaluation.nonresponse`). A round in which nothing could stand for it goes on waiting.

Answers are copied into the ledger as soon as they are seen. Those of an item that is gone from the desk still
count; of one that is there, only what the desk says now counts.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from assay.evalcore.annotators.adjudication import Outcome
from assay.evalcore.annotators.rules import Rule, settle
from assay.evalcore.evaluation.nonresponse import NothingToStandFor, response
from assay.evalcore.pool.cells import Cells
from assay.flows.people.deadlines import Deadline
from assay.flows.people.settling import (
    Judged,
    batch_again,
    decide,
    first_batch,
    outcome_of,
    outcomes_by_asking,
    plain_rule,
    to_ask_again,
)
from assay.tasks.desks.effects import collect_answers, missing_items, post_items, prepare_desk, request_more
from assay.tasks.desks.protocol import AmbiguousPost, Batch, Desk, DeskError, Item
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.answers import digests_by_item, read_answers, store_answers, stored_answers
from assay.tasks.ledger.rounds.closing import decide_to_close, read_closing
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.ledger.rounds.posts import Post, create_post, mark_arrived, read_posts

_log = logging.getLogger("assay.asking")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a round has: `decided` when every item is settled, or else what it waits for."""

    decided: list[Decided] | None
    gold: Mapping[str, tuple[str, ...]] = field(default_factory=dict)   # gold item -> names of its answers
    waiting: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asker:
    """Everything asking needs to know."""

    ledger: Ledger
    desk: Desk
    classes: Mapping[str, int]           # class name -> 0 or 1
    annotators: int                      # people asked per item
    repost_after: timedelta
    now: Callable[[], datetime]
    cells: Cells                         # of the pool: what the others of a cell can stand for
    deadline: Deadline = field(default_factory=Deadline)
    seed: int = 0                        # of the order gold is mixed in

    def ask(
        self, planned: PlannedRound, rule: Rule, gold: Sequence[Item] = (), *, close: bool = False
    ) -> Answers:
        """Post what is due, read what was answered, and say whether the round can be closed.

        rule: how answers become labels. gold: the gold items of the round; they are answered and settled like
        the others, and no label comes of them. close: close the round with what is there; NothingToStandFor
        if that cannot be.
        """
        batch = first_batch(self.ledger.name, planned, gold, self.seed)
        if not batch.items:
            return Answers(decided=decide(planned, self.classes, {}, {}))
        mixed_in = [item.item_id for item in gold]
        first = self._judge(batch, rule, mixed_in)
        again = self._asked_again(batch)
        if not first.unsettled and self.deadline.ask_again:
            again |= to_ask_again(first.outcomes, mixed_in)
        second = self._judge(batch_again(self.ledger.name, planned, again), rule) if again else None
        outcomes = _both(first, second)
        open_first = {i for i in first.unsettled if outcomes[i] is first.outcomes[i]}
        open_second = {i for i in second.unsettled if outcomes[i] is second.outcomes[i]} if second else set()
        early = bool(open_first or open_second)
        decided = self._decide(planned, first, second, rule, early=early)
        if early:
            late = self.deadline.passed(first.posts, self.now())
            why = read_closing(self.ledger, batch.round)
            obstacle = self._obstacle(planned, decided)
            if close and why is None:
                if obstacle is not None:
                    raise obstacle
                if not _anybody_answered(planned, outcomes):
                    raise NothingToStandFor(
                        f"round {batch.round} cannot be closed: nobody has answered anything of it yet"
                    )
                why = decide_to_close(self.ledger, batch.round, "request")
            if late and self.deadline.then == "close" and why is None and obstacle is None:
                why = decide_to_close(self.ledger, batch.round, "deadline")
            if why is None or obstacle is not None:
                told = self.deadline.told(first.posts, self.now())
                if obstacle is not None and (why or (late and self.deadline.then == "close")):
                    told["cannot_close"] = str(obstacle)
                if open_first or second is None:
                    return self._wait(first, open_first, told)
                return self._wait(second, open_second, told)
        elif read_closing(self.ledger, batch.round) is not None:
            # somebody decided to close it early, and the last answers came in: recorded by the same rule
            decided = self._decide(planned, first, second, rule, early=True)
        digests = digests_by_item(first.answers)
        return Answers(
            decided=decided,
            gold={item_id: digests[item_id] for item_id in sorted(mixed_in) if item_id in digests},
        )

    def clear(self, planned: PlannedRound, gold: Sequence[Item] = ()) -> None:
        """Remove untouched copies of a closed round that came late. Its labels stay as they are."""
        if len(read_posts(self.ledger, planned.number)) < 2:
            return
        try:
            removed = collect_answers(
                self.desk, first_batch(self.ledger.name, planned, gold, self.seed)
            ).twins_removed
        except DeskError as error:   # tidying up is no reason to stop
            _log.warning("%s, round %d: late copies were not looked for: %s",
                         self.ledger.name, planned.number, error)
            return
        if removed:
            _log.info("%s, round %d: removed %d copies that came late",
                      self.ledger.name, planned.number, removed)

    def look_again(
        self, planned: PlannedRound, decided: Sequence[Decided]
    ) -> dict[str, Decided]:
        """Where the items of a closed round stand now; `decided`: what they came to so far.

        Nothing is posted. See `flows.revisions.revise` for what a look makes of an item.
        """
        rule = Rule(annotators=self.annotators, classes=self.classes, number=planned.number)
        first = self._look(first_batch(self.ledger.name, planned), rule)
        again = self._asked_again(first.batch)
        second = self._look(batch_again(self.ledger.name, planned, again), rule) if again else None
        fresh = {one.item_id: one for one in self._decide(planned, first, second, rule, early=True)}
        outcomes = _both(first, second)
        present = first.present | (second.present if second else frozenset())
        found = {}
        for before in decided:
            # nobody was asked (the label was bought before), or nobody says anything else than before
            if before.item_id not in outcomes or self._says_the_same(
                planned.number, before, fresh[before.item_id]
            ):
                found[before.item_id] = before
                continue
            after, outcome = fresh[before.item_id], outcomes[before.item_id]
            on_desk = before.item_id in present
            silent = not (outcome.votes or outcome.skips or outcome.invalid)
            if after.label is not None and not (before.reason == "withdrawn" and not on_desk):
                found[before.item_id] = after
            elif outcome.status == "skipped":
                found[before.item_id] = replace(after, reason="skipped")
            elif silent and on_desk and before.label is not None:
                found[before.item_id] = replace(after, reason="withdrawn")
            else:
                found[before.item_id] = before
        return found

    def _says_the_same(self, number: int, before: Decided, after: Decided) -> bool:
        """Whether the answers behind both say the same: a file saved again has new times, and no news."""
        if before.annotations == after.annotations:
            return True
        said = [
            {(a.annotator, a.asking, a.kind, a.label) for a in
             read_answers(self.ledger, number, one.annotations)}
            for one in (before, after)
        ]
        return said[0] == said[1]

    def _decide(
        self, planned: PlannedRound, first: Judged, second: Judged | None, rule: Rule, *, early: bool
    ) -> list[Decided]:
        """early: by what is there, and by a majority whatever the rule."""
        answers = [*first.answers, *(second.answers if second else ())]
        outcomes: Mapping[str, Outcome] = _both(first, second)
        if early:
            people = [planned.item_id[t] for t in planned.to_people()]
            outcomes = outcomes_by_asking(people, answers, plain_rule(rule))
        removed = first.removed | (second.removed if second else set())
        again = set(second.outcomes) if second else set()
        return decide(
            planned, self.classes, outcomes, digests_by_item(answers), again, removed, early=early
        )

    def _obstacle(
        self, planned: PlannedRound, decided: Sequence[Decided]
    ) -> NothingToStandFor | None:
        """Why the round cannot be closed like this, or None."""
        answered = np.array([one.reason != "unanswered" for one in decided])
        try:
            response(self.cells, planned.plan.cell[planned.plan.ask], answered)
        except NothingToStandFor as error:
            return error
        return None

    def _judge(self, batch: Batch, rule: Rule, gold: Sequence[str] = ()) -> Judged:
        """One asking: post what never was, and what is lost; read the desk; say where each item stands."""
        seen = self._attempts(batch)
        posts = self._posts(batch)
        if not posts and (batch.round, batch.asking) == (1, 1):
            prepare_desk(self.desk)   # `begin` may have been cut short; later, a lost project is an error
        posted = {item_id for post in posts for item_id in post.items}
        fresh = [item for item in batch.items if item.item_id not in posted]
        if fresh:
            self._post(batch, fresh, seen + 1)
        seen = self._attempts(batch)
        judged = self._look(batch, rule, gold)
        lost = self._lost(judged)
        if lost:
            self._post(batch, lost, seen + 1)
            judged = self._look(batch, rule, gold)
        return judged

    def _posts(self, batch: Batch) -> list[Post]:
        """The attempts of this asking."""
        posts = read_posts(self.ledger, batch.round)
        return [post for post in posts if post.asking == batch.asking]

    def _asked_again(self, batch: Batch) -> set[str]:
        posts = read_posts(self.ledger, batch.round)
        return {item_id for post in posts if post.asking > 1 for item_id in post.items}

    def _attempts(self, batch: Batch) -> int:
        """Attempts of the round so far. Read before what is due is decided: whoever decides the same at the
        same moment goes for the same key, and only one gets it."""
        return len(read_posts(self.ledger, batch.round))

    def _post(self, batch: Batch, items: Sequence[Item], attempt: int) -> None:
        """Create this posts/ key and, if it is ours, post."""
        item_ids = [item.item_id for item in items]
        ours = create_post(
            self.ledger, batch.round, attempt, item_ids, self.now(), batch.asking
        )
        if ours:
            try:
                post_items(self.desk, batch, items)
            except AmbiguousPost as error:
                _log.warning("%s, round %d: %s; reading the desk", self.ledger.name, batch.round, error)

    def _look(self, batch: Batch, rule: Rule, gold: Sequence[str] = ()) -> Judged:
        """Read the desk in full, keep what was read, and judge it."""
        collected = collect_answers(self.desk, batch)
        if collected.twins_removed:
            _log.info("%s, round %d: removed %d untouched copies from the desk",
                      self.ledger.name, batch.round, collected.twins_removed)
        store_answers(self.ledger, batch.round, collected.annotations)
        posts = self._posts(batch)
        if posts and not posts[-1].arrived and collected.present.issuperset(posts[-1].items):
            mark_arrived(self.ledger, batch.round, posts[-1].attempt)
            posts = self._posts(batch)
        ids = [item.item_id for item in batch.items]
        answers = list(collected.annotations)
        gone = set(ids) - collected.present
        if gone:
            kept = stored_answers(self.ledger, batch.round, gone)
            answers += [answer for answer in kept if answer.asking == batch.asking]
        asked = [item_id for item_id in ids if item_id not in gold]
        outcomes = settle(rule, asked, gold, answers, collected.present)
        return Judged(
            batch=batch, posts=posts, answers=answers, outcomes=outcomes, present=collected.present
        )

    def _lost(self, judged: Judged) -> list[Item]:
        """The items to post again, now."""
        absent = judged.absent - judged.removed
        if not absent or not judged.posts or self.now() - judged.posts[-1].at < self.repost_after:
            return []
        return [item for item in missing_items(self.desk, judged.batch) if item.item_id in absent]

    def _wait(self, judged: Judged, only: set[str], told: Mapping[str, Any]) -> Answers:
        """Wait for these items of this asking."""
        unsettled = {item_id: outcome for item_id, outcome in judged.unsettled.items() if item_id in only}
        self._request_more(judged.batch, unsettled)
        return Answers(decided=None, waiting={**_waiting(judged, unsettled), **told})

    def _request_more(self, batch: Batch, unsettled: Mapping[str, Outcome]) -> None:
        """Ties, and answers that are none, go to one more person."""
        wanted: dict[int, list[str]] = {}
        for item_id, outcome in unsettled.items():
            people = outcome.people + (1 if outcome.status == "invalid" else 0)
            if outcome.status != "absent" and people > self.annotators:
                wanted.setdefault(people, []).append(item_id)
        for people, item_ids in sorted(wanted.items()):
            request_more(self.desk, batch, item_ids, people)


def _anybody_answered(planned: PlannedRound, outcomes: Mapping[str, Outcome]) -> bool:
    """Whether any item of the pool has an answer; gold, and labels bought before, are none."""
    asked = (outcomes[planned.item_id[t]] for t in planned.to_people())
    return any(one.votes or one.skips or one.invalid for one in asked)


def _both(first: Judged, second: Judged | None) -> dict[str, Outcome]:
    """What the two askings come to, by item."""
    later = second.outcomes if second else {}
    return {item_id: outcome_of(one, later.get(item_id)) for item_id, one in first.outcomes.items()}


def _waiting(judged: Judged, unsettled: Mapping[str, Outcome]) -> dict[str, Any]:
    """What people are told: how far the round is, and what is unusual about it."""
    batch = judged.batch
    unusual = {
        "tied": sum(1 for o in unsettled.values() if o.status == "waiting" and len(o.votes) > 1),
        "invalid": sum(1 for o in unsettled.values() if o.status == "invalid"),
        "not_on_desk": sum(1 for o in unsettled.values() if o.status == "absent"),
        "asked_again": len(unsettled) if batch.asking > 1 else 0,
    }
    usual = {
        "round": batch.round,
        "items": len(batch.items),
        "on_desk": len(batch.items) - len(judged.absent),
        "answered": sum(1 for outcome in judged.outcomes.values() if outcome.votes or outcome.skips),
    }
    return usual | {name: count for name, count in unusual.items() if count}
