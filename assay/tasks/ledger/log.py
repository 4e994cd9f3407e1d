"""The log of a ledger: one chain over everything that was decided about an evaluation or a monitor.

    <owner>/log/000001.json   of the beginning: the digests of spec.json and of what else was there by then
    <owner>/log/000002.json   of the next record, and of the digest of the entry before; and so on

An entry is written *before* its record and holds the record's text, so the entries stand in the order in
which records were made, and no crash leaves a record that the log does not know: an entry whose record is
missing is carried out by whoever writes next.  A record that is not in the log was not put there by Assay, or
by version 1.0.0, which had a seal beside each record instead (`tasks.ledger.seals`).

    of an evaluation   pool/manifest.json, the seals of rounds, endings and revisions, extensions, alerts
    of a monitor       versions of its spec, openings, states, mutes, responses to incidents, verdicts (with
                       the newest seal of the evaluation that each rests on), alerts

Seals cover what lies in a round, so the digest of the newest entry covers all that is judged. Noted
elsewhere, it shows any later change, and a ledger that was cut off.

Processes that write at once contend for the next number, and the creator of an entry has decided. Each of
them carries out the newest entry before it looks whether its own record is there already, so no record has
two entries.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.layout import KeyForm
from assay.tasks.ledger.record import Ledger, damaged, find_bytes
from assay.tasks.ledger.stores.store import Remembering

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")

MARK = {"log": "1"}   # among the versions of a spec.json: this ledger has a log from its beginning
# what is covered by the first entry, where it is there: a ledger of version 1.0.0 has its seals already
_AT_FIRST: tuple[KeyForm, ...] = (
    layout.spec, layout.identity, layout.pool_sources, layout.manifest, layout.seal, layout.final_seal,
    layout.later_seal, layout.revision_seal, layout.monitor_version_seal, layout.monitor_opening_seal,
    layout.window_state_seal, layout.mute_seal, layout.monitor_verdict_seal,
)
# what has an entry of its own
LOGGED: tuple[KeyForm, ...] = (
    layout.manifest, layout.seal, layout.final_seal, layout.later_seal, layout.revision_seal,
    layout.extension, layout.monitor_version, layout.monitor_opening, layout.window_state, layout.mute,
    layout.monitor_verdict, layout.response, layout.alert,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One entry. Keys are below the owner; those of another owner begin with a slash."""

    number: int                   # from 1
    before: str                   # digest of the entry before; "" of the first
    covers: Mapping[str, str]     # key -> SHA-256 of what is under it
    key: str = ""                 # of the record that is written next; "" of the first
    text: str = ""                # the record

    def digests(self, owner: str) -> dict[str, str]:
        """Full key -> SHA-256 of what is under it, of everything that the entry says: the keys that it
        covers, and the record whose text it holds."""
        digests = {full_key(key, owner): digest for key, digest in self.covers.items()}
        if self.key:
            digests[full_key(self.key, owner)] = layout.digest(self.text.encode())
        return digests


def short_key(key: str, owner: str) -> str:
    """A key as seals and the log spell it: below the owner, or after a slash where it is another's. The two
    forms never collide, since no key begins with a slash."""
    return key.removeprefix(f"{owner}/") if key.startswith(f"{owner}/") else f"/{key}"


def full_key(short: str, owner: str) -> str:
    """A key in full, from how seals and the log spell it below its owner: the inverse of `short_key`. What
    begins with a slash is a key of another owner."""
    return short[1:] if short.startswith("/") else f"{owner}/{short}"


@retried
def begin_log(ledger: Ledger) -> None:
    """Put the first entry, unless it is there: of all that the ledger holds by now and that has a digest.

    Raises DamagedRecord where the ledger had a log and lost it: it is never made anew.
    """
    ledger = _directly(ledger)
    first_key = layout.log_entry(ledger.name, 1)
    if ledger.exists(first_key):
        return
    keys = set(ledger.keys(f"{ledger.name}/"))
    # of a store whose listing lags: what was put a moment ago is asked for by name
    by_name = [kind.spelled([ledger.name]) for kind in _AT_FIRST if len(kind.fields) == 1]
    keys |= {key for key in by_name if ledger.exists(key)}
    lost = sorted(key for key in keys if is_logged(key))
    if lost and begins_with_log(ledger):
        if ledger.exists(first_key):
            return      # somebody else began it, and went on, since this one looked
        raise damaged(first_key, f"the log of this ledger is gone, and {lost[0]} was in it")
    covers = {
        short_key(key, ledger.name): layout.digest(ledger.get(key))
        for key in sorted(keys) if any(kind.values_in(key) for kind in _AT_FIRST)
    }
    ledger.put(first_key, record.encode(LogEntry(number=1, before="", covers=covers)))


def put_logged(ledger: Ledger, key: str, blob: bytes, also: Collection[str] = ()) -> bytes:
    """Put a record under its key, its entry in the log first; returns the bytes that are now under the key.

    also    further keys whose digests the entry holds, as they are now, where they are there

    Raises DamagedRecord where the log is not what it was.
    """
    direct = _directly(ledger)
    number, newest = _newest(direct)
    while True:
        if newest is None:
            begin_log(direct)
            number, newest = 1, direct.get(layout.log_entry(ledger.name, 1))
        _carry_out(direct, newest, number)
        if direct.exists(key):
            return ledger.put(key, direct.get(key))   # again, for what this ledger remembers of the store
        number += 1
        entry = record.encode(LogEntry(
            number=number, before=layout.digest(newest), key=short_key(key, ledger.name), text=blob.decode(),
            covers={short_key(extra_key, ledger.name): layout.digest(content) for extra_key in also
                    if (content := find_bytes(direct, extra_key)) is not None},
        ))
        newest = direct.put(layout.log_entry(ledger.name, number), entry)
        if newest == entry:
            return ledger.put(key, blob)


def put_logged_record(ledger: Ledger, key: str, value: Record, also: Collection[str] = ()) -> Record:
    """`put_logged` of a record; returns the one under the key, which another process may have put first.
    Raises DamagedRecord where that cannot be read."""
    return record.decode(type(value), put_logged(ledger, key, record.encode(value), also), key)


@retried
def ensure_logged(ledger: Ledger, key: str) -> None:
    """Give a record an entry that version 1.0.0 put without one; nothing in a ledger that has no log. Called
    for records that later seals are going to cover."""
    direct = _directly(ledger)
    while True:
        last_number, newest = _newest(direct)
        number = last_number
        while number and key not in _entry(direct, number).digests(ledger.name):
            number -= 1
        if newest is None or number:
            return
        blob = record.encode(LogEntry(
            number=last_number + 1, before=layout.digest(newest),
            covers={short_key(key, ledger.name): layout.digest(direct.get(key))},
        ))
        if direct.put(layout.log_entry(ledger.name, last_number + 1), blob) == blob:
            return


@retried
def carry_out_newest(ledger: Ledger) -> None:
    """Put the record of the newest entry, should its writer have been cut off between the two. Every writer
    does it first, so at most one record is ever behind."""
    direct = _directly(ledger)
    number, newest = _newest(direct)
    if newest is not None:
        _carry_out(direct, newest, number)


def _carry_out(ledger: Ledger, blob: bytes, number: int) -> None:
    key = layout.log_entry(ledger.name, number)
    entry = record.decode(LogEntry, blob, key)
    if not entry.key:
        return
    of_record = full_key(entry.key, ledger.name)
    if not is_logged(of_record) or not of_record.startswith(f"{ledger.name}/"):
        raise damaged(key, f"{entry.key!r} is no record of this ledger")
    if not ledger.exists(of_record):
        ledger.put(of_record, entry.text.encode())


def _newest(ledger: Ledger) -> tuple[int, bytes | None]:
    """The number and the bytes of the newest entry; 0 and None where there is none.

    By a listing, and from there on by name: listings may lag.
    """
    number = max(_numbers(ledger.keys(layout.log_entries(ledger.name))), default=0)
    newest = ledger.get(layout.log_entry(ledger.name, number)) if number else None
    while (later := find_bytes(ledger, layout.log_entry(ledger.name, number + 1))) is not None:
        number, newest = number + 1, later
    return number, newest


def _numbers(keys: Collection[str] | Iterator[str]) -> Iterator[int]:
    for key in keys:
        values = layout.log_entry.match(key)
        if values is not None:
            yield values[1]


def _directly(ledger: Ledger) -> Ledger:
    """The ledger without what was remembered of it: who contends must see what is there now."""
    store = ledger.store
    while isinstance(store, Remembering):
        store = store.inner
    return Ledger(store, ledger.name)


def is_logged(key: str) -> bool:
    """Whether a key is of a kind that has an entry of its own."""
    return any(kind.values_in(key) for kind in LOGGED)


def newest_digest(ledger: Ledger) -> str | None:
    """The digest of the newest entry, which stands for all that is logged; None where there is no log.
    Whoever noted it can tell later whether anything before it was changed."""
    _, newest = _newest(ledger)
    return None if newest is None else layout.digest(newest)


def begins_with_log(ledger: Ledger) -> bool:
    """Whether a ledger had a log from its beginning, by its spec.json; False where that cannot be read. Those
    of version 1.0.0 had none."""
    blob = find_bytes(ledger, layout.spec(ledger.name))
    try:
        spec = {} if blob is None else record.from_json(blob, layout.spec(ledger.name))
        return isinstance(spec, dict) and MARK.items() <= dict(spec.get("versions", {})).items()
    except (record.DamagedRecord, TypeError, ValueError):
        return False


@dataclass(slots=True, kw_only=True)
class ReadLog:
    """The log of one owner as it is in the ledger: the bytes of every entry by its number, the entries that
    can be read, and why the others cannot."""

    blobs: Mapping[int, bytes]           # of each entry, by number
    entries: dict[int, LogEntry] = field(default_factory=dict)   # those that can be read
    unreadable: dict[int, str] = field(default_factory=dict)     # and why not

    def digests(self, owner: str) -> dict[str, tuple[int, str]]:
        """Full key -> the first entry that has its digest, and that digest."""
        digests: dict[str, tuple[int, str]] = {}
        for number, entry in sorted(self.entries.items()):
            for key, digest in entry.digests(owner).items():
                digests.setdefault(key, (number, digest))
        return digests


def read_log(ledger: Ledger, listed: Collection[str] = ()) -> ReadLog:
    """Every entry; listed: keys of the ledger, where they were listed already."""
    numbers = set(_numbers(listed or ledger.keys(layout.log_entries(ledger.name))))
    blobs: dict[int, bytes] = {}
    for number in sorted(numbers):
        blob = find_bytes(ledger, layout.log_entry(ledger.name, number))
        if blob is not None:
            blobs[number] = blob
    while (blob := find_bytes(ledger, layout.log_entry(ledger.name, max(blobs, default=0) + 1))) is not None:
        blobs[max(blobs, default=0) + 1] = blob   # written since, or a listing that lags
    log = ReadLog(blobs=blobs)
    for number, blob in blobs.items():
        key = layout.log_entry(ledger.name, number)
        try:
            entry = record.decode(LogEntry, blob, key)
        except record.DamagedRecord as error:
            log.unreadable[number] = str(error)
            continue
        if entry.number != number or record.encode(entry) != blob:
            log.unreadable[number] = f"{key}: is not written the way entries are, or says it is another"
        log.entries[number] = entry
    return log


def refuse_changed(ledger: Ledger, *keys: str) -> None:
    """Raise DamagedRecord for a key that is not what the log says, or that the log does not have.

    The log is read from its newest entry back, as far as it takes. Nothing is asked of a ledger that had no
    log at its beginning, nor of a record beside which version 1.0.0 put a seal.
    """
    ledger = _directly(ledger)
    if not begins_with_log(ledger):
        return
    digests = {key: layout.digest(blob) for key in keys if (blob := find_bytes(ledger, key)) is not None}
    number, newest = _newest(ledger)
    newest_key = layout.log_entry(ledger.name, number or 1)
    if newest is None:
        raise damaged(newest_key, "the log of this ledger is gone")
    if layout.spec(ledger.name) in digests:
        _compare(_entry(ledger, 1), ledger.name, digests)
    while digests and number:
        _compare(_entry(ledger, number), ledger.name, digests)
        number -= 1
    for key in digests:
        if not ledger.exists(key.removesuffix(".json") + ".seal.json"):
            raise damaged(key, "is not in the log: it was put there by hand")


def _entry(ledger: Ledger, number: int) -> LogEntry:
    key = layout.log_entry(ledger.name, number)
    entry = record.find_record(ledger, key, LogEntry)
    if entry is None:
        raise damaged(key, "is missing, and later entries are there")
    return entry


def _compare(entry: LogEntry, owner: str, digests: dict[str, str]) -> None:
    """Take the keys that an entry speaks of out of the digests. Raises DamagedRecord."""
    for key, digest in entry.digests(owner).items():
        if digests.pop(key, digest) != digest:
            raise damaged(key, f"is not what {layout.log_entry(owner, entry.number)} says")
