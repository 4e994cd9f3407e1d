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


def check_log(integrity: Integrity) -> None:
    """Read the log, compare every digest in it with what is there, and name records that are not in it. Every
    finding is added to `integrity`; nothing is raised for one."""
    log = read_log(integrity.ledger, integrity.keys)
    name = integrity.ledger.name
    for number, reason in log.unreadable.items():
        integrity.add(layout.log_entry(name, number), f"cannot be read: {reason}")
    _check_chain(integrity, log)
    for number, entry in sorted(log.entries.items(), reverse=True):
        _check_entry(integrity, log, number, entry)
    for number, blob in sorted(log.blobs.items()):
        key = layout.log_entry(name, number)
        integrity.checked.add(key)
        integrity.seals[layout.digest(blob)] = key
        integrity.last_seal, integrity.last_seal_key = layout.digest(blob), key
    _check_unlogged(integrity, log)


def _check_chain(integrity: Integrity, log: ReadLog) -> None:
    """Numbers without a gap, each entry made after the one before."""
    name, end = integrity.ledger.name, max(log.blobs, default=0)
    if not end and begins_with_log(integrity.ledger):
        integrity.add(layout.log_entry(name, 1), "is missing, and so is the whole log")
    missing = [number for number in range(1, min(end, 10 * len(log.blobs) + 1)) if number not in log.blobs]
    for number in missing:
        integrity.add(layout.log_entry(name, number), "is missing")
    for number, entry in log.entries.items():
        before = log.blobs.get(number - 1)
        if number == 1 or before is not None:
            expected = "" if before is None else layout.digest(before)
            if entry.before != expected:
                log_key = layout.log_entry(name, number)
                earlier_key = layout.log_entry(name, max(number - 1, 1))
                integrity.add(earlier_key, f"is not what {log_key} was made after")
                if number == end:
                    integrity.add(
                        log_key, "was not made after the entry before it, or one of the two was changed"
                    )


def _check_entry(integrity: Integrity, log: ReadLog, number: int, entry: LogEntry) -> None:
    """What one entry says of other keys."""
    name, log_key = integrity.ledger.name, layout.log_entry(integrity.ledger.name, number)
    for key, digest in sorted(entry.digests(name).items()):
        blob = find_bytes(integrity.ledger, key)
        integrity.checked.add(key)
        if blob is None:
            remedy = "; whoever writes next puts it back" if number == max(log.blobs) else ""
            integrity.add(key, f"is missing; {log_key} has it{remedy}")
            if not is_logged(key):
                integrity.add(log_key, f"names {key}, which no log names")
        elif layout.digest(blob) != digest:
            integrity.add(key, f"its digest is {layout.digest(blob)}; {log_key} has {digest}")
            if number == max(log.blobs):
                integrity.add(
                    log_key, f"does not fit {key}: one of them was changed, and no later entry says which"
                )


def _check_unlogged(integrity: Integrity, log: ReadLog) -> None:
    """Records that the log does not have, and no seal that it has speaks for."""
    logged = log.digests(integrity.ledger.name)
    keys = sorted(integrity.keys - integrity.damaged)
    strangers = [key for key in keys if is_logged(key) and key not in logged]
    if strangers and log.blobs:     # written since the keys were listed?
        logged = read_log(integrity.ledger).digests(integrity.ledger.name)
        strangers = [key for key in strangers if key not in logged]
    if not strangers:
        return
    vouched = _sealed_from(integrity, logged if log.blobs else set(integrity.seals.values()))
    alerts = [key for key in strangers if layout.alert.match(key)]
    of_before = [key for key in strangers if key in vouched or _own_seal(key) in integrity.keys]
    for key in strangers:
        if key not in alerts and key not in of_before and (log.blobs or not _is_chained(key)):
            integrity.add(key, UNLOGGED)
    beside = [*alerts, *of_before]
    if log.blobs and beside:
        integrity.notes.append(
            f"{plural(len(beside), 'key')} not in the log: version 1.0.0 wrote them, or somebody put them "
            f"there: {in_one_sentence(beside)}"
        )


def _sealed_from(integrity: Integrity, keys: Collection[str]) -> set[str]:
    """Of an evaluation, all that these seals cover, and the seals that they cover, and so on."""
    covered: set[str] = set()
    waiting = [key for key in keys if key.endswith("seal.json")]
    while waiting:
        key = waiting.pop()
        blob = find_bytes(integrity.ledger, key)
        try:
            sealed = {} if blob is None else sealed_in(blob, key, integrity.ledger.name)
        except DamagedRecord:
            continue
        waiting += [seal for seal in sealed if seal.endswith("seal.json") and seal not in covered]
        covered.update(sealed)
    return covered


def _own_seal(key: str) -> str:
    """The key of the seal that version 1.0.0 puts beside a record of a monitor."""
    return key.removesuffix(".json") + ".seal.json"


def _is_chained(key: str) -> bool:
    """Whether it is of an evaluation, in which version 1.0.0 seals it together with what comes after it."""
    return not key.startswith(layout.MONITORS_PREFIX)
