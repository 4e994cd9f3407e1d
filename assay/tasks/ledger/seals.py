"""Seals: what a ledger held when a round was closed or a window judged, as chained digests.

    rounds/<n>/seal.json   of the round's plan, design, labels, estimate, pack, annotators.json where there is
                           one, the answers its labels were decided from and those to gold, and the seal
                           before; the first is chained to spec.json and pool/manifest.json
    seal.json              of ending.json and the last round's seal
    extensions/<n>/        the first round after an extension seals extension.json and the seal of the ending
                           before it; seal.json as above, of the ending that follows
    revisions/<n>/seal.json   of the revision's labels, estimate and annotators.json, the answers it names,
                           the seal of the last round it covers, of the revision before, and the final
                           seal if the evaluation had ended

A seal is {"seals": {key below the evaluation: SHA-256 of its bytes}}; a key of another owner begins with a
slash. The manifest names the frozen parts and the partition by their digests, so the last seal covers every
byte that the numbers rest on. If its digest was noted elsewhere, any later change can be found, seals
included.

Seals are computed from what is under the keys, hold no times, and are put like everything else: every process
writes the same bytes, at any time after the round was closed.

Not sealed, because they hold times or random words that no number depends on, and differ between runs that
decide the same: times.json, identity.json, pool/sources.json and posts/.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.asked_round import write_pack
from assay.tasks.ledger.closed_round import Revision, named_answers
from assay.tasks.ledger.layout import KeyPattern
from assay.tasks.ledger.life import Extension, extensions_before, read_extensions
from assay.tasks.ledger.monitors import Opening, SupportingEvaluation, WindowVerdict
from assay.tasks.ledger.record import Ledger, get_record
from assay.tasks.ledger.stores.store import KeyMissing


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """What a seal.json says."""

    seals: Mapping[str, str]     # key below the evaluation -> SHA-256 of its bytes


@retried
def seal_rounds(ledger: Ledger, last: int, extensions: Sequence[Extension]) -> None:
    """Put the seals of the closed rounds up to `last` that have none yet.

    extensions: all that the evaluation had before round `last`
    """
    first = last + 1
    while first > 1 and not ledger.exists(layout.seal(ledger.name, first - 1)):
        first -= 1
    for number in range(first, last + 1):
        answers = sorted(named_answers(ledger, number))
        write_pack(ledger, number, answers)
        covered = sealed_by_bytes(ledger.name, number, extensions)
        for sometimes in (layout.annotators, layout.closing):
            if ledger.exists(sometimes(ledger.name, number)):
                covered.append(sometimes(ledger.name, number))
        sealed = {key: layout.digest(ledger.get(key)) for key in covered}
        # an answer's name is its digest
        sealed |= {layout.annotation(ledger.name, number, digest): digest for digest in answers}
        ledger.put(layout.seal(ledger.name, number), seal_bytes(ledger.name, sealed))


@retried
def seal_ending(ledger: Ledger, rounds: int, extensions: Sequence[Extension] = ()) -> None:
    """Put the seal of a finished evaluation, and whatever seals it rests on, unless they are there.

    extensions: all that it had before this ending
    """
    key = layout.final_seal_after(ledger.name, len(extensions))
    if ledger.exists(key):
        return
    seal_rounds(ledger, rounds, extensions)
    covered = sealed_at_the_end(ledger.name, rounds, len(extensions))
    ledger.put(key, seal_bytes(ledger.name, {one: layout.digest(ledger.get(one)) for one in covered}))


@retried
def seal_revision(ledger: Ledger, revision: Revision) -> None:
    """Put the seal of a revision whose labels and estimate are there."""
    covered = sealed_by_revision(ledger.name, revision, read_extensions(ledger))
    if ledger.exists(layout.revision_annotators(ledger.name, revision.number)):
        covered.append(layout.revision_annotators(ledger.name, revision.number))
    sealed = {key: layout.digest(ledger.get(key)) for key in covered}
    for item in revision.items:
        sealed |= {
            layout.annotation(ledger.name, item.round, digest): digest for digest in item.decided.annotations
        }
    ledger.put(layout.revision_seal(ledger.name, revision.number), seal_bytes(ledger.name, sealed))


def sealed_by_revision(
    evaluation: str, revision: Revision, extensions: Sequence[Extension]
) -> list[str]:
    """The keys a revision's seal covers, answers and annotators.json apart."""
    before = [layout.seal(evaluation, revision.rounds)]
    if revision.number > 1:
        before.append(layout.revision_seal(evaluation, revision.number - 1))
    if revision.finished:
        ends = extensions_before(extensions, revision.rounds)
        before.append(layout.final_seal_after(evaluation, ends))
    of_revision = (layout.revision_labels, layout.revision_estimate)
    return before + [key(evaluation, revision.number) for key in of_revision]


def sealed_by_bytes(evaluation: str, number: int, extensions: Sequence[Extension]) -> list[str]:
    """The keys a round's seal covers, answers, annotators.json and an early closing apart."""
    before = (
        [layout.spec(evaluation), layout.manifest(evaluation)]
        if number == 1 else [layout.seal(evaluation, number - 1)]
    )
    for one in extensions:
        if one.rounds == number - 1:
            ended = layout.final_seal_after(evaluation, one.number - 1)
            before += [ended, layout.extension(evaluation, one.number)]
    of_round = (layout.plan, layout.design, layout.labels, layout.estimate, layout.pack)
    return before + [key(evaluation, number) for key in of_round]


def sealed_at_the_end(evaluation: str, rounds: int, extensions: int) -> list[str]:
    """The keys that the seal of the ending after so many extensions covers."""
    return [layout.seal(evaluation, rounds), layout.ending_after(evaluation, extensions)]


def seal_bytes(evaluation: str, sealed: Mapping[str, str]) -> bytes:
    """The bytes of a seal; `sealed`: full key -> digest."""
    below = {_below(key, evaluation): digest for key, digest in sealed.items()}
    return record.encode(Seal(seals=below))


def sealed_in(blob: bytes, key: str, evaluation: str) -> dict[str, str]:
    """Full key -> digest, from the bytes of a seal. Raises DamagedRecord."""
    seal = record.decode(Seal, blob, key)
    return {
        below[1:] if below.startswith("/") else f"{evaluation}/{below}": digest
        for below, digest in seal.seals.items()
    }


def _below(key: str, owner: str) -> str:
    return key.removeprefix(f"{owner}/") if key.startswith(f"{owner}/") else f"/{key}"


# Seals of a monitor: what was decided about it and its windows, as chained digests.
#
#   windows/<window>/openings/0001.seal.json   of the opening, and of the seal of the window's opening before
#   windows/<window>/states/0001.seal.json     the same of a state of the window,
#   versions/0002.seal.json                    of a version of the spec,
#   mutes/0001.seal.json                       of a mute,
#   responses/0001.seal.json                   and of a response to an incident
#   verdicts/000001.seal.json                  of the verdict, of the seal of the verdict before, of the
#                                              seal of the last opening it rests on, of the seal of the
#                                              version it was judged by where that is not the first, and of
#                                              the newest seal of each evaluation, as it was then
#   The first seal of each kind, in a window or of the monitor, is chained to spec.json.
#
# So the seal of the newest verdict covers all verdicts, the openings they rest on, the versions they were
# judged by, and the evaluations. No verdict rests on a state or a mute: the last of these can be removed
# together with its seal, and nothing shows it; any other change is found.
#
# Every process writes the same bytes, at any time after what is sealed was written; what a process that
# crashed left unsealed is sealed by the next one.

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
RESPONSES = Chain(record=layout.response, seal=layout.response_seal)
CHAINS = (OPENINGS, STATES, VERSIONS, MUTES, RESPONSES)
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
    openings = [
        get_record(ledger, key, Opening) for key in sorted(one for one in there if one.startswith(folder))
        if layout.monitor_opening.match(key) is not None
    ]
    its = [one.number for one in openings if one.evaluation == verdict.rests_on.evaluation]
    last = its[verdict.rests_on.follow_ups] if len(its) > verdict.rests_on.follow_ups else 1
    version = [] if verdict.version < VERSIONS.first else [VERSIONS.seal(name, verdict.version)]
    return [
        before, layout.monitor_verdict(name, number), OPENINGS.seal(name, verdict.window, last), *version,
        evaluation_seal(verdict.rests_on),
    ]


def evaluation_seal(part: SupportingEvaluation) -> str:
    """The newest seal of an evaluation when a verdict was given: its last one, or that of a revision."""
    if part.revision:
        return layout.revision_seal(part.evaluation, part.revision)
    return layout.final_seal_after(part.evaluation, part.follow_ups)


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
