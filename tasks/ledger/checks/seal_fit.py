"""Do the seals of an evaluation fit what they cover? From the newest back, because each seal covers the one
before it."""

from collections.abc import Mapping

from assay.tasks.ledger import layout
from assay.tasks.ledger.checks.findings import Integrity
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.record import find_bytes
from assay.tasks.ledger.seals import seal_bytes, sealed_at_the_end, sealed_by_bytes, sealed_in


def check_seals(found: Integrity) -> None:
    """Read every seal, and compare what it covers with the digests it holds."""
    vouched: set[str] = set()   # keys that fit a seal
    for number in range(found.revisions, 0, -1):
        _check_revision(found, number, vouched)
    ended = {one.rounds: one.number - 1 for one in found.extensions}
    if found.finished:
        ended[found.rounds] = len(found.extensions)
    for number in range(found.rounds, 0, -1):
        if number in ended:
            _check_end(found, number, ended[number], vouched)
        _check_round(found, number, vouched)


def _check_revision(found: Integrity, number: int, vouched: set[str]) -> None:
    """Which round and answers a revision's seal must cover is judged by recomputing the revision."""
    name = found.ledger.name
    key = layout.revision_seal(name, number)
    sealed = read_seal(found, key)
    if sealed is None:
        return
    wanted = {layout.revision_labels(name, number), layout.revision_estimate(name, number)}
    if number > 1:
        wanted.add(layout.revision_seal(name, number - 1))
    say_what_is_odd(found, key, wanted - sealed.keys())
    compare_with_seal(found, key, sealed, vouched)


def _check_end(found: Integrity, rounds: int, extensions: int, vouched: set[str]) -> None:
    """The ending after so many rounds and extensions."""
    key = layout.final_seal_after(found.ledger.name, extensions)
    sealed = read_seal(found, key)
    if sealed is None:
        return
    wanted = set(sealed_at_the_end(found.ledger.name, rounds, extensions))
    say_what_is_odd(found, key, sealed.keys() ^ wanted)
    compare_with_seal(found, key, {k: digest for k, digest in sealed.items() if k in wanted}, vouched)


def _check_round(found: Integrity, number: int, vouched: set[str]) -> None:
    name = found.ledger.name
    key = layout.seal(name, number)
    sealed = read_seal(found, key)
    if sealed is None:
        return
    answers = {one for one in sealed if one.startswith(layout.annotations(name, number))}
    wanted = set(sealed_by_bytes(name, number, found.extensions))
    if layout.annotators(name, number) in sealed:   # only where there was something to say
        wanted.add(layout.annotators(name, number))
    closing = layout.closing(name, number)
    if closing in found.keys | sealed.keys():
        wanted.add(closing)
    if closing in found.keys - sealed.keys():
        found.add(closing, f"was not there when {key} was made")
    say_what_is_odd(found, key, (sealed.keys() - answers) ^ wanted)
    among = wanted | answers
    compare_with_seal(found, key, {k: digest for k, digest in sealed.items() if k in among}, vouched)


def read_seal(found: Integrity, key: str) -> dict[str, str] | None:
    """Full key -> digest, of a seal; None if it is not there, or cannot be read."""
    if key not in found.keys:
        return None
    blob = found.ledger.get(key)
    found.checked.add(key)
    found.seals[layout.digest(blob)] = key
    if found.last_seal is None:
        found.last_seal, found.last_seal_key = layout.digest(blob), key
    try:
        sealed = sealed_in(blob, key, found.ledger.name)
    except DamagedRecord as error:
        found.add(key, f"cannot be read: {error}")
        return None
    if seal_bytes(found.ledger.name, sealed) != blob:
        found.add(key, "is not written the way seals are")
    return sealed


def say_what_is_odd(found: Integrity, seal: str, odd: set[str]) -> None:
    """Report keys that a seal covers and should not, or should and does not."""
    if odd:
        found.add(seal, f"does not seal what it must: {', '.join(sorted(odd))}")


def compare_with_seal(found: Integrity, seal: str, sealed: Mapping[str, str], vouched: set[str]) -> None:
    """Each key with the digest its seal holds."""
    for key, digest in sorted(sealed.items()):
        now = _digest(found, key)
        found.checked.add(key)
        if now == digest:
            vouched.add(key)
            continue
        what = "is missing" if now is None else f"its digest is {now}"
        found.add(key, f"{what}; {seal} was made of {digest}")
        if seal not in vouched:
            found.add(seal, f"does not fit {key}: one of the two was changed, and no later seal says which")


def _digest(found: Integrity, key: str) -> str | None:
    """Of the bytes under a key, which may be another owner's; None if nothing is there."""
    if key not in found.keys and key.startswith(f"{found.ledger.name}/"):
        return None
    blob = find_bytes(found.ledger, key)
    return None if blob is None else layout.digest(blob)
