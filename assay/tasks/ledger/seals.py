"""Seals: what a ledger held when a round was closed, as chained digests; the log has each of them.

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
byte that the numbers rest on.

Seals are computed from what is under the keys, hold no times, and are put like everything else: every process
writes the same bytes, at any time after the round was closed.

Not sealed, because they hold times that no number depends on, and differ between runs that decide the same:
times.json and posts/. The log has identity.json and pool/sources.json.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.asked_round import write_pack
from assay.tasks.ledger.closed_round import Revision, named_answers
from assay.tasks.ledger.layout import KeyForm
from assay.tasks.ledger.life import Extension, extensions_before, read_extensions
from assay.tasks.ledger.log import ensure_logged, full_key, put_logged, refuse_changed, short_key
from assay.tasks.ledger.monitors import Opening, WindowVerdict, newest_seal
from assay.tasks.ledger.record import Ledger, get_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The record `seal.json`: the SHA-256 of the bytes under every key that is sealed, by the key below the
    evaluation (another owner's begins with a slash)."""

    seals: Mapping[str, str]     # key below the evaluation -> SHA-256 of its bytes


@retried
def seal_rounds(ledger: Ledger, last_round: int, extensions: Sequence[Extension]) -> None:
    """Put the seals of the closed rounds up to `last_round` that have none yet.

    extensions: all that the evaluation had before round `last_round`

    Raises DamagedRecord where spec or manifest were changed since the evaluation began.
    """
    first_round = last_round + 1
    while first_round > 1 and not ledger.exists(layout.seal(ledger.name, first_round - 1)):
        first_round -= 1
    if first_round == 1:
        refuse_changed(ledger, layout.spec(ledger.name), layout.manifest(ledger.name))
    for number in range(first_round, last_round + 1):
        answers = sorted(named_answers(ledger, number))
        write_pack(ledger, number, answers)
        covered = sealed_by_bytes(ledger.name, number, extensions)
        for sometimes in (layout.annotators, layout.closing):
            if ledger.exists(sometimes(ledger.name, number)):
                covered.append(sometimes(ledger.name, number))
        sealed = {key: layout.digest(ledger.get(key)) for key in covered}
        # an answer's name is its digest
        sealed |= {layout.annotation(ledger.name, number, digest): digest for digest in answers}
        put_logged(ledger, layout.seal(ledger.name, number), seal_bytes(ledger.name, sealed))


@retried
def seal_ending(ledger: Ledger, rounds: int, extensions: Sequence[Extension] = ()) -> None:
    """Put the seal of a finished evaluation, and whatever seals it rests on, unless they are there.

    extensions: all that it had before this ending
    """
    key = layout.final_seal_after(ledger.name, len(extensions))
    if ledger.exists(key):
        ensure_logged(ledger, key)
        return
    seal_rounds(ledger, rounds, extensions)
    covered = sealed_at_the_end(ledger.name, rounds, len(extensions))
    digests = {covered_key: layout.digest(ledger.get(covered_key)) for covered_key in covered}
    put_logged(ledger, key, seal_bytes(ledger.name, digests))


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
    put_logged(ledger, layout.revision_seal(ledger.name, revision.number), seal_bytes(ledger.name, sealed))


def sealed_by_revision(
    evaluation: str, revision: Revision, extensions: Sequence[Extension]
) -> list[str]:
    """The keys that the seal of a revision covers: the seals of its last round, of the revision before, and
    of the ending if there was one, and its own labels and estimate. Answers and annotators.json come
    besides."""
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
    for extension in extensions:
        if extension.rounds == number - 1:
            ended = layout.final_seal_after(evaluation, extension.number - 1)
            before += [ended, layout.extension(evaluation, extension.number)]
    of_round = (layout.plan, layout.design, layout.labels, layout.estimate, layout.pack)
    return before + [key(evaluation, number) for key in of_round]


def sealed_at_the_end(evaluation: str, rounds: int, extensions: int) -> list[str]:
    """The keys that the seal of the ending after so many extensions covers."""
    return [layout.seal(evaluation, rounds), layout.ending_after(evaluation, extensions)]


def seal_bytes(evaluation: str, sealed: Mapping[str, str]) -> bytes:
    """The bytes of a seal, from full key -> digest: the record `Seal` as canonical JSON, with keys as they
    are below the evaluation."""
    below = {short_key(key, evaluation): digest for key, digest in sealed.items()}
    return record.encode(Seal(seals=below))


def sealed_in(blob: bytes, key: str, evaluation: str) -> dict[str, str]:
    """Full key -> digest, from the bytes of a seal. Raises DamagedRecord."""
    seal = record.decode(Seal, blob, key)
    return {full_key(below, evaluation): digest for below, digest in seal.seals.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A kind of record that is numbered, each sealed with the seal of the one before.

    Seals of a monitor, as version 1.0.0 put them beside its records; now all of these are in its log.

      windows/<window>/openings/0001.seal.json   of the opening, and of the seal of the window's opening
                                                 before
      windows/<window>/states/0001.seal.json     the same of a state of the window,
      versions/0002.seal.json                    of a version of the spec,
      mutes/0001.seal.json                       of a mute,
      responses/0001.seal.json                   and of a response to an incident
      verdicts/000001.seal.json                  of the verdict, of the seal of the verdict before, of the
                                                 seal of the last opening it rests on, of the seal of the
                                                 version it was judged by where that is not the first, and of
                                                 the newest seal of each evaluation, as it was then
      The first seal of each kind, in a window or of the monitor, is chained to spec.json.
    """

    record: KeyForm    # its last value is the number
    seal: KeyForm      # of the same values
    first: int = 1

    def sealed(self, values: tuple[int | str, ...]) -> list[str]:
        """The two keys that the seal of a record covers: the seal of the record before (for the first one
        the spec), and the record itself. `values` are those of the record's key, its number last."""
        *of, number = values
        is_first = number == self.first
        before = layout.spec.spelled(of[:1]) if is_first else self.seal.spelled([*of, int(number) - 1])
        return [before, self.record.spelled(values)]


OPENINGS = Chain(record=layout.monitor_opening, seal=layout.monitor_opening_seal)
STATES = Chain(record=layout.window_state, seal=layout.window_state_seal)
VERSIONS = Chain(record=layout.monitor_version, seal=layout.monitor_version_seal, first=2)
MUTES = Chain(record=layout.mute, seal=layout.mute_seal)
CHAINS = (OPENINGS, STATES, VERSIONS, MUTES)
def sealed_with_verdict(ledger: Ledger, verdict: WindowVerdict, keys: Collection[str]) -> list[str]:
    """The keys that the seal of a verdict covers; keys: the monitor's keys. Raises DamagedRecord. Among them
    are the seal before it and the windows' evaluations, so one digest stands for all."""
    name, number = ledger.name, verdict.number
    before = layout.spec(name) if number == 1 else layout.monitor_verdict_seal(name, number - 1)
    folder = layout.monitor_window(name, verdict.window)
    openings = [
        get_record(ledger, key, Opening) for key in sorted(key for key in keys if key.startswith(folder))
        if layout.monitor_opening.match(key) is not None
    ]
    its = [opening.number for opening in openings if opening.evaluation == verdict.rests_on.evaluation]
    ordinal = its[verdict.rests_on.follow_ups] if len(its) > verdict.rests_on.follow_ups else 1
    version = [] if verdict.version < VERSIONS.first else [VERSIONS.seal.spelled([name, verdict.version])]
    return [
        before, layout.monitor_verdict(name, number),
        OPENINGS.seal.spelled([name, verdict.window, ordinal]), *version,
        newest_seal(verdict.rests_on),
    ]
