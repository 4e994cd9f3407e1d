"""Stored bytes changed at random, key by key: each change is named by `verify`, or harmless.

The ledgers are small and hold every kind of key: an evaluation with segments that was extended and whose
labels were revised, and a monitor with a missing window, a mute, an amendment and alerts.  A change is of
the bytes (cut off, flipped, repeated, exchanged with another key of the kind) or of the value (a field
replaced by something hostile, removed or added; a column of a table with other values).  Then everything
that reads ledgers reads this one: `verify`, lists, the standing, the report, the history, and the next run
of a copy.  None may raise anything but an error of ours, or take longer than LONGEST seconds; and where
`verify` finds nothing, standing and history must say what they said before.

`verify` compares digests first. Where they name the change already, its recomputation, the report and the
next run are tried with every IN_FULL-th change only.
"""

import json
import random
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from doubles.stream import after, monitor_data, write_stream
from doubles.world import World

from assay.evalcore.errors import AssayError
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.finish import extend
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.mute import mute
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import amend, register
from assay.flows.record.finished import standings
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.flows.verify.unsealed import check_desk, check_unsealed
from assay.tasks.ledger import layout
from assay.tasks.ledger.integrity import check_integrity
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.files import report_json
from assay.tasks.spec.monitor import MonitorSpec

LONGEST = 20      # seconds of one reader
IN_FULL = 25
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

    def __init__(self, values: Mapping[str, bytes], key: str, blob: bytes) -> None:
        super().__init__()
        self._values.update(values)
        self._values[key] = blob
        self._counted = -1      # the folders are looked up when something is put


def evaluation_ledger(folder: Path) -> dict[str, bytes]:
    """An evaluation that was extended, and revised after that."""
    folder.mkdir(parents=True, exist_ok=True)
    world = World(
        folder, n=40, budget={"labels": 6}, batch_size=3, limit={"min": 0.999}, measure=["f1", "accuracy"]
    )
    world.run()
    extend(world.store, "small", 9, reason="to be sure")
    world.advance()
    some = next(iter(world.desk.answers))
    for item in list(world.desk.answers)[:20]:
        world.desk.answers[item] = world.desk.answers[some]
    world.advance(look_again=True)
    return _values(world.store)


def monitor_ledger(folder: Path) -> dict[str, bytes]:
    """A monitor's, with those of its evaluations."""
    write_stream(folder, 3, drop_from=0, worse=0.45, items=60)
    (folder / "predictions-2026-11-02.csv").unlink()
    store = MemoryStore()
    data = monitor_data(folder, quiet_labels=10) | {"budget": {"labels": 20}, "batch_size": 10}
    data["alerts"] = {"tell": ["breach", "recovery", "missing"]}
    register(store, MonitorSpec.from_data(data, origin="fuzz"))
    mute(store, "stream", until=after(1), reason="roll-out", now=after(0))
    tick(store, "stream", now=after(2))
    data["threshold"] = {"min": 0.8}
    amend(store, MonitorSpec.from_data(data, origin="fuzz"), now=after(2), reason="agreed")
    tick(store, "stream", now=after(3))
    return _values(store)


def _values(store: MemoryStore) -> dict[str, bytes]:
    return {key: store.get(key) for key in store.keys("") if not key.startswith("index/")}


def fuzz(folder: Path, mutations: int, seed: int) -> Fuzzed:
    """So many changes in all, evenly over the kinds of keys."""
    draw = random.Random(seed)
    found = Fuzzed()
    ledgers = [
        (evaluation_ledger(folder / "evaluation"), "small", _evaluation_readers),
        (monitor_ledger(folder / "monitor"), "stream", _monitor_readers),
    ]
    targets = [target for values, name, readers in ledgers for target in _targets(values, name, readers)]
    for i in range(mutations):
        kind, keys, values, readers, expected = targets[i % len(targets)]
        key = draw.choice(keys)
        blob = _changed(draw, values, key, keys)
        if blob == values[key]:
            continue
        found.tried[kind] = found.tried.get(kind, 0) + 1
        _judge(found, OneChanged(values, key, blob), key, readers, expected, in_full=i % IN_FULL == 0)
    return found


Reader = tuple[str, Callable[[], Any]]
Readers = Callable[[MemoryStore, str], Iterator[Reader]]


def _targets(
    values: dict[str, bytes], name: str, readers: Readers
) -> Iterator[tuple[str, list[str], dict[str, bytes], Readers, dict[str, Any]]]:
    """Each kind of key of a ledger, with what its readers say of it as it is."""
    by_kind: dict[str, list[str]] = {}
    for key in values:
        known = layout.parse_key(key)
        if known is not None:
            by_kind.setdefault(known.kind.template, []).append(key)
    whole = MemoryStore()
    whole._values.update(values)
    expected = {what: read() for what, read in readers(whole, "")}
    for kind, keys in sorted(by_kind.items()):
        yield kind, keys, values, readers, expected


def _evaluation_readers(store: MemoryStore, key: str) -> Iterator[Reader]:
    yield "digests", lambda: not _damaged_by_digests(store, "small")
    yield "standing", lambda: current_standing(open_evaluation(store, "small")).estimates
    yield "verify", lambda: verify(store, "small").verified
    yield "lists", lambda: len(standings(store))
    yield "report", lambda: _report(store, "small")
    yield "the next run", lambda: advance(store, "small").state


def _damaged_by_digests(store: MemoryStore, name: str) -> bool:
    found = check_integrity(Ledger(store, name))
    check_unsealed(found)
    check_desk(found)
    return bool(found.differences)


def _report(store: MemoryStore, name: str) -> int:
    opened = open_evaluation(store, name)
    return len(json.loads(report_json(report_data(opened, current_standing(opened)))))


def _monitor_readers(store: MemoryStore, key: str) -> Iterator[Reader]:
    """key: that was changed, of the monitor or of one of its evaluations."""
    owner = key.split("/")[0]
    evaluations = [owner] if owner not in ("monitors", "") else ["stream-2026-11-01", "stream-2026-11-03"]

    def said() -> Any:
        history = read_monitor_history(store, "stream", lambda: after(3))
        return [(one.number, one.window, one.verdict) for one in history.verdicts]

    def digests() -> bool:
        if owner == "monitors":
            return verify_monitor(store, "stream").verified
        return not any(_damaged_by_digests(store, name) for name in evaluations)

    yield "digests", digests
    yield "standing", said
    yield "verify", lambda: verify_monitor(store, "stream").verified and all(
        verify(store, name).verified for name in evaluations
    )
    yield "lists", lambda: len(standings(store))
    yield "the next run", lambda: bool(tick(store, "stream", now=after(3)))


def _judge(
    found: Fuzzed, store: MemoryStore, key: str, readers: Readers, expected: Mapping[str, Any], *,
    in_full: bool,
) -> None:
    answers: dict[str, Any] = {}
    for what, read in readers(store, key):
        if answers.get("digests", True) is not True and not in_full and "standing" in answers:
            break
        try:
            with _at_most(LONGEST):
                answers[what] = read()
        except AssayError:
            answers[what] = AssayError
        except Exception:
            found.wrong.append(f"{key}: {what}: {traceback.format_exc(limit=-3)}")
            return
    if answers["digests"] is not True or answers["verify"] is not True:
        found.named += 1
    elif answers["standing"] == expected["standing"]:
        found.harmless += 1
    else:
        found.wrong.append(f"{key}: the standing is another, and verify finds nothing")


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# Changes.

def _changed(draw: random.Random, values: Mapping[str, bytes], key: str, alike: list[str]) -> bytes:
    blob = values[key]
    if key.endswith(".json") and draw.random() < 0.7:
        return _changed_json(draw, blob)
    if key.endswith(".parquet") and draw.random() < 0.6:
        return _changed_table(draw, blob)
    return _changed_bytes(draw, blob, values[draw.choice(alike)])


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
