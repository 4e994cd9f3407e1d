"""Does the log of a ledger fit what is there: no entry missing or changed, each record as it was logged, and
no record that nobody logged?

A ledger of version 1.0.0 has no log.  There, and of records that 1.0.0 wrote since, the seal beside a record
stands for its entry.
"""

from collections.abc import Collection

from assay.evalcore.errors import plural
from assay.tasks.ledger import layout
from assay.tasks.ledger.findings import Integrity, in_one_sentence
from assay.tasks.ledger.log import LogEntry, ReadLog, begins_with_log, is_logged, read_log
from assay.tasks.ledger.record import DamagedRecord, find_bytes
from assay.tasks.ledger.seals import sealed_in

UNLOGGED = (
    "is neither in the log nor sealed: it was put there by hand, or version 1.0.0 was cut off, and seals it "
    "when it runs again"
)


def check_log(found: Integrity) -> None:
    """Read the log, compare every digest in it with what is there, and name records that are not in it."""
    log = read_log(found.ledger, found.keys)
    name = found.ledger.name
    for number, why in log.unreadable.items():
        found.add(layout.log_entry(name, number), f"cannot be read: {why}")
    _check_chain(found, log)
    for number, entry in sorted(log.entries.items(), reverse=True):
        _check_entry(found, log, number, entry)
    for number, blob in sorted(log.blobs.items()):
        key = layout.log_entry(name, number)
        found.checked.add(key)
        found.seals[layout.digest(blob)] = key
        found.last_seal, found.last_seal_key = layout.digest(blob), key
    _check_unlogged(found, log)


def _check_chain(found: Integrity, log: ReadLog) -> None:
    """Numbers without a gap, each entry made after the one before."""
    name, last = found.ledger.name, max(log.blobs, default=0)
    if not last and begins_with_log(found.ledger):
        found.add(layout.log_entry(name, 1), "is missing, and so is the whole log")
    missing = [number for number in range(1, min(last, 10 * len(log.blobs) + 1)) if number not in log.blobs]
    for number in missing:
        found.add(layout.log_entry(name, number), "is missing")
    for number, entry in log.entries.items():
        before = log.blobs.get(number - 1)
        if number == 1 or before is not None:
            expected = "" if before is None else layout.digest(before)
            if entry.before != expected:
                here = layout.log_entry(name, number)
                found.add(layout.log_entry(name, max(number - 1, 1)), f"is not what {here} was made after")
                if number == last:
                    found.add(here, "was not made after the entry before it, or one of the two was changed")


def _check_entry(found: Integrity, log: ReadLog, number: int, entry: LogEntry) -> None:
    """What one entry says of other keys."""
    name, here = found.ledger.name, layout.log_entry(found.ledger.name, number)
    for key, digest in sorted(entry.digests(name).items()):
        blob = find_bytes(found.ledger, key)
        found.checked.add(key)
        if blob is None:
            again = "; whoever writes next puts it back" if number == max(log.blobs) else ""
            found.add(key, f"is missing; {here} has it{again}")
            if not is_logged(key):
                found.add(here, f"names {key}, which no log names")
        elif layout.digest(blob) != digest:
            found.add(key, f"its digest is {layout.digest(blob)}; {here} has {digest}")
            if number == max(log.blobs):
                found.add(here, f"does not fit {key}: one of them was changed, and no later entry says which")


def _check_unlogged(found: Integrity, log: ReadLog) -> None:
    """Records that the log does not have, and no seal that it has speaks for."""
    logged = log.digests(found.ledger.name)
    there = sorted(found.keys - found.damaged)
    strangers = [key for key in there if is_logged(key) and key not in logged]
    if strangers and log.blobs:     # written since the keys were listed?
        logged = read_log(found.ledger).digests(found.ledger.name)
        strangers = [key for key in strangers if key not in logged]
    if not strangers:
        return
    vouched = _sealed_from(found, logged if log.blobs else set(found.seals.values()))
    alerts = [key for key in strangers if layout.alert.match(key)]
    of_before = [key for key in strangers if key in vouched or _own_seal(key) in found.keys]
    for key in strangers:
        if key not in alerts and key not in of_before and (log.blobs or not _is_chained(key)):
            found.add(key, UNLOGGED)
    beside = [*alerts, *of_before]
    if log.blobs and beside:
        found.notes.append(
            f"{plural(len(beside), 'key')} not in the log: version 1.0.0 wrote them, or somebody put them "
            f"there: {in_one_sentence(beside)}"
        )


def _sealed_from(found: Integrity, keys: Collection[str]) -> set[str]:
    """Of an evaluation, all that these seals cover, and the seals that they cover, and so on."""
    covered: set[str] = set()
    waiting = [key for key in keys if key.endswith("seal.json")]
    while waiting:
        key = waiting.pop()
        blob = find_bytes(found.ledger, key)
        try:
            sealed = {} if blob is None else sealed_in(blob, key, found.ledger.name)
        except DamagedRecord:
            continue
        waiting += [one for one in sealed if one.endswith("seal.json") and one not in covered]
        covered.update(sealed)
    return covered


def _own_seal(key: str) -> str:
    """The key of the seal that version 1.0.0 puts beside a record of a monitor."""
    return key.removesuffix(".json") + ".seal.json"


def _is_chained(key: str) -> bool:
    """Whether it is of an evaluation, in which version 1.0.0 seals it together with what comes after it."""
    return not key.startswith(layout.MONITORS_PREFIX)
