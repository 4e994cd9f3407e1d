"""`verify` of a monitor: does every verdict follow from its window's evaluations and the verdicts before?

    spec, openings    can be read, and name windows that exist in its calendar
    verdicts          numbered without a gap, each recomputed from the ledgers of the evaluations it rests on

A key that cannot be read is a difference like any other, and is named.

Signals and content digests are not recomputed: the predictions of a window are kept frozen in its
evaluations, which are verified by their own names.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from assay.evalcore.errors import AssayError
from assay.evalcore.monitoring.calendar import named
from assay.evalcore.plurals import plural
from assay.flows.monitor.evidence import read_part, revision_of
from assay.flows.monitor.judging import judge
from assay.flows.monitor.registry import UnknownMonitor, open_monitor
from assay.flows.verify.checking import UNREADABLE
from assay.flows.verify.ledger import Verification
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.differences import Difference, in_one_sentence, value_differences
from assay.tasks.ledger.monitors import Opening, WindowVerdict, latest
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import get_record
from assay.tasks.ledger.stores.protocol import Store, StoreUnreachable
from assay.tasks.spec.monitor import MonitorSpec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")


def verify_monitor(store: Store, name: str) -> Verification:
    """Recompute a monitor's verdicts. Raises UnknownMonitor, and StoreError if the store is away."""
    ledger = Ledger(store, layout.monitor(layout.check_name(name)))
    there = frozenset(retried(_keys)(ledger))
    found, notes, recomputed = list(_strangers(there)), [], 0
    try:
        spec = open_monitor(store, name)
    except (StoreUnreachable, UnknownMonitor):
        raise
    except UNREADABLE as error:
        found.append(_unreadable(layout.spec(ledger.name), error))
        notes.append("nothing was recomputed: the spec cannot be read")
    else:
        found += _openings(ledger, spec, there)
        check = _Verdicts(ledger, spec, there)
        found += check.differences()
        recomputed, notes = check.recomputed, check.notes
    return Verification(
        evaluation=ledger.name, finished=False, rounds=sum(map(_is_verdict, there)), labels=0,
        keys=len(there), keys_checked=recomputed, seal=None, differences=tuple(sorted({*found})),
        notes=(
            f"{plural(recomputed, 'verdict')} recomputed; verify its evaluations by their own names", *notes,
        ),
    )


def _keys(ledger: Ledger) -> list[str]:
    return list(ledger.keys(f"{ledger.name}/"))


def _is_verdict(key: str) -> bool:
    return layout.monitor_verdict.match(key) is not None


def _unreadable(key: str, error: Exception) -> Difference:
    return Difference(key=key, difference=f"cannot be read: {type(error).__name__}: {error}")


def _read(ledger: Ledger, key: str, kind: type[Record]) -> Record | Difference:
    """The record under a key, or why it is none. Raises StoreUnreachable."""
    try:
        return retried(get_record)(ledger, key, kind)
    except StoreUnreachable:
        raise
    except UNREADABLE as error:
        return _unreadable(key, error)


def _strangers(there: frozenset[str]) -> Iterator[Difference]:
    for key in there:
        if layout.parse(key) is None:
            yield Difference(key=key, difference="is not a key of a monitor")


def _openings(ledger: Ledger, spec: MonitorSpec, there: frozenset[str]) -> Iterator[Difference]:
    numbers: dict[str, list[int]] = {}
    for key in sorted(there):
        place = layout.monitor_opening.match(key)
        if place is None:
            continue
        _, window, number = place
        numbers.setdefault(window, []).append(number)
        opening = _read(ledger, key, Opening)
        if isinstance(opening, Difference):
            yield opening
        elif (opening.window, opening.number) != (window, number):
            yield Difference(key=key, difference=f"says it is opening {opening.number} of {opening.window}")
    for window, found in numbers.items():
        first = layout.monitor_opening(ledger.name, window, 1)
        try:
            named(window, spec.kind)
        except AssayError as error:
            yield Difference(key=first, difference=str(error))
        if found != list(range(1, len(found) + 1)):
            yield Difference(key=first, difference="the openings of this window are not numbered from 1 on")


class _Verdicts:
    """The check of the verdicts, in order: each rests on the ones before it."""

    def __init__(self, ledger: Ledger, spec: MonitorSpec, there: frozenset[str]) -> None:
        self._ledger, self._spec = ledger, spec
        self._keys = sorted(filter(_is_verdict, there))
        self.recomputed = 0
        self.notes: list[str] = []

    def differences(self) -> Iterator[Difference]:
        """What is wrong; after a verdict that is missing or cannot be read, no later one is recomputed."""
        verdicts: list[WindowVerdict] = []
        for key in self._keys:
            expected = layout.monitor_verdict(self._ledger.name, len(verdicts) + 1)
            read = _read(self._ledger, key, WindowVerdict)
            if isinstance(read, Difference):
                yield read
            elif key != expected or read.number != len(verdicts) + 1:
                yield Difference(key=expected, difference="is missing, or numbered wrongly")
            else:
                verdicts.append(read)
                continue
            self.notes.append(f"no verdict after number {len(verdicts)} was recomputed")
            break
        # a later verdict on the same window may be among those that cannot be read
        newest = latest(verdicts) if len(verdicts) == len(self._keys) else {}
        for i, verdict in enumerate(verdicts):
            try:
                if newest.get(verdict.window) is verdict or self._unrevised(verdict):
                    yield from self._recompute(verdict, verdicts[:i])
            except StoreUnreachable:
                raise
            except UNREADABLE as error:
                key = layout.monitor_verdict(self._ledger.name, verdict.number)
                yield Difference(key=key, difference=f"cannot be recomputed: {type(error).__name__}: {error}")

    def _recompute(self, verdict: WindowVerdict, before: list[WindowVerdict]) -> Iterator[Difference]:
        key = layout.monitor_verdict(self._ledger.name, verdict.number)
        parts = [read_part(Ledger(self._ledger.store, part.evaluation)) for part in verdict.parts]
        computed = judge(self._spec, verdict.window, parts, before)
        self.recomputed += 1
        wrong = list(value_differences(codec.plain(verdict), codec.plain(computed)))
        if wrong:
            yield Difference(key=key, difference=in_one_sentence(wrong))

    def _unrevised(self, verdict: WindowVerdict) -> bool:
        """Whether the labels it rests on have not been revised since."""
        store = self._ledger.store
        return all(revision_of(Ledger(store, part.evaluation)) == part.revision for part in verdict.parts)
