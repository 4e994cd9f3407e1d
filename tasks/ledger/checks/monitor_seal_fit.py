"""Do the seals of a monitor fit what they cover? From the newest back, as for evaluations.

An opening or a verdict is sealed just after it was written. One that has no seal, and none after it, may be
waiting for that: it is a note. Any other missing seal is a difference.
"""

from assay.evalcore.plurals import plural
from assay.tasks.ledger import layout
from assay.tasks.ledger.checks.findings import Integrity
from assay.tasks.ledger.checks.seal_fit import compare, read_seal, say_what_is_odd
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.monitor_seals import sealed_with_opening, sealed_with_verdict
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
    for window, openings in sorted(_openings(found).items()):
        seals = {n: layout.monitor_opening_seal(name, window, n) for n in openings}
        last = max((n for n, seal in seals.items() if seal in found.keys), default=0)
        for number in sorted((n for n in openings if n <= last), reverse=True):
            _check(found, seals[number], sealed_with_opening(name, window, number), vouched)
        unsealed += sum(n > last for n in openings)
    if unsealed:
        what = plural(unsealed, "opening or verdict", "openings and verdicts")
        found.notes.append(f"{what} not sealed yet")


def _openings(found: Integrity) -> dict[str, set[int]]:
    """Window -> the numbers of its openings. A gap needs no entry: the seal after it covers what is gone."""
    numbers: dict[str, set[int]] = {}
    for key in found.keys:
        values = layout.monitor_opening.match(key) or layout.monitor_opening_seal.match(key)
        if values is not None:
            numbers.setdefault(values[1], set()).add(values[2])
    return numbers


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
    compare(found, seal, sealed, vouched)
