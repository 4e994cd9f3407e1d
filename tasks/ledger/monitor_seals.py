"""Seals of a monitor: what was decided about it and its windows, as chained digests (tasks.ledger.seals).

    windows/<window>/openings/0001.seal.json   of the opening, and of the seal of the window's opening before
    windows/<window>/states/0001.seal.json     the same of a state of the window,
    versions/0002.seal.json                    of a version of the spec,
    mutes/0001.seal.json                       and of a mute
    verdicts/000001.seal.json                  of the verdict, of the seal of the verdict before, of the
                                               seal of the last opening it rests on, of the seal of the
                                               version it was judged by where that is not the first, and of
                                               the newest seal of each evaluation, as it was then
    The first seal of each kind, in a window or of the monitor, is chained to spec.json.

So the seal of the newest verdict covers all verdicts, the openings they rest on, the versions they were
judged by, and the evaluations. No verdict rests on a state or a mute: the last of these can be removed
together with its seal, and nothing shows it; any other change is found.

Every process writes the same bytes, at any time after what is sealed was written; what a process that crashed
left unsealed is sealed by the next one.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.key_pattern import KeyPattern
from assay.tasks.ledger.monitors import Opening, SupportingEvaluation, WindowVerdict
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import get_record
from assay.tasks.ledger.seals import seal_bytes
from assay.tasks.ledger.stores.protocol import KeyMissing


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A kind of record that is numbered, each sealed with the seal of the one before."""

    record: KeyPattern[*tuple[Any, ...]]   # its last value is the number
    seal: KeyPattern[*tuple[Any, ...]]     # of the same values
    first: int = 1

    def sealed(self, values: tuple[Any, ...]) -> list[str]:
        """The keys that the seal of a record covers."""
        *of, number = values
        before = layout.spec(of[0]) if number == self.first else self.seal(*of, number - 1)
        return [before, self.record(*values)]


OPENINGS = Chain(record=layout.monitor_opening, seal=layout.monitor_opening_seal)
STATES = Chain(record=layout.window_state, seal=layout.window_state_seal)
VERSIONS = Chain(record=layout.monitor_version, seal=layout.monitor_version_seal, first=2)
MUTES = Chain(record=layout.mute, seal=layout.mute_seal)
CHAINS = (OPENINGS, STATES, VERSIONS, MUTES)
_SEAL = ".seal.json"   # in place of .json


def sealable(ledger: Ledger) -> set[str]:
    """The keys of the monitor's windows and verdicts: records and seals."""
    name = ledger.name
    return {*ledger.keys(layout.monitor_windows(name)), *ledger.keys(layout.monitor_verdicts(name))}


@retried
def seal_monitor(ledger: Ledger, there: set[str], last_version: int) -> None:
    """Put the seals of the versions, openings, states and verdicts that have none yet.

    there           the keys that may need one (`sealable`); the seals that are put are added
    last_version    of the spec

    A verdict whose evaluations are not sealed yet waits, and so do those after it.
    """
    seal_numbered(ledger, VERSIONS, last_version)
    # the seal of a record lies beside it, so that nothing is read of thousands of windows that have theirs
    unsealed = {key for key in there if not key.endswith(_SEAL)
                and key.removesuffix(".json") + _SEAL not in there}
    for chain in (OPENINGS, STATES):
        for values in _matched(chain.record, unsealed):
            _seal(ledger, chain.seal(*values), chain.sealed(values), there)
    for values in _matched(layout.monitor_verdict, unsealed):
        seal = layout.monitor_verdict_seal(*values)
        verdict = get_record(ledger, layout.monitor_verdict(*values), WindowVerdict)
        if not _seal(ledger, seal, sealed_with_verdict(ledger, verdict, there), there):
            break


@retried
def seal_numbered(ledger: Ledger, chain: Chain, last: int) -> None:
    """Put the seals of a monitor's versions or mutes up to a number, back to one that is there."""
    first = last + 1
    while first > chain.first and not ledger.exists(chain.seal(ledger.name, first - 1)):
        first -= 1
    for number in range(first, last + 1):
        _seal(ledger, chain.seal(ledger.name, number), chain.sealed((ledger.name, number)), set())


def sealed_with_verdict(ledger: Ledger, verdict: WindowVerdict, there: Collection[str]) -> list[str]:
    """The keys that the seal of a verdict covers; there: the monitor's keys. Raises DamagedRecord."""
    name, number = ledger.name, verdict.number
    before = layout.spec(name) if number == 1 else layout.monitor_verdict_seal(name, number - 1)
    folder = layout.monitor_window(name, verdict.window)
    rests_on = {part.evaluation for part in verdict.parts}
    openings = [
        get_record(ledger, key, Opening) for key in sorted(one for one in there if one.startswith(folder))
        if layout.monitor_opening.match(key) is not None
    ]
    last = max((one.number for one in openings if one.evaluation in rests_on), default=1)
    version = [] if verdict.version < VERSIONS.first else [VERSIONS.seal(name, verdict.version)]
    return [
        before, layout.monitor_verdict(name, number), OPENINGS.seal(name, verdict.window, last), *version,
        *map(evaluation_seal, verdict.parts),
    ]


def evaluation_seal(part: SupportingEvaluation) -> str:
    """The newest seal of an evaluation when a verdict was given: its last one, or that of a revision."""
    if part.revision:
        return layout.revision_seal(part.evaluation, part.revision)
    return layout.final_seal(part.evaluation)


def _matched(pattern: KeyPattern[*tuple[Any, ...]], there: Collection[str]) -> Iterator[tuple[Any, ...]]:
    for key in sorted(there):
        values = pattern.match(key)
        if values is not None:
            yield values


def _seal(ledger: Ledger, key: str, covered: Collection[str], there: set[str]) -> bool:
    """Put one seal unless it is there; False if something it covers is not."""
    if key in there:
        return True
    try:
        sealed = {one: layout.digest(ledger.get(one)) for one in covered}
    except KeyMissing:
        return False
    ledger.put(key, seal_bytes(ledger.name, sealed))
    there.add(key)
    return True
