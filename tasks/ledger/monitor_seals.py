"""Seals of a monitor: what was decided about its windows, as chained digests (tasks.ledger.seals).

    windows/<window>/openings/0001.seal.json   of the opening, and of the seal of the window's opening before
    verdicts/000001.seal.json                  of the verdict, of the seal of the verdict before, of the
                                               seal of the last opening it rests on, and of the newest seal
                                               of each evaluation it rests on, as it was then
    The first seal of a window, and of the verdicts, is chained to spec.json.

So the seal of the newest verdict covers all verdicts, the openings they rest on, and the evaluations. Every
process writes the same bytes, at any time after what is sealed was written; what a process that crashed left
unsealed is sealed by the next one.
"""

from collections.abc import Collection

from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import Opening, SupportingEvaluation, WindowVerdict
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import get_record
from assay.tasks.ledger.seals import seal_bytes
from assay.tasks.ledger.stores.protocol import KeyMissing


@retried
def seal_monitor(ledger: Ledger) -> None:
    """Put the seals of the openings and verdicts that have none yet.

    A verdict whose evaluations are not sealed yet waits, and so do those after it.
    """
    there = {
        *ledger.keys(layout.monitor_windows(ledger.name)), *ledger.keys(layout.monitor_verdicts(ledger.name))
    }
    for key in sorted(there):
        opening = layout.monitor_opening.match(key)
        if opening is not None and layout.monitor_opening_seal(*opening) not in there:
            _seal(ledger, layout.monitor_opening_seal(*opening), sealed_with_opening(*opening))
    for key in sorted(there):
        verdict = layout.monitor_verdict.match(key)
        if verdict is not None and layout.monitor_verdict_seal(*verdict) not in there:
            covered = sealed_with_verdict(ledger, get_record(ledger, key, WindowVerdict), there)
            if not _seal(ledger, layout.monitor_verdict_seal(*verdict), covered):
                break


def sealed_with_opening(monitor: str, window: str, number: int) -> list[str]:
    """The keys that the seal of an opening covers."""
    before = (
        layout.spec(monitor) if number == 1 else layout.monitor_opening_seal(monitor, window, number - 1)
    )
    return [before, layout.monitor_opening(monitor, window, number)]


def sealed_with_verdict(ledger: Ledger, verdict: WindowVerdict, there: Collection[str]) -> list[str]:
    """The keys that the seal of a verdict covers; there: the monitor's keys. Raises DamagedRecord."""
    name, number = ledger.name, verdict.number
    before = layout.spec(name) if number == 1 else layout.monitor_verdict_seal(name, number - 1)
    rests_on = {part.evaluation for part in verdict.parts}
    openings = [
        get_record(ledger, key, Opening) for key in sorted(there)
        if (values := layout.monitor_opening.match(key)) is not None and values[1] == verdict.window
    ]
    last = max((one.number for one in openings if one.evaluation in rests_on), default=1)
    return [
        before, layout.monitor_verdict(name, number), layout.monitor_opening_seal(name, verdict.window, last),
        *map(evaluation_seal, verdict.parts),
    ]


def evaluation_seal(part: SupportingEvaluation) -> str:
    """The newest seal of an evaluation when a verdict was given: its last one, or that of a revision."""
    if part.revision:
        return layout.revision_seal(part.evaluation, part.revision)
    return layout.final_seal(part.evaluation)


def _seal(ledger: Ledger, key: str, covered: Collection[str]) -> bool:
    """Put one seal; False if something it covers is not there."""
    try:
        sealed = {one: layout.digest(ledger.get(one)) for one in covered}
    except KeyMissing:
        return False
    ledger.put(key, seal_bytes(ledger.name, sealed))
    return True
