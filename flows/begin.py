"""`begin`: check everything that can be wrong, freeze the pool, and put a name on it.

    spec.json already there     the same spec resumes, another one is refused
    freeze                      the rows checked and written, nothing committed
    desk                        reached and made ready, only now: bad input leaves no empty project behind
    spec.json                   put just before the manifest: input that is refused does not use up the name
    manifest.json               commits it all

Twice at once, or again after any crash, the result is the same.
"""

import logging
import platform
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import version
from typing import Any

from evalcore.errors import BadInput
from evalcore.methods.registry import auto, is_auto
from flows.opened import Opened, desk_of, open_evaluation, read_spec, utc_now
from tasks.desk_effects import prepare_desk
from tasks.desks.desk import Desk
from tasks.effects import effect, retried
from tasks.frozen import Manifest
from tasks.inherited import write_inherited
from tasks.ledger import encoding, keys
from tasks.ledger.store import KeyMissing, Store
from tasks.snapshot import freeze_pool
from tasks.spec import Spec

_log = logging.getLogger("assay.begin")
_DECIDE_NUMBERS = ("assay", "numpy", "scipy", "pyarrow")


class NameTaken(BadInput):
    """Another evaluation has this name; the message says what differs."""


def begin(
    store: Store,
    spec: Spec,
    desk: Desk | None = None,
    *,
    now: Callable[[], datetime] = utc_now,
    progress: Callable[[int], None] | None = None,
) -> Opened:
    """Begin an evaluation, or find it begun with the same spec.

    desk       where people label; the one of the spec unless given
    progress   told the number of rows frozen so far

    Raises NameTaken for another spec under the same name; BadInput or a desk's or store's error for whatever
    is wrong, and then nothing has begun.
    """
    _check_store(store)
    if _begun_as(store, spec):
        return open_evaluation(store, spec.name)
    where = desk if desk is not None else desk_of(store, spec)

    def claim() -> None:
        prepare_desk(where)
        _claim(store, spec)

    manifest = _freeze(spec, store, progress, claim)
    _refuse_if_taken(store, spec)
    _mark_begun(store, spec.name, now())
    _log.info("%s: began with %d items", spec.name, manifest.rows)
    return open_evaluation(store, spec.name)


def _begun_as(store: Store, spec: Spec) -> bool:
    """Whether this very spec has begun under its name. Raises NameTaken if another one holds it."""
    try:
        _refuse_if_taken(store, spec)
    except KeyMissing:
        return False
    return store.exists(keys.manifest(spec.name))


@retried
def _check_store(store: Store) -> None:
    store.check()


@retried
def _refuse_if_taken(store: Store, spec: Spec) -> None:
    recorded, ours = read_spec(store, spec.name)["spec"], spec.to_json()
    if recorded == ours:
        return
    differs = sorted(k for k in {*recorded, *ours} if recorded.get(k) != ours.get(k))
    raise NameTaken(
        f"name: {spec.name!r} is taken in {store.url} by an evaluation with another spec (it differs in "
        f"{', '.join(differs)}); give this one another name, or restore the spec to resume that one"
    )


@effect("freeze-pool", retries=0)
def _freeze(
    spec: Spec, store: Store, progress: Callable[[int], None] | None, claim: Callable[[], None]
) -> Manifest:
    """No retries of the whole: store and desk retry their own calls, and a pool may have 10⁷ rows."""
    return freeze_pool(spec, store, progress, claim, inherited=write_inherited(store, spec))


def _claim(store: Store, spec: Spec) -> None:
    """Put the name on the spec, and the evaluation into the index, before the manifest commits both."""
    recorded: dict[str, Any] = {"spec": spec.to_json(), "versions": versions()}
    if is_auto(spec.method):
        recorded["auto"] = asdict(auto(spec.method))
    store.put(keys.spec(spec.name), encoding.to_json(recorded))
    _refuse_if_taken(store, spec)
    store.put(keys.open_index(spec.name), b"")


@retried
def _mark_begun(store: Store, name: str, moment: datetime) -> None:
    store.put(keys.begun(name), encoding.to_json({"begun": moment.isoformat()}))


def versions() -> dict[str, str]:
    """Of everything whose version may decide a last digit."""
    return {"python": platform.python_version()} | {name: version(name) for name in _DECIDE_NUMBERS}
