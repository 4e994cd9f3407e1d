"""The rounds recomputed: what was drawn, what was decided, what was estimated, and why it stopped.

Each round is recomputed from the rounds before it as they are stored, so one wrong round is one difference
and not the beginning of a long list. A round that rests on damaged keys ends the recomputation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa

from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.rules import Rule
from assay.evalcore.errors import AssayError
from assay.evalcore.evaluation.plan import plan as plan_draws
from assay.evalcore.evaluation.state import RoundPlan, begin
from assay.flows.people.annotating import Annotating
from assay.flows.people.quality import annotators_record
from assay.flows.people.settling import (
    as_closed_early,
    label_and_reason,
    outcomes_by_asking,
    plain_rule,
    share_of,
)
from assay.flows.record.fold import Fold, why_stop
from assay.flows.record.opened import Opened
from assay.flows.record.standing import verdict_on
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.differences import TOLERANCE, in_one_sentence, same_number, value_differences
from assay.tasks.ledger.checks.findings import Integrity
from assay.tasks.ledger.rounds.answers import read_answers
from assay.tasks.ledger.rounds.estimate import read_estimate
from assay.tasks.ledger.rounds.labels import Decided, read_gold_answers, read_labels
from assay.tasks.ledger.rounds.plan import PlannedRound, read_design, read_plan
from assay.tasks.ledger.rounds.posts import read_posts, removed_on_purpose
from assay.tasks.ledger.seals import sealed_in
from assay.tasks.ledger.stores.protocol import StoreUnreachable
from assay.tasks.pool.checked_rows import shown_hashes
from assay.tasks.pool.index import PoolIndex

# to estimates, by later versions
_ADDED = frozenset({"joint", "systems", "price_tag", "system", "unanswered", "sensitivity"})
# what reading a value that makes no sense may raise; a store that is away is not among them
UNREADABLE = (AssayError, ValueError, KeyError, TypeError, IndexError, AttributeError, pa.ArrowException)


class RoundsCheck:
    """Recomputes the rounds of one evaluation; what it finds goes into `found`."""

    def __init__(self, opened: Opened, found: Integrity) -> None:
        self.closed = 0               # rounds recomputed in full
        self.labels = 0
        self._ledger, self._opened, self._found = opened.ledger, opened, found
        self._annotating = Annotating(opened)
        self._index = PoolIndex(opened.ledger, opened.manifest, opened.partition)
        self._key = layout.plan(opened.name, 1)   # what is being looked at
        self.folded = Fold(state=begin(opened.question), positives=0)   # of the rounds recomputed

    def run(self) -> None:
        """All rounds, then the outcome."""
        folded: Fold | None = self.folded
        for number in range(1, self._found.rounds + 1):
            try:
                folded = self._round(folded, number) if folded else None
            except StoreUnreachable:
                raise
            except UNREADABLE as error:
                self._say([f"cannot be recomputed: {type(error).__name__}: {error}"])
                folded = None
            if folded is None:
                if number < self._found.rounds or self._found.finished:
                    self._found.notes.append(f"round {number} and what follows it could not be recomputed")
                return
        if folded is not None:
            self._stop(folded)

    def _round(self, folded: Fold, number: int) -> Fold | None:
        """The fold after this round; None if it is open, or nothing can be built on it."""
        name = self._opened.name
        planned = self._planned(folded, number)
        if planned is None:
            return None
        self._key = layout.labels(name, number)
        if self._key in self._found.damaged or self._key not in self._found.keys:
            return None
        decided = read_labels(self._ledger, number)
        if decided is None or self._answers_are_damaged(number, decided):
            return None
        rule = self._annotating.rule(planned, [r.planned for r in folded.closed])
        self._say([*self._labels(planned, decided, rule), *self._sealed_answers(number, decided)])
        folded = replace(folded, open_round=planned).close(self._opened.question, decided)
        self._key = layout.estimate(name, number)
        computed = folded.estimate(self._opened.question, self._opened.segments)
        known = computed
        if self._key in self._found.keys:
            stored = codec.from_json(self._ledger.get(self._key), self._key)
            plain = codec.from_json(codec.to_json(asdict(computed)), self._key)
            wrong = list(value_differences(stored, as_far_as(stored, plain)))
            self._say(wrong)
            known = computed if wrong else read_estimate(self._ledger, number) or computed
        self.closed, self.labels = number, folded.state.labels
        self.folded = replace(folded, looks=(*folded.looks, known))
        self._annotators(self.folded)
        return self.folded

    def _annotators(self, folded: Fold) -> None:
        """How the people did, recomputed; rounds of before this was recorded have none."""
        self._key = layout.annotators(self._opened.name, folded.state.round)
        if self._key in self._found.keys - self._found.damaged:
            computed = annotators_record(self._opened, self._annotating, folded)
            if computed is None:
                self._say(["should not be there"])
                return
            plain = codec.from_json(codec.to_json(asdict(computed)), self._key)
            stored = codec.from_json(self._ledger.get(self._key), self._key)
            self._say(list(value_differences(stored, plain)))

    def _planned(self, folded: Fold, number: int) -> PlannedRound | None:
        name = self._opened.name
        self._key = layout.plan(name, number)
        if self._key in self._found.damaged:
            return None
        planned = read_plan(self._ledger, number)
        if planned is None:
            return None
        reason = why_stop(self._opened.rule, folded)
        if reason is not None:
            self._say([f"should not be there: round {number - 1} met a reason to stop ({reason})"])
            return None
        size = min(self._opened.spec.batch_size, self._opened.rule.budget - folded.asked)
        draws = plan_draws(self._opened.question, folded.state, size)
        wrong = [
            *_draw_differences(planned.plan, draws), *self._items(folded, planned),
            *self._people(folded, planned),
        ]
        self._say(wrong)
        if layout.design(name, number) in self._found.keys - self._found.damaged:
            self._key = layout.design(name, number)
            written = read_design(self._ledger, number).to_columns()
            self._say(_column_differences(written, draws.design.to_columns()))
        return planned

    def _items(self, folded: Fold, planned: PlannedRound) -> Iterator[str]:
        """Ids, predictions, segments, known labels and shown fields, read again by cell and rank."""
        rows = self._index.rows(planned.plan.cell, planned.plan.rank)
        known = folded.known_labels()
        display = self._opened.spec.pool.display
        for t, row in enumerate(rows):
            address = (int(planned.plan.cell[t]), int(planned.plan.rank[t]))
            shown = planned.shown[t]
            compared = (
                ("item_id", planned.item_id[t], row.item_id),
                ("prediction", int(planned.prediction[t]), row.prediction),
                ("label", planned.known[t], known.get(address)),
                ("segments", dict(planned.segments[t]), dict(row.segments)),
                ("inherited label", planned.inherited.get(t),
                 self._opened.inherited.get((row.item_id, row.shown_hash or ""))
                 if planned.plan.ask[t] else None),
                ("fields shown", None if shown is None else list(shown),
                 sorted(display) if planned.plan.ask[t] else None),
            )
            for what, stored, computed in compared:
                if stored != computed:
                    yield f"draw {t}: {what} is {stored!r}, recomputed {computed!r}"
            if shown and set(shown) == set(display):
                fields = [pa.array([shown[field]], pa.string()) for field in display]
                if shown_hashes(pa.array([row.item_id], pa.string()), fields) != [row.shown_hash]:
                    yield f"draw {t}: what was shown of {row.item_id!r} is not what was frozen"

    def _people(self, folded: Fold, planned: PlannedRound) -> Iterator[str]:
        """The gold mixed in and the answers to be asked again; plans of before these were have none."""
        asked = [planned.item_id[t] for t in planned.to_people()]
        if planned.gold != (gold := self._annotating.choose(folded, asked)):
            yield f"the gold mixed in is {planned.gold!r}, recomputed {gold!r}"
        again = self._annotating.surprises(folded, planned.plan, planned.item_id)
        if planned.again and planned.again != again:
            yield "the answers to be asked again are not those recomputed"

    def _labels(self, planned: PlannedRound, decided: list[Decided], rule: Rule) -> Iterator[str]:
        """The labels decided once more, from the answers they name."""
        asked = planned.asked()
        ids = [planned.item_id[t] for t in asked]
        if [d.item_id for d in decided] != ids:
            yield "the items are not those that were asked, in the order of the plan"
            return
        for t, one in zip(asked, decided, strict=True):
            if (one.cell, one.rank) != (int(planned.plan.cell[t]), int(planned.plan.rank[t])):
                yield f"{one.item_id!r}: cell and rank are not those of the plan"
        answers: list[Annotation] = []
        for one in decided:
            for digest in one.annotations:
                key = layout.annotation(self._opened.name, planned.number, digest)
                answer = Annotation(**codec.from_json(self._ledger.get(key), key))
                if answer.item_id != one.item_id:
                    yield f"{one.item_id!r}: names an answer about {answer.item_id!r}"
                answers.append(answer)
        gold = read_gold_answers(self._ledger, planned.number)
        if not set(gold) <= set(planned.gold):
            yield "names answers to gold that was not mixed in"
        named = [digest for digests in gold.values() for digest in digests]
        answers += read_answers(self._ledger, planned.number, named)
        aside = any(one.reason == "deleted" for one in decided)
        posts = read_posts(self._ledger, planned.number) if aside else []
        removed = {
            item_id
            for asking in (1, 2)
            for item_id in removed_on_purpose([post for post in posts if post.asking == asking])
        }
        deleted = [one.item_id for one in decided if one.reason == "deleted"]
        asked_people = [planned.item_id[t] for t in planned.to_people()]
        early = layout.closing(self._opened.name, planned.number) in self._found.keys
        if early:
            outcomes = outcomes_by_asking(asked_people, answers, plain_rule(rule))
        else:
            outcomes = outcomes_by_asking(asked_people, answers, rule, planned.gold, deleted)
        for t, one in zip(asked, decided, strict=True):
            if t in planned.inherited:
                if (one.label, one.reason, one.annotations) != (planned.inherited[t], "reused", ()):
                    yield f"{one.item_id!r}: its label is not the one it had"
                continue
            outcome = as_closed_early(outcomes[one.item_id]) if early else outcomes[one.item_id]
            label, reason = label_and_reason(outcome, self._opened.classes)
            share = share_of(outcome, self._opened.classes)
            if one.share is not None and (share is None or not same_number(one.share, share)):
                yield f"{one.item_id!r}: share {one.share!r} of positive answers, but they give {share!r}"
            if early and reason == "deleted" and one.item_id not in removed:
                reason = "unanswered"
            if one.reason == "unanswered" and not early:
                yield f"{one.item_id!r}: unanswered, but nobody decided to close the round"
            elif (one.label, one.reason) != (label, reason):
                yield (
                    f"{one.item_id!r}: label {one.label!r} (reason {one.reason!r}), but its answers give "
                    f"{label!r} (reason {reason!r})"
                )
            elif reason == "deleted" and one.item_id not in removed:
                yield f"{one.item_id!r}: set aside as deleted, but no post of it arrived twice"
            elif reason == "skipped" and one.askings == 1 and not early and self._asks_again():
                yield f"{one.item_id!r}: set aside as undecided without being asked again"

    def _asks_again(self) -> bool:
        return self._opened.spec.skipped != "set-aside"

    def _answers_are_damaged(self, number: int, decided: list[Decided]) -> bool:
        """Whether labels rest on an answer that is gone or changed; one that is gone is named."""
        digests = {digest for one in decided for digest in one.annotations}
        named = {layout.annotation(self._opened.name, number, digest) for digest in digests}
        for key in named - self._found.keys:
            self._found.add(key, f"is missing; {self._key} names it")
        return bool(named & self._found.damaged)

    def _sealed_answers(self, number: int, decided: list[Decided]) -> Iterator[str]:
        """The seal covers the answers the labels name, and no others."""
        name = self._opened.name
        seal = layout.seal(name, number)
        if seal not in self._found.keys or seal in self._found.damaged:
            return
        prefix = layout.annotations(name, number)
        sealed = {key for key in sealed_in(self._ledger.get(seal), seal, name) if key.startswith(prefix)}
        gold = read_gold_answers(self._ledger, number)
        digests = [*(one.annotations for one in decided), *gold.values()]
        named = {layout.annotation(name, number, digest) for several in digests for digest in several}
        if sealed != named:
            yield f"names other answers than {seal} covers"

    def _stop(self, folded: Fold) -> None:
        """Whether it should have stopped here, and with what outcome."""
        self._key = layout.ending(self._opened.name)
        reason = why_stop(self._opened.rule, folded)
        if self._key not in self._found.keys:
            return
        try:
            stored = codec.from_json(self._ledger.get(self._key), self._key)
        except codec.DamagedRecord as error:
            self._say([f"cannot be read: {error}"])
            return
        known = folded.looks[-1] if folded.looks else None
        computed = {
            "stopped_by": reason,
            "verdict": verdict_on(self._opened, known),
            "rounds": folded.state.round,
            "labels": folded.state.labels,
            "undecided": folded.state.undecided,
        }
        self._say(list(value_differences(stored, computed)))

    def _say(self, wrong: list[str]) -> None:
        if wrong:
            self._found.add(self._key, in_one_sentence(wrong))


def as_far_as(stored: Any, computed: dict[str, Any]) -> dict[str, Any]:
    """Without what the version that wrote the estimates did not know of: see `_ADDED`."""
    kept = {name: v for name, v in computed.items() if name not in _ADDED or name in stored}
    for part in ("estimates", "segments"):
        then = stored.get(part, ()) if isinstance(stored, dict) else ()
        known = {name for e in then if isinstance(e, dict) for name in e}
        tags = [e.get("price_tag") for e in then if isinstance(e, dict)]
        in_tags = {name for tag in tags if isinstance(tag, dict) for name in tag}
        kept[part] = [
            {
                name: {key: x for key, x in v.items() if key in in_tags} if name == "price_tag" and v else v
                for name, v in e.items()
                if name not in _ADDED or name in known
            }
            for e in computed[part]
        ]
    return kept


def _draw_differences(stored: RoundPlan, computed: RoundPlan) -> list[str]:
    columns = {name: (getattr(stored, name), getattr(computed, name))
               for name in ("cell", "rank", "ask", "probability")}
    wrong = _column_differences(
        {name: pair[0] for name, pair in columns.items()}, {name: pair[1] for name, pair in columns.items()}
    )
    carried = _column_differences(stored.design.to_columns(), computed.design.to_columns())
    return wrong + [f"design carried: {text}" for text in carried]


def _column_differences(stored: Mapping[str, Any], computed: Mapping[str, Any]) -> list[str]:
    """One sentence for every column that differs, with its first offender."""
    wrong = []
    for name in sorted({*stored, *computed}):
        if name not in stored or name not in computed:
            wrong.append(f"column {name} is {'missing' if name not in stored else 'not recomputed'}")
            continue
        a, b = np.asarray(stored[name]), np.asarray(computed[name])
        if a.shape != b.shape:
            wrong.append(f"{name} has {len(a)} rows, recomputed {len(b)}")
            continue
        exact = a.dtype.kind in "biu" and b.dtype.kind in "biu"
        bad = a != b if exact else ~np.isclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            wrong.append(
                f"{name} differs in {int(bad.sum())} rows, first in row {first}: {a[first]!s}, recomputed "
                f"{b[first]!s}"
            )
    return wrong
