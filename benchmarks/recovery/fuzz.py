"""Stored bytes changed at random, key by key: each change is named by `verify`, or harmless.

The ledgers (fuzzed_ledgers.py) hold every kind of key.  A change is of the bytes (cut off, flipped, repeated,
exchanged with another key of the kind) or of the value (a field replaced by something hostile, removed or
added; a column of a table with other values).  What lies below `index/` under a digest of its bytes is forged
too: half of the changes are put under the digest that they have.  Then everything that reads ledgers reads
this one: `verify`, lists, the standing, the outbox, the report, the forecast, the history, and the next run
of a copy.  None may
raise anything but an error of ours, or take longer than LONGEST seconds; and where `verify` finds nothing,
standing and history must say what they said before.

`verify` compares digests first. Where they name the change already, all other readers but the standing are
tried with one change in IN_FULL only; and so are the slow ones where the key is no evidence.
"""

import json
import random
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from assay.evalcore.errors import AssayError
from assay.tasks.ledger import layout
from assay.tasks.ledger.stores.store import MemoryStore
from benchmarks.recovery.fuzzed_ledgers import FuzzedLedger, every_ledger, small_runs
from benchmarks.recovery.limits import at_most

LONGEST = 20      # seconds of one reader
IN_FULL = 100
MOST_LEDGERS = 2     # in which keys of one kind are changed
SLOW = ("verify", "report", "the next run")
HOSTILE: list[Any] = [
    None, True, -1, 0, 2**63, -(2**70), 1e308, -1e308, 5e-324, "", "x" * 70_000, "\u202e\n\x00", "../../x",
    [], {}, [[]], {"": {}}, "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+00:00", "nan",
]


@dataclass(slots=True)
class Fuzzed:
    """What came of the changes."""

    tried: dict[str, int] = field(default_factory=dict)      # by kind of key
    named: int = 0
    harmless: int = 0
    wrong: list[str] = field(default_factory=list)     # a traceback, a hang, or another result unnoticed


class OneChanged(MemoryStore):
    """A store of the same values, one of them changed; what is put stays here."""

    def __init__(self, values: Mapping[str, bytes], key: str, blob: bytes, forged: str = "") -> None:
        """forged: the key under which the value lies instead."""
        super().__init__()
        self._values.update(values)
        if forged:
            del self._values[key]
        self._values[forged or key] = blob
        self._counted = -1      # the folders are looked up when something is put


def fuzz(folder: Path, mutations: int, seed: int, full: int = IN_FULL) -> Fuzzed:
    """So many changes in all, evenly over the kinds of keys; full: one in so many is read by all."""
    draw = random.Random(seed)
    result = Fuzzed()
    with chdir(folder), small_runs():
        targets = _targets(every_ledger(folder))
        for i in range(mutations):
            ledger, kind, keys, expected = targets[i % len(targets)]
            key = draw.choice(keys)
            blob = ledger.values[key]
            while blob == ledger.values[key]:
                blob = _changed(draw, ledger.values, key, keys)
            result.tried[kind] = result.tried.get(kind, 0) + 1
            forged = _forged(draw, key, blob)
            in_full = bool(forged) or (full > 0 and draw.random() < 1 / full)
            _judge(
                result, OneChanged(ledger.values, key, blob, forged), forged or key, ledger, expected,
                in_full=in_full,
            )
    return result


Target = tuple[FuzzedLedger, str, list[str], dict[str, Any]]


def _targets(ledgers: list[FuzzedLedger]) -> list[Target]:
    """Each kind of key in the first ledgers that hold it, with what readers say of these as they are."""
    held: Counter[str] = Counter()
    targets: list[Target] = []
    for ledger in ledgers:
        whole = OneChanged(ledger.values, *next(iter(ledger.values.items())))
        readers = ledger.readers(whole, "")
        expected = {what: read() for what, read in readers if what in ("digests", "standing")}
        if expected["digests"] is not True:
            raise AssertionError("a ledger is not whole before anything was changed")
        for kind, keys in ledger.by_kind().items():
            held[kind] += 1
            if held[kind] <= MOST_LEDGERS:
                targets.append((ledger, kind, keys, expected))
    return targets


def _judge(
    result: Fuzzed, store: MemoryStore, key: str, ledger: FuzzedLedger, expected: Mapping[str, Any], *,
    in_full: bool,
) -> None:
    answers: dict[str, Any] = {}
    is_evidence = not key.startswith(("index/", "desks/"))
    for what, read in ledger.readers(store, key):
        if not in_full and answers.get("digests", True) is not True and "standing" in answers:
            break
        if not in_full and not is_evidence and what in SLOW:
            continue
        try:
            with at_most(LONGEST):
                answers[what] = read()
        except AssayError:
            answers[what] = AssayError
        except Exception:
            result.wrong.append(f"{key}: {what}: {traceback.format_exc(limit=-3)}")
            return
    if answers["digests"] is not True or answers.get("verify", True) is not True:
        result.named += 1
    elif answers["standing"] == expected["standing"]:
        result.harmless += 1
    else:
        result.wrong.append(f"{key}: the standing is another, and verify finds nothing")


# Changes.

def _changed(draw: random.Random, values: Mapping[str, bytes], key: str, alike: list[str]) -> bytes:
    blob = values[key]
    if key.endswith(".json") and draw.random() < 0.7:
        return _changed_json(draw, blob)
    if key.startswith("index/") and blob[:1] == b"{" and draw.random() < 0.7:
        head, _, body = blob.partition(b"\n")
        return _changed_json(draw, head) + body
    if key.endswith(".parquet") and draw.random() < 0.6:
        return _changed_table(draw, blob)
    return _changed_bytes(draw, blob, values[draw.choice(alike)])


def _forged(draw: random.Random, key: str, blob: bytes) -> str:
    """The key that a value below `index/` has by its digest, for one in two of those that are named so."""
    parsed = layout.parse_key(key)
    if parsed is None or not key.startswith("index/") or parsed.kind.fields[-1] != "digest":
        return ""
    if draw.random() < 0.5:
        return ""
    return parsed.kind(*parsed.values[:-1], layout.digest(blob)[:32])


def _changed_bytes(draw: random.Random, blob: bytes, other: bytes) -> bytes:
    place = draw.randrange(len(blob) + 1)
    return draw.choice([
        lambda: blob[:place], lambda: blob[place:], lambda: b"", lambda: other,
        lambda: blob[:place] + bytes([draw.randrange(256)]) + blob[place + 1:],
        lambda: blob[:place] + draw.randbytes(draw.randrange(1, 9)) + blob[place:],
        lambda: blob + blob, lambda: blob[:place] + other[place:], lambda: b"[" * 200_000,
        lambda: b'{"spec":' * 150_000, lambda: b"9" * 5_000, lambda: blob.replace(b"1", b"2"),
        lambda: blob.replace(b'"', b"'"), lambda: blob.replace(b":", b": "), lambda: b"\xff\xfe" + blob,
    ])()


def _changed_json(draw: random.Random, blob: bytes) -> bytes:
    value = json.loads(blob)
    holders = list(_holders(value))
    if not holders:
        return json.dumps(draw.choice(HOSTILE)).encode()
    holder = draw.choice(holders)
    place = draw.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    match draw.randrange(5):
        case 0:
            del holder[place]
        case 1 if isinstance(holder, dict):
            holder[draw.choice(["zz", "number", "labels", ""])] = draw.choice(HOSTILE)
        case 2 if isinstance(holder[place], int | float) and not isinstance(holder[place], bool):
            holder[place] = draw.choice([holder[place] + 1, -holder[place], holder[place] * 10**9])
        case _:
            holder[place] = draw.choice(HOSTILE)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass") + b"\n"


def _holders(value: Any) -> Iterator[Any]:
    """Every list and object that is not empty, from the outside in."""
    if isinstance(value, dict | list) and value:
        yield value
        for inside in value.values() if isinstance(value, dict) else value:
            yield from _holders(inside)


def _changed_table(draw: random.Random, blob: bytes) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(BytesIO(blob))
    metadata = table.schema.metadata
    if not table.num_columns or not table.num_rows:
        return blob[:-1]
    match draw.randrange(5):
        case 0:
            table = table.slice(1)
        case 1:
            table = pa.concat_tables([table, table])
        case 2:
            table = table.drop_columns([draw.choice(table.column_names)])
        case _:
            name = draw.choice(table.column_names)
            column = table.column(name).to_pylist()
            place = draw.randrange(len(column))
            column[place] = draw.choice([None, column[0], -1, 0, 10**6, float("nan"), 1e308, "x", []])
            try:
                changed = pa.array(column, table.schema.field(name).type)
                table = table.set_column(table.column_names.index(name), table.schema.field(name), changed)
            except (pa.ArrowException, OverflowError, TypeError, ValueError):
                return blob[: draw.randrange(len(blob))]
    sink = BytesIO()
    try:
        pq.write_table(table.replace_schema_metadata(metadata), sink, store_schema=False, compression="zstd")
    except pa.ArrowException:
        return blob[: draw.randrange(len(blob))]
    return sink.getvalue()
