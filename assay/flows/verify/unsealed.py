"""Records that no seal covers: times, the identity, the files that were read, posts, answers and alerts.

No number depends on most of them. But an evaluation cannot go on if they are damaged, and an alert is what
people act on. So all of it must be readable and belong to the evaluation, an alert of a verdict must be one
that the evaluation's estimates call for, and what went to the desk or came back from it must belong to its
round.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar, TypeVarTuple

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.errors import plural
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.flows.alerts import verdict_changes
from assay.flows.record.opened import Opened
from assay.flows.verify.checking import UNREADABLE, unreadable_key
from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.outbox import Muted, Settled, TryClaim
from assay.tasks.ledger import layout
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.asked_round import Arrived, Attempt, PlannedRound, read_plan
from assay.tasks.ledger.findings import Integrity
from assay.tasks.ledger.layout import KeyPattern
from assay.tasks.ledger.life import Begun, Closed, Identity
from assay.tasks.ledger.manifest import FilesRead
from assay.tasks.ledger.record import find_bytes, get_record
from assay.tasks.ledger.seals import sealed_in
from assay.tasks.ledger.stores.store import StoreUnreachable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_IDENTITY = re.compile("[0-9a-f]{32}")

Values = TypeVarTuple("Values")
Record = TypeVar("Record", bound="DataclassInstance")


class UnsealedKind(ABC):
    """One kind of records that no seal covers: which keys are of it, and what may be wrong with one."""

    @abstractmethod
    def check(self, integrity: Integrity, key: str) -> None:
        """Add what is wrong with the record under a key to the findings, where the key is of this kind.
        Raises StoreUnreachable. A key of another kind is left alone, and nothing comes back."""


@dataclass(frozen=True, slots=True)
class Unsealed(UnsealedKind, Generic[*Values, Record]):
    """Records of one type under keys of one pattern, and what is odd about one that can be read: by the
    ledger, the values of its key, and itself."""

    pattern: KeyPattern[*Values]
    kind: type[Record]
    odd: Callable[[Integrity, tuple[*Values], Record], Iterator[str]]

    def check(self, integrity: Integrity, key: str) -> None:
        values = self.pattern.match(key)
        if values is None:
            return
        try:
            blob = integrity.ledger.get(key)
            record = codec.decode(self.kind, blob, key)
            if codec.encode(record) != blob:
                integrity.add(key, "is not written the way such records are: it was edited or cut off")
            for sentence in self.odd(integrity, values, record):
                integrity.add(key, sentence)
        except StoreUnreachable:
            raise
        except UNREADABLE as error:
            integrity.add(key, f"cannot be read: {type(error).__name__}: {error}")


def check_unsealed(integrity: Integrity) -> None:
    """Read all of it, and say what cannot be read or belongs to nothing. Raises StoreUnreachable. These are
    records that no seal of a round covers, such as posts and deliveries."""
    _check(integrity, _RECORDS)
    check_alerts(integrity)


def check_alerts(integrity: Integrity) -> None:
    """The alerts of an evaluation or a monitor, and the attempts to send them. Raises StoreUnreachable. They
    are read whole, so that a forged or broken one is named."""
    _check(integrity, _ALERTS)


def check_alerts_called_for(opened: Opened, looks: Sequence[RoundEstimate], integrity: Integrity) -> None:
    """Whether the verdicts call for the alerts that are there; `looks`: the estimates of the closed rounds.

    That something failed cannot be recomputed: alerts of failures are only read.
    """
    called_for = {change.key for change in verdict_changes(opened, looks, finished=integrity.finished)}
    for key in sorted(integrity.keys):
        match = layout.alert.match(key)
        if match is not None and match[1] not in called_for and not match[1].startswith("failure-"):
            integrity.add(key, "no verdict of the evaluation calls for this alert")


def _check(integrity: Integrity, kinds: tuple[UnsealedKind, ...]) -> None:
    for key in sorted(integrity.keys):
        for kind in kinds:
            kind.check(integrity, key)


def _nothing(_integrity: Integrity, _values: tuple[object, ...], _record: object) -> Iterator[str]:
    return iter(())


def _odd_time(integrity: Integrity, values: tuple[str, int], _record: Closed) -> Iterator[str]:
    if layout.labels(integrity.ledger.name, values[1]) not in integrity.keys:
        yield "says when a round closed that is open"


def _odd_identity(_integrity: Integrity, _values: tuple[str], record: Identity) -> Iterator[str]:
    if not _IDENTITY.fullmatch(record.identity):
        yield "is not an identity"


def _odd_post(integrity: Integrity, values: tuple[str, int, int], record: Attempt) -> Iterator[str]:
    name, number, attempt = values
    if record.attempt != attempt:
        yield f"says it is attempt {record.attempt}"
    if attempt > 1 and layout.post(name, number, attempt - 1) not in integrity.keys:
        yield f"there is no attempt {attempt - 1} before it"


def _odd_arrival(integrity: Integrity, values: tuple[str, int, int], _record: Arrived) -> Iterator[str]:
    if layout.post(*values) not in integrity.keys:
        yield "there is no attempt that could have arrived"


def _odd_alert(_integrity: Integrity, values: tuple[str, str], record: Alert) -> Iterator[str]:
    if record.key != values[1]:
        yield f"says it is the alert {record.key}"


def _of_no_alert(
    integrity: Integrity, values: tuple[str, str, *tuple[object, ...]], _record: object
) -> Iterator[str]:
    if layout.alert(integrity.ledger.name, values[1]) not in integrity.keys:
        yield "there is no such alert"


def _odd_mute(integrity: Integrity, values: tuple[str, str], record: Muted) -> Iterator[str]:
    yield from _of_no_alert(integrity, values, record)
    if layout.mute(integrity.ledger.name, record.mute) not in integrity.keys:
        yield f"there is no mute {record.mute} during which it could have been raised"


_RECORDS: tuple[UnsealedKind, ...] = (
    Unsealed(layout.begun, Begun, _nothing), Unsealed(layout.times, Closed, _odd_time),
    Unsealed(layout.identity, Identity, _odd_identity), Unsealed(layout.pool_sources, FilesRead, _nothing),
    Unsealed(layout.post, Attempt, _odd_post), Unsealed(layout.arrived, Arrived, _odd_arrival),
)
_ALERTS: tuple[UnsealedKind, ...] = (
    Unsealed(layout.alert, Alert, _odd_alert), Unsealed(layout.alert_try, TryClaim, _of_no_alert),
    Unsealed(layout.alert_failed, Settled, _of_no_alert), Unsealed(layout.alert_sent, Settled, _of_no_alert),
    Unsealed(layout.alert_muted, Muted, _odd_mute),
)


def check_desk(integrity: Integrity) -> None:
    """Check that every attempt to post and every answer in the ledger can be read and belongs to the round
    it lies in; what is wrong is added to the findings. Raises StoreUnreachable.

    What went to the desk and what came back from it: attempts to post and answers, each in its own round.

    No seal covers the attempts, nor answers that no label names. But both belong to one round, and name items
    that its plan put to people. So a key that was moved from one round to another is found, and an answer
    that nobody could have given. Times go forward; where they do not, a clock jumped or two keys changed
    places, and nothing in a ledger says which: that is a note.
    """
    by_round: dict[int, list[str]] = {}
    for key in sorted(integrity.keys):
        entry = integrity.known.get(key)
        if entry is not None and entry.round is not None:
            by_round.setdefault(entry.round, []).append(key)
    for number, keys in by_round.items():
        plan, seal = layout.plan(integrity.ledger.name, number), layout.seal(integrity.ledger.name, number)
        if integrity.keys.isdisjoint({plan, seal}):
            for key in keys:
                integrity.add(key, "there is no such round")
        elif plan in integrity.keys - integrity.damaged:
            try:
                _check_round(integrity, read_plan(integrity.ledger, number), keys)
            except StoreUnreachable:
                raise
            except UNREADABLE:
                continue   # the plan: the recomputation of the round says so
    _note_times(integrity)


def _check_round(integrity: Integrity, planned: PlannedRound | None, keys: list[str]) -> None:
    if planned is None:
        return
    item_ids = {planned.item_id[t] for t in planned.to_people()}.union(planned.gold)
    name, number = integrity.ledger.name, planned.number
    for key in set(keys) - integrity.damaged - _sealed(integrity, number):
        try:
            for sentence in _odd(integrity, key, item_ids):
                integrity.add(key, sentence)
        except StoreUnreachable:
            raise
        except UNREADABLE as error:
            integrity.add(key, unreadable_key(key, error).difference)
    answered = any(layout.annotation.match(key) for key in keys)
    first_post = layout.post(name, number, 1)
    if answered and first_post not in integrity.keys:
        integrity.add(first_post, "is missing; answers of the round are there")


def _sealed(integrity: Integrity, number: int) -> set[str]:
    """What the seal of a round covers: its labels are decided again from that."""
    key = layout.seal(integrity.ledger.name, number)
    blob = None if key in integrity.damaged else find_bytes(integrity.ledger, key)
    return set() if blob is None else set(sealed_in(blob, key, integrity.ledger.name))


def _odd(integrity: Integrity, key: str, item_ids: set[str]) -> Iterator[str]:
    if layout.post.match(key):
        strangers = set(get_record(integrity.ledger, key, Attempt).items) - item_ids
        if strangers:
            yield f"posts {plural(len(strangers), 'item')} that the plan of its round asks nobody about"
    elif layout.annotation.match(key):
        answer = get_record(integrity.ledger, key, Annotation)
        if answer.kind != "invalid" and answer.item_id not in item_ids:
            yield f"answers {answer.item_id[:100]!r}, which the plan of its round asks nobody about"


def _note_times(integrity: Integrity) -> None:
    """The beginning and the closes of rounds, in the order in which they must have been."""
    name = integrity.ledger.name
    before: tuple[str, datetime] | None = None
    missing = []
    for number in range(integrity.rounds + 1):
        key = layout.times(name, number) if number else layout.begun(name)
        if key not in integrity.keys:
            if not number or layout.seal(name, number) in integrity.keys:
                missing.append(key)
            continue
        try:
            at = (
                get_record(integrity.ledger, key, Closed).closed if number
                else get_record(integrity.ledger, key, Begun).begun
            )
        except codec.DamagedRecord:
            continue   # reported by flows.verify.unsealed
        if before is not None and at < before[1]:
            integrity.notes.append(
                f"{key} is earlier than {before[0]}: a clock was wrong, or the two changed places"
            )
        before = (key, at)
    if missing:
        integrity.notes.append(f"no time was written down, or it was removed: {', '.join(missing[:4])}")
