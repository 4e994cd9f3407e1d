"""What lies beside the evidence: times, the identity, the files that were read, posts and alerts.

No number depends on it, and no seal covers it. But an evaluation cannot go on if it is damaged, and an alert
is what people act on. So all of it must be readable and belong to the evaluation, and an alert of a verdict
must be one that the evaluation's estimates call for.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from assay.flows.alerts.verdicts import verdict_changes
from assay.flows.record.opened import Opened
from assay.flows.verify.checking import UNREADABLE
from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.tries import Settled, TryClaim
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.findings import Integrity
from assay.tasks.ledger.identity import Identity
from assay.tasks.ledger.key_pattern import KeyPattern
from assay.tasks.ledger.manifest import FilesRead
from assay.tasks.ledger.rounds.estimate import RoundEstimate
from assay.tasks.ledger.rounds.posts import Arrived, Attempt
from assay.tasks.ledger.stores.protocol import StoreUnreachable
from assay.tasks.ledger.times import Begun, Closed

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_IDENTITY = re.compile("[0-9a-f]{32}")

Odd = Callable[[Integrity, tuple[Any, ...], Any], Iterator[str]]
"""What is odd about a record that can be read: its ledger, the values of its key, and itself."""
Kind = tuple[KeyPattern[*tuple[Any, ...]], "type[DataclassInstance]", Odd]


def check_beside(found: Integrity) -> None:
    """Read all of it, and say what cannot be read or belongs to nothing. Raises StoreUnreachable."""
    _check(found, _RECORDS)
    check_alerts(found)


def check_alerts(found: Integrity) -> None:
    """The alerts of an evaluation or a monitor, and the attempts to send them. Raises StoreUnreachable."""
    _check(found, _ALERTS)


def check_told(opened: Opened, looks: Sequence[RoundEstimate], found: Integrity) -> None:
    """Whether the verdicts call for the alerts that are there; `looks`: the estimates of the closed rounds.

    That something failed cannot be recomputed: alerts of failures are only read.
    """
    called_for = {change.key for change in verdict_changes(opened, looks, finished=found.finished)}
    for key in sorted(found.keys):
        named = layout.alert.match(key)
        if named is not None and named[1] not in called_for and not named[1].startswith("failure-"):
            found.add(key, "no verdict of the evaluation calls for this alert")


def _check(found: Integrity, kinds: tuple[Kind, ...]) -> None:
    for key in sorted(found.keys):
        for pattern, kind, odd in kinds:
            values = pattern.match(key)
            if values is None:
                continue
            try:
                blob = found.ledger.get(key)
                record = codec.decode(kind, blob, key)
                if codec.encode(record) != blob:
                    found.add(key, "is not written the way such records are: it was edited or cut off")
                for sentence in odd(found, values, record):
                    found.add(key, sentence)
            except StoreUnreachable:
                raise
            except UNREADABLE as error:
                found.add(key, f"cannot be read: {type(error).__name__}: {error}")


def _nothing(_found: Integrity, _values: tuple[Any, ...], _record: Any) -> Iterator[str]:
    return iter(())


def _odd_time(found: Integrity, values: tuple[Any, ...], _record: Closed) -> Iterator[str]:
    if layout.labels(found.ledger.name, values[1]) not in found.keys:
        yield "says when a round closed that is open"


def _odd_identity(_found: Integrity, _values: tuple[Any, ...], record: Identity) -> Iterator[str]:
    if not _IDENTITY.fullmatch(record.identity):
        yield "is not an identity"


def _odd_post(found: Integrity, values: tuple[Any, ...], record: Attempt) -> Iterator[str]:
    name, number, attempt = values
    if record.attempt != attempt:
        yield f"says it is attempt {record.attempt}"
    if attempt > 1 and layout.post(name, number, attempt - 1) not in found.keys:
        yield f"there is no attempt {attempt - 1} before it"


def _odd_arrival(found: Integrity, values: tuple[Any, ...], _record: Arrived) -> Iterator[str]:
    if layout.post(*values) not in found.keys:
        yield "there is no attempt that could have arrived"


def _odd_alert(_found: Integrity, values: tuple[Any, ...], record: Alert) -> Iterator[str]:
    if record.key != values[1]:
        yield f"says it is the alert {record.key}"


def _of_no_alert(found: Integrity, values: tuple[Any, ...], _record: Any) -> Iterator[str]:
    if layout.alert(found.ledger.name, values[1]) not in found.keys:
        yield "there is no such alert"


_RECORDS: tuple[Kind, ...] = (
    (layout.begun, Begun, _nothing), (layout.times, Closed, _odd_time),
    (layout.identity, Identity, _odd_identity), (layout.pool_sources, FilesRead, _nothing),
    (layout.post, Attempt, _odd_post), (layout.arrived, Arrived, _odd_arrival),
)
_ALERTS: tuple[Kind, ...] = (
    (layout.alert, Alert, _odd_alert), (layout.alert_try, TryClaim, _of_no_alert),
    (layout.alert_failed, Settled, _of_no_alert), (layout.alert_sent, Settled, _of_no_alert),
)
