"""What went to the desk and what came back from it: attempts to post and answers, each in its own round.

No seal covers the attempts, nor answers that no label names. But both belong to one round, and name items
that its plan put to people. So a key that was moved from one round to another is found, and an answer that
nobody could have given. Times go forward; where they do not, a clock jumped or two keys changed places, and
nothing in a ledger says which: that is a note.
"""

from collections.abc import Iterator
from datetime import datetime

from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.plurals import plural
from assay.flows.verify.checking import UNREADABLE, unreadable
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.findings import Integrity
from assay.tasks.ledger.record import find_bytes, get_record
from assay.tasks.ledger.rounds.plan import PlannedRound, read_plan
from assay.tasks.ledger.rounds.posts import Attempt
from assay.tasks.ledger.seals import sealed_in
from assay.tasks.ledger.stores.protocol import StoreUnreachable
from assay.tasks.ledger.times import Begun, Closed


def check_desk(found: Integrity) -> None:
    """Every attempt and every answer of every round. Raises StoreUnreachable."""
    by_round: dict[int, list[str]] = {}
    for key in sorted(found.keys):
        known = found.known.get(key)
        if known is not None and known.round is not None:
            by_round.setdefault(known.round, []).append(key)
    for number, keys in by_round.items():
        plan, seal = layout.plan(found.ledger.name, number), layout.seal(found.ledger.name, number)
        if found.keys.isdisjoint({plan, seal}):
            for key in keys:
                found.add(key, "there is no such round")
        elif plan in found.keys - found.damaged:
            try:
                _check_round(found, read_plan(found.ledger, number), keys)
            except StoreUnreachable:
                raise
            except UNREADABLE:
                continue   # the plan: the recomputation of the round says so
    _note_times(found)


def _check_round(found: Integrity, planned: PlannedRound | None, keys: list[str]) -> None:
    if planned is None:
        return
    asked = {planned.item_id[t] for t in planned.to_people()}.union(planned.gold)
    name, number = found.ledger.name, planned.number
    for key in set(keys) - found.damaged - _sealed(found, number):
        try:
            for sentence in _odd(found, key, asked):
                found.add(key, sentence)
        except StoreUnreachable:
            raise
        except UNREADABLE as error:
            found.add(key, unreadable(key, error).difference)
    answered = any(layout.annotation.match(key) for key in keys)
    first = layout.post(name, number, 1)
    if answered and first not in found.keys:
        found.add(first, "is missing; answers of the round are there")


def _sealed(found: Integrity, number: int) -> set[str]:
    """What the seal of a round covers: its labels are decided again from that."""
    key = layout.seal(found.ledger.name, number)
    blob = None if key in found.damaged else find_bytes(found.ledger, key)
    return set() if blob is None else set(sealed_in(blob, key, found.ledger.name))


def _odd(found: Integrity, key: str, asked: set[str]) -> Iterator[str]:
    if layout.post.match(key):
        strangers = set(get_record(found.ledger, key, Attempt).items) - asked
        if strangers:
            yield f"posts {plural(len(strangers), 'item')} that the plan of its round asks nobody about"
    elif layout.annotation.match(key):
        answer = get_record(found.ledger, key, Annotation)
        if answer.kind != "invalid" and answer.item_id not in asked:
            yield f"answers {answer.item_id[:100]!r}, which the plan of its round asks nobody about"


def _note_times(found: Integrity) -> None:
    """The beginning and the closes of rounds, in the order in which they must have been."""
    name = found.ledger.name
    before: tuple[str, datetime] | None = None
    missing = []
    for number in range(found.rounds + 1):
        key = layout.times(name, number) if number else layout.begun(name)
        if key not in found.keys:
            if not number or layout.seal(name, number) in found.keys:
                missing.append(key)
            continue
        try:
            at = (
                get_record(found.ledger, key, Closed).closed if number
                else get_record(found.ledger, key, Begun).begun
            )
        except codec.DamagedRecord:
            continue   # reported by flows.verify.beside
        if before is not None and at < before[1]:
            found.notes.append(
                f"{key} is earlier than {before[0]}: a clock was wrong, or the two changed places"
            )
        before = (key, at)
    if missing:
        found.notes.append(f"no time was written down, or it was removed: {', '.join(missing[:4])}")
