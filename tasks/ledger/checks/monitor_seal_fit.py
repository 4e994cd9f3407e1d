"""Do the seals of a monitor fit what they cover? From the newest back, as for evaluations.

A record is sealed just after it was written. One that has no seal, and none after it, may be waiting for
that: it is a note. Any other missing seal is a difference.
"""

from collections.abc import Iterator
from typing import Any

from assay.evalcore.plurals import plural
from assay.tasks.ledger import layout
from assay.tasks.ledger.checks.findings import Integrity
from assay.tasks.ledger.checks.seal_fit import compare_with_seal, read_seal, say_what_is_odd
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.monitor_seals import CHAINS, Chain, sealed_with_verdict
from assay.tasks.ledger.monitors import WindowVerdict
from assay.tasks.ledger.record import get_record


def check_monitor_seals(found: Integrity) -> None:
    """Read every seal of a monitor, and compare what it covers with the digests it holds."""
    vouched: set[str] = set()
    unsealed = 0
    name = found.ledger.name
    verdicts = {values[1] for key in found.keys if (values := _of_verdict(key)) is not None}
    last = max((n for n in verdicts if layout.monitor_verdict_seal(name, n) in found.keys), default=0)
    for number in sorted((n for n in verdicts if n <= last), reverse=True):
        _check(found, layout.monitor_verdict_seal(name, number), _with_verdict(found, number), vouched)
    unsealed += sum(n > last for n in verdicts)
    for chain, of, numbers in _chains(found):
        seals = {n: chain.seal(*of, n) for n in numbers}
        last = max((n for n, seal in seals.items() if seal in found.keys), default=0)
        for number in sorted((n for n in numbers if n <= last), reverse=True):
            _check(found, seals[number], chain.sealed((*of, number)), vouched)
        unsealed += sum(n > last for n in numbers)
    if unsealed:
        found.notes.append(f"{plural(unsealed, 'record')} not sealed yet")


def _chains(found: Integrity) -> Iterator[tuple[Chain, tuple[Any, ...], set[int]]]:
    """The numbers of each chain, by monitor and window. A gap needs no entry: the seal after it covers it."""
    for chain in CHAINS:
        numbers: dict[tuple[Any, ...], set[int]] = {}
        for key in found.keys:
            values = chain.record.match(key) or chain.seal.match(key)
            if values is not None:
                numbers.setdefault(tuple(values[:-1]), set()).add(values[-1])
        for of, several in sorted(numbers.items()):
            yield chain, of, several


def _of_verdict(key: str) -> tuple[str, int] | None:
    return layout.monitor_verdict.match(key) or layout.monitor_verdict_seal.match(key)


def _with_verdict(found: Integrity, number: int) -> list[str] | None:
    """What the seal of a verdict must cover; None if that cannot be read any more."""
    key = layout.monitor_verdict(found.ledger.name, number)
    if key not in found.keys:
        return None
    try:
        return sealed_with_verdict(found.ledger, get_record(found.ledger, key, WindowVerdict), found.keys)
    except DamagedRecord:
        return None


def _check(found: Integrity, seal: str, wanted: list[str] | None, vouched: set[str]) -> None:
    if seal not in found.keys:
        found.add(seal, "is missing")
        return
    sealed = read_seal(found, seal)
    if sealed is None:
        return
    if wanted is not None:
        say_what_is_odd(found, seal, sealed.keys() ^ set(wanted))
    compare_with_seal(found, seal, sealed, vouched)
