"""A store as a team has it: many evaluations and monitors in all states. Most are copies, made in memory.

Copies are not what `verify` would pass, but they are read like any other.
"""

import csv
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from doubles.history import opening, row
from doubles.small_pool import spec_json, write_small_pool
from doubles.stream import a_monitor

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.versions import register
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.checkpoints import KeptEntries, write_kept
from assay.tasks.ledger.monitors import WindowState
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec

HOSTILE = "<script>document.title='broken into'</script>\u202e\"onload=alert(1)"
OWNERS = ("ada@example.com", "grace@example.com", "edsger@example.com", None)
TEAMS = ("search", "ads", "trust", None)
_KINDS: dict[str, dict[str, Any]] = {
    "kept": {"limit": {"min": 0.05}},
    "breached": {"limit": {"min": 0.95}},
    "unclear": {"limit": {"min": 0.7}, "budget": {"labels": 20}},
    "unlimited": {"question": "Do both records describe the same person?"},
}


def fill(
    folder: Path, evaluations: int, monitors: int, windows: int = 40, *, open_ones: float = 1 / 3
) -> dict[str, bytes]:
    """Key -> value of a store with so many evaluations and monitors; `folder` gets the pool and a desk.

    open_ones: the share of evaluations that have not finished
    """
    predictions, labels = write_small_pool(folder, n=150)
    desk = {"kind": "folder", "path": str(folder / "desk"), "ask_again": False}

    def spec(name: str, **changes: Any) -> Spec:
        owned = {"owner": "OWNER", "team": "TEAM", "price_per_label": 0.25}
        return Spec.from_json(spec_json(
            predictions, labels, name=name, batch_size=20, **owned, **{"budget": {"labels": 40}} | changes
        ), origin="a test")

    store = MemoryStore()
    for kind, changes in _KINDS.items():
        begin_evaluation(store, spec(f"template-{kind}", **changes))
        while advance(store, f"template-{kind}").state != "finished":
            pass
    begin_evaluation(store, spec("template-waiting", desk=desk, question=f"Is it? {HOSTILE}"))
    advance(store, "template-waiting")
    answer_some(folder / "desk" / "template-waiting", folder / "labels.csv")
    advance(store, "template-waiting")
    begin_evaluation(store, spec("template-due"))
    kinds = [*_KINDS, "waiting", "due"]
    values: dict[str, bytes] = {}
    for n in range(evaluations):
        some = kinds[len(_KINDS):] if (n % 30) / 30 < open_ones else list(_KINDS)
        kind = some[(n * n + n // 3) % len(some)]
        values |= copy_of(store, f"template-{kind}", f"{kind}-model-{n:04d}", n)
    if evaluations > 20:
        values[layout.spec("broken-0001")] = b"{"
        values[layout.manifest("broken-0001")] = b"{"
    for n in range(monitors):
        values |= monitor_values(f"monitor-{n:02d}", windows, n)
    return values


def one_waiting(folder: Path) -> MemoryStore:
    """A store with the evaluation `live`, whose first round lies on the folder desk `folder/desk/live`."""
    predictions, labels = write_small_pool(folder, n=150)
    store = MemoryStore()
    desk = {"kind": "folder", "path": str(folder / "desk"), "ask_again": False}
    begin_evaluation(store, Spec.from_json(
        spec_json(predictions, labels, name="live", batch_size=20, desk=desk), origin="a test"
    ))
    advance(store, "live")
    return store


def a_store(values: Mapping[str, bytes]) -> MemoryStore:
    """Of these."""
    store = MemoryStore()
    store._values.update(values)
    return store


def write_store(values: Mapping[str, bytes], folder: Path) -> None:
    """As files, without asking the disk for anything."""
    for key, blob in values.items():
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blob)


def copy_of(store: MemoryStore, template: str, name: str, n: int) -> dict[str, bytes]:
    """An evaluation under another name, with an owner of its own."""
    owner, team = OWNERS[n % 4], TEAMS[n // 4 % 4]

    def renamed(blob: bytes) -> bytes:
        blob = blob.replace(template.encode(), name.encode())
        for key, value in (("owner", owner), ("team", team)):
            old = f'"{key}":"{key.upper()}"'.encode()
            new = b"null" if value is None else f'"{value}"'.encode()
            blob = blob.replace(old, f'"{key}":'.encode() + new)
        return blob

    found: dict[str, bytes] = {}
    for key in list(store.keys()):
        parts = key.split("/")
        if template not in parts:
            continue
        blob = renamed(store.get(key)) if key.endswith(".json") or parts[0] == "index" else store.get(key)
        kept = layout.finished.match(key)
        if kept is not None:
            found[layout.finished(name, layout.digest(blob)[:32])] = blob
        elif parts[0] != "index" or key.endswith("/entry"):   # checkpoints hang on digests
            found["/".join(name if part == template else part for part in parts)] = blob
    return found


def answer_some(desk: Path, labels: Path, share: float = 0.6) -> None:
    """Two people answer some of what lies on a folder desk."""
    with labels.open(newline="") as opened:
        truth = {f"what item {n} says": one["label"] for n, one in enumerate(csv.DictReader(opened))}
    for batch in desk.glob("round-*.csv"):
        with batch.open(encoding="utf-8-sig", newline="") as opened:
            rows = list(csv.DictReader(opened))
        for person, part in (("ada", rows[: int(len(rows) * share / 2)]),
                             ("grace", rows[int(len(rows) * share / 2): int(len(rows) * share)])):
            file = batch.parent / "answers" / f"{batch.stem}-{person}.csv"
            file.parent.mkdir(exist_ok=True)
            with file.open("w", encoding="utf-8-sig", newline="") as opened:
                writer = csv.writer(opened)
                writer.writerow(["item_id", "label"])
                writer.writerows([one["item_id"], truth[one["text"]]] for one in part)


_ENDS = ("ok", "breach", "inconclusive", "waiting", "missing", "ok", "stale", "unlabelled", "failed", "ok")


def monitor_values(name: str, windows: int, n: int) -> dict[str, bytes]:
    """A monitor of so many days, the last of which is in a state that hangs on n, with its checkpoint."""
    store = MemoryStore()
    owned = {"owner": OWNERS[n % 4], "team": TEAMS[n // 4 % 4], "price_per_label": 0.25}
    first = date(2026, 11, 25) - timedelta(days=windows - 1)
    spec = a_monitor(Path("/nowhere"), first=str(first), monthly_labels=3_000)
    spec = type(spec).from_data(
        spec.to_json() | {"name": name} | {key: one for key, one in owned.items() if one is not None},
        origin="a test",
    )
    register(store, spec)
    ledger = Ledger(store, layout.monitor_ledger(name))
    records, last = {}, 0
    for day in range(windows):
        window = str(first + timedelta(days=day))
        state = _ENDS[n % len(_ENDS)] if day == windows - 1 else "ok" if (day + n) % 17 else "inconclusive"
        value = 0.9 - 0.04 * ((day * 7 + n) % 5) / 5 - (0.25 if state == "breach" else 0)
        made = row(window, value, state)
        for key, one in _of_window(ledger.name, name, window, made, state, last + 1):
            store.put(key, record.encode(one))
            seal = key.removesuffix(".json") + ".seal.json"
            store.put(seal, b'{"digest":"0"}\n')
            records[key] = store.get(key)
            last += isinstance(one, type(made.verdict)) and made.verdict is not None
    settled = frozenset(str(first + timedelta(days=day)) for day in range(windows - 2))
    write_kept(
        ledger, KeptEntries(keys=frozenset()), verdicts=last, settled=settled, windows=frozenset(),
        records=records,
    )
    return dict(store._values)


def _of_window(owner: str, name: str, window: str, made: Any, state: str, number: int) -> Iterator[Any]:
    from dataclasses import replace

    at = datetime.fromisoformat(f"{window}T06:00:00").replace(tzinfo=UTC) + timedelta(days=1)
    if state != "missing":
        evaluation = None if state == "unlabelled" else f"{name}-{window}"
        yield layout.monitor_opening(owner, window, 1), replace(
            opening(window, evaluation, signals=made.signals), opened=at, month=f"{at:%Y-%m}"
        )
    if made.verdict is not None:
        yield layout.monitor_verdict(owner, number), replace(
            made.verdict, number=number, measure="accuracy",
            rests_on=replace(made.verdict.rests_on, evaluation=f"{name}-{window}"),
        )
    elif state in ("missing", "stale", "failed"):
        why = {"missing": "no file came", "stale": "opened 8 days ago and not finished yet",
               "failed": f"the file {HOSTILE} cannot be read"}[state]
        yield layout.window_state(owner, window, 1), WindowState(
            window=window, number=1, state=state, why=why, files="", at=at,
        )
