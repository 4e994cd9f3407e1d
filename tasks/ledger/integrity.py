"""Is the ledger of an evaluation whole: every key that must be there, no other, every byte as it was put?

Digests alone answer this; nothing is decoded that was not found intact first. What is covered:

    spec.json, pool/manifest.json, plans, designs, closing.json, labels, estimates, seals,
    outcome.json, revisions/                                                                 by the seals
    pool parts, partitions, inherited labels, gold, answers                                  by their names

A round that is still open has no seal yet; its plan is judged by recomputing it. times.json, identity.json,
pool/sources.json and posts/ hold times and random words, alerts/ what people were told: they may be there,
and what they say is no evidence.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.tasks.ledger import layout
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.differences import Difference
from assay.tasks.ledger.manifest import Manifest, manifest_from, partition_digest
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.seals import seal_bytes, sealed_at_the_end, sealed_by_bytes, sealed_in

_ROUND = re.compile(r"rounds/(\d{4,})/(.+)")
_ALERT = r"alerts/[A-Za-z0-9][A-Za-z0-9_-]*(\.json|\.sent/[^/]+\.json|\.tries/[^/]+\.json)"
_BESIDE = re.compile(rf"times\.json|identity\.json|pool/sources\.json|{_ALERT}")
_BESIDE_ROUND = re.compile(r"times\.json|closing\.json|posts/\d{4,}(\.arrived)?\.json")
_REVISION = re.compile(r"revisions/(\d{4,})/(labels\.parquet|(estimate|annotators|seal)\.json)")
_ANSWER = re.compile(r"annotations/([0-9a-f]{64})\.json")
_LEFT_OVER = re.compile(
    r"pool/part-\d{5,}-[0-9a-f]{16}\.parquet|partitions/[0-9a-f]{32}\.(json|rows)|"
    r"inherited-[0-9a-f]{16}\.parquet|gold/[0-9a-f]{64}\.json"
)
_REVISION_STEPS = (layout.revision_labels, layout.revision_estimate, layout.revision_seal)
_STEPS = (layout.plan, layout.design, layout.labels, layout.estimate, layout.seal)


@dataclass(slots=True, kw_only=True)
class Integrity:
    """What was found."""

    ledger: Ledger
    keys: frozenset[str]                 # all there are
    rounds: int                          # with any key
    finished: bool                       # an outcome, or its seal, is there
    revisions: int = 0                   # with any key
    manifest: Manifest | None = None     # None if it cannot be read
    last_seal: str | None = None         # digest of the newest seal
    last_seal_key: str | None = None
    checked: set[str] = field(default_factory=set)   # keys whose bytes were compared with a digest
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def damaged(self) -> set[str]:
        """Keys something is wrong with."""
        return {found.key for found in self.differences}

    def add(self, key: str, difference: str) -> None:
        """Write down one difference, once."""
        found = Difference(key=key, difference=difference)
        if found not in self.differences:
            self.differences.append(found)


def check_integrity(ledger: Ledger) -> Integrity:
    """Read every key of the evidence and compare digests. Only what the store raises is raised."""
    there = frozenset(ledger.keys(f"{ledger.name}/"))
    numbers = [int(m[1]) for key in there if (m := _ROUND.fullmatch(_below(key, ledger.name)))]
    revised = [int(m[1]) for key in there if (m := _REVISION.fullmatch(_below(key, ledger.name)))]
    found = Integrity(
        ledger=ledger,
        keys=there,
        revisions=max(revised, default=0),
        rounds=max(numbers, default=0),
        finished=not there.isdisjoint((layout.outcome(ledger.name), layout.final_seal(ledger.name))),
    )
    _read_manifest(found)
    for key in _required(found):
        if key not in there:
            found.add(key, "is missing")
    _check_seals(found)
    _check_names(found)
    _check_others(found)
    return found


def _read_manifest(found: Integrity) -> None:
    key = layout.manifest(found.ledger.name)
    if key not in found.keys:
        return
    try:
        found.manifest = manifest_from(found.ledger.get(key), key)
    except DamagedRecord as error:
        found.add(key, f"cannot be read: {error}")
        return
    if found.manifest.evaluation != found.ledger.name:
        found.add(key, f"belongs to another evaluation, {found.manifest.evaluation!r}")
        found.manifest = None


def _required(found: Integrity) -> Iterator[str]:
    """Keys that must be there, given those that are."""
    name = found.ledger.name
    yield layout.spec(name)
    yield layout.manifest(name)
    yield from _frozen(found)
    for number in range(1, found.rounds + 1):
        steps = [step(name, number) for step in _STEPS]
        if number < found.rounds or found.finished:
            yield from steps
        else:   # the open round, or one just closed: whatever is before something that is there
            last = max((i for i, key in enumerate(steps) if key in found.keys), default=0)
            yield from steps[: last + 1]
    if found.finished:
        yield layout.outcome(name)
        yield layout.final_seal(name)
    for number in range(1, found.revisions + 1):   # one that was cut short is finished by `assay advance`
        yield from (step(name, number) for step in _REVISION_STEPS)


def _frozen(found: Integrity) -> list[str]:
    """The keys the manifest names."""
    if found.manifest is None:
        return []
    digest = found.manifest.partition.digest
    pair = [layout.partition(found.ledger.name, digest), layout.partition_rows(found.ledger.name, digest)]
    inherited = found.manifest.inherited_key
    gold = [layout.gold(found.ledger.name, found.manifest.gold)] if found.manifest.gold else []
    return [*found.manifest.part_keys, *([] if inherited is None else [inherited]), *gold, *pair]


def _check_seals(found: Integrity) -> None:
    """From the last seal back: each vouches for the one before."""
    name = found.ledger.name
    seals: list[tuple[str, int]] = [(layout.seal(name, n), n) for n in range(found.rounds, 0, -1)]
    if found.finished:
        seals.insert(0, (layout.final_seal(name), 0))
    vouched: set[str] = set()
    for number in range(found.revisions, 0, -1):
        key = layout.revision_seal(name, number)
        if key in found.keys:
            _check_revision_seal(found, key, number, vouched)
    for key, number in seals:
        if key not in found.keys:
            continue
        blob = found.ledger.get(key)
        found.checked.add(key)
        if found.last_seal is None:
            found.last_seal, found.last_seal_key = layout.digest(blob), key
        try:
            sealed = sealed_in(blob, key, name)
        except DamagedRecord as error:
            found.add(key, f"cannot be read: {error}")
            continue
        if seal_bytes(name, sealed) != blob:
            found.add(key, "is not written the way seals are")
        wanted = set(sealed_by_bytes(name, number) if number else sealed_at_the_end(name, found.rounds))
        answers = {k for k in sealed if number and k.startswith(layout.annotations(name, number))}
        if number and layout.annotators(name, number) in sealed:   # only where there was something to say
            wanted.add(layout.annotators(name, number))
        if number and layout.closing(name, number) in found.keys | sealed.keys():
            wanted.add(layout.closing(name, number))
        if sealed.keys() - answers != wanted:
            odd = sorted((sealed.keys() - answers) ^ wanted)
            found.add(key, f"does not seal what it must: {', '.join(odd)}")
        for covered in sorted(sealed.keys() & (wanted | answers)):
            _compare(found, key, covered, sealed[covered], vouched)


def _check_revision_seal(
    found: Integrity, key: str, number: int, vouched: set[str]
) -> None:
    """A revision's seal; which round and answers it must cover is judged by recomputing the revision."""
    name = found.ledger.name
    blob = found.ledger.get(key)
    found.checked.add(key)
    if found.last_seal is None:
        found.last_seal, found.last_seal_key = layout.digest(blob), key
    try:
        sealed = sealed_in(blob, key, name)
    except DamagedRecord as error:
        found.add(key, f"cannot be read: {error}")
        return
    if seal_bytes(name, sealed) != blob:
        found.add(key, "is not written the way seals are")
    wanted = {layout.revision_labels(name, number), layout.revision_estimate(name, number)}
    if number > 1:
        wanted.add(layout.revision_seal(name, number - 1))
    if not wanted.issubset(sealed):
        found.add(key, f"does not seal what it must: {', '.join(sorted(wanted - sealed.keys()))}")
    for covered in sorted(sealed):
        _compare(found, key, covered, sealed[covered], vouched)


def _compare(
    found: Integrity, seal: str, covered: str, digest: str, vouched: set[str]
) -> None:
    now = layout.digest(found.ledger.get(covered)) if covered in found.keys else None
    found.checked.add(covered)
    if now == digest:
        vouched.add(covered)
        return
    what = "is missing" if now is None else f"its digest is {now}"
    found.add(covered, f"{what}; {seal} was made of {digest}")
    if seal not in vouched:
        found.add(seal, f"does not fit {covered}: one of the two was changed, and no later seal says which")


def _check_names(found: Integrity) -> None:
    """Keys that carry the digest of their bytes."""
    name = found.ledger.name
    for key in sorted(found.keys):
        in_round = _ROUND.fullmatch(_below(key, name))
        answer = _ANSWER.fullmatch(in_round[2]) if in_round else None
        if answer:
            found.checked.add(key)
            if layout.digest(found.ledger.get(key)) != answer[1]:
                found.add(key, "its bytes are not those its name is the digest of")
    if found.manifest is None:
        return
    for key in _frozen(found)[:-2]:
        if key in found.keys:
            found.checked.add(key)
            digest = layout.digest(found.ledger.get(key))
            if not key.endswith((f"-{digest[:16]}.parquet", f"/gold/{digest}.json")):
                found.add(key, "its bytes are not those its name is the digest of")
    pair = _frozen(found)[-2:]
    if found.keys.issuperset(pair):
        found.checked.update(pair)
        if partition_digest(*(found.ledger.get(key) for key in pair)) != found.manifest.partition.digest:
            for key, other in (pair, pair[::-1]):
                found.add(key, f"its bytes, with those of {other}, are not those its name is the digest of")


def _check_others(found: Integrity) -> None:
    """Keys nobody asked for."""
    name = found.ledger.name
    expected = {*_required(found)}
    left_over = 0
    for key in sorted(found.keys - expected):
        below = _below(key, name)
        in_round = _ROUND.fullmatch(below)
        if _LEFT_OVER.fullmatch(below):
            left_over += 1
        elif in_round and key.startswith(layout.round_folder(name, int(in_round[1]))):
            known = in_round[2] == "annotators.json" or _BESIDE_ROUND.fullmatch(in_round[2])
            if not (known or _ANSWER.fullmatch(in_round[2])):
                found.add(key, "is not a key of an evaluation")
        elif not (_BESIDE.fullmatch(below) or _REVISION.fullmatch(below)):
            found.add(key, "is not a key of an evaluation")
    if left_over:
        found.notes.append(
            f"{left_over} keys were left over by a freeze that was not committed; nothing rests on them"
        )


def _below(key: str, evaluation: str) -> str:
    return key.removeprefix(f"{evaluation}/")
