"""Every n-th operation of a whole life: a store and a desk that kill there, and that fail there.

A life (lives.py) is a list of steps, each of which is one call that may be repeated.  An undisturbed life is
lived once, and what outlives a process is copied after each of its writes.

    killed       goes on from each of these copies, with nothing else: a process that was killed before a
                 write, after it, or at any read up to the next one
    fails        at the n-th operation, a read or a write, the error of a full disk is raised, once
    is away      the error of a store that cannot be reached, once: the call is tried again by itself
    stays away   that error from the n-th operation on, until the step has ended

and the step in which that happened is run again, by something that remembers nothing.  The record must then
be that of the undisturbed life, key by key and byte by byte, but for times and random words, and the desk
hold what it holds there.  Each n costs its step and the run after it: where the record at the end of a step
is that of the undisturbed life, what follows is as well, and where it is that of a process which was killed
at this n, that was tried.  One n in IN_FULL is lived to its end all the same, and verified.  In a long life
the store is away at one n in `Life.away` only, because each of these costs the whole step.
"""

import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from doubles.logged import without_chance

from assay.evalcore.errors import AssayError, Unreachable
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.desks.desk import AmbiguousPost
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.stores.store import MemoryStore, StoreError, StoreUnreachable
from benchmarks.recovery.limits import at_most
from benchmarks.recovery.lives import LIVES, Life, Scene, Step

WRITES = ("put", "discard", "prepare", "post", "request_more")
READS = ("get", "get_range", "size", "exists", "keys", "folders", "check", "missing", "collect")
How = Literal["killed", "fails", "is away", "stays away"]
HOWS: tuple[How, ...] = ("killed", "fails", "is away", "stays away")
IN_FULL = 25
AGAIN = 3          # runs of a step after the one that was disturbed
LONGEST = 60       # seconds of a step


class Operations:
    """The operations of a store and a desk, in one count."""

    def __init__(
        self, failing: Callable[[int], How | None] = lambda number: None,
        wrote: Callable[[], None] = lambda: None,
    ) -> None:
        """failing: how the operation of this number fails, or None; wrote: is called after each write."""
        self.names: list[str] = []
        self._failing, self._wrote = failing, wrote

    def around(self, inner: Any) -> Any:
        """The store or the desk, whose operations are counted."""
        return _Operated(inner, self)

    def call(self, method: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """The operation, or the error that it is to end with."""
        self.names.append(f"{method} {given[0] if given and isinstance(given[0], str) else ''}".strip())
        how = self._failing(len(self.names))
        if how is not None:
            raise _error(method, how)
        value = function(*given, **named)
        if method in WRITES:
            self._wrote()
        return value


def _error(method: str, how: How) -> AssayError:
    if method == "post":
        return AmbiguousPost("the reply was lost")
    if method in ("prepare", "request_more", "missing", "collect"):
        return AssayError("the desk refuses") if how == "fails" else Unreachable("the desk is away")
    if how == "fails":
        return StoreError(f"memory: cannot {method}: no space left")
    return StoreUnreachable(f"memory: cannot {method}: it is away")


class _Operated:
    """A store or a desk whose operations go through a count."""

    def __init__(self, inner: Any, operations: Operations) -> None:
        self._inner, self._operations = inner, operations

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name not in WRITES and name not in READS:
            return value
        return lambda *given, **named: self._operations.call(name, value, *given, **named)


@dataclass(slots=True, kw_only=True)
class Moment:
    """What outlived a process that was killed in a step."""

    step: int
    after: str          # the write after which it was killed, or nothing
    scene: Scene


@dataclass(slots=True, kw_only=True)
class Whole:
    """An undisturbed life."""

    steps: Sequence[Step]
    starts: list[Scene] = field(default_factory=list)       # of every step, and the end
    moments: list[Moment] = field(default_factory=list)     # the start of each step, and after each write
    operations: list[tuple[int, int, str]] = field(default_factory=list)   # step, number in it, name

    def killed_at(self, number: int) -> Scene:
        """What outlives a process that is killed before the operation of this number, from 1 on."""
        step, at, _ = self.operations[number - 1]
        writes = sum(
            name.startswith(WRITES) for in_step, n, name in self.operations if in_step == step and n < at
        )
        return [moment.scene for moment in self.moments if moment.step == step][writes]

    @property
    def end(self) -> MemoryStore:
        """The store at its end."""
        return self.starts[-1].store


def undisturbed(life: Life, folder: Path) -> Whole:
    """A life without any disturbance, its files written into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    life.write(folder)
    whole, scene = Whole(steps=life.steps(folder)), Scene.empty(life)
    for number, step in enumerate(whole.steps):
        whole.starts.append(scene.copy())
        whole.moments.append(Moment(step=number, after="", scene=scene.copy()))
        operations = Operations(wrote=lambda: whole.moments.append(
            Moment(step=number, after=operations.names[-1], scene=scene.copy())   # noqa: B023
        ))
        step(operations.around(scene.store), operations.around(scene.desk))
        whole.operations += [(number, at, name) for at, name in enumerate(operations.names, 1)]
    whole.starts.append(scene)
    return whole


def after_kill(whole: Whole, moment: Moment, *, in_full: bool = True) -> list[str]:
    """What is another at the end of a life that goes on from this moment."""
    return _lived_on(whole, moment.step, moment.scene.copy(), in_full=in_full)


def after_failure(whole: Whole, number: int, how: How, *, in_full: bool = True) -> list[str]:
    """What is another at the end of a life whose operation of this number, from 1 on, failed."""
    step_number, at, name = whole.operations[number - 1]

    def failing(counted: int) -> How | None:
        return how if counted == at or (how == "stays away" and counted > at) else None

    scene, operations = whole.starts[step_number].copy(), Operations(failing)
    raised = False
    try:
        with at_most(LONGEST):
            whole.steps[step_number](operations.around(scene.store), operations.around(scene.desk))
    except AssayError:
        raised = True
    before = [name for step, _, name in whole.operations if step == step_number][:at]
    if list(map(_without_digests, operations.names[:at])) != list(map(_without_digests, before)):
        return [f"the operations up to {at} ({name}) are others than those of the undisturbed life"]
    if not in_full:
        if not raised and _differences(scene, whole.starts[step_number + 1]) == []:
            return []
        if raised and _differences(scene, whole.killed_at(number)) == []:
            return []
    return _lived_on(whole, step_number, scene, in_full=in_full)


def _without_digests(name: str) -> str:
    """Of an answer, for example, the digest covers the time at which it came."""
    return re.sub("[0-9a-f]{16,}", "...", name)


def _lived_on(whole: Whole, step_number: int, scene: Scene, *, in_full: bool) -> list[str]:
    """Runs a step until it ends, and all after it, unless the record is already that of the whole life."""
    for number in range(step_number, len(whole.steps)):
        _run(whole.steps[number], scene)
        if not in_full and _differences(scene, whole.starts[number + 1]) == []:
            return []
    return _differences(scene, whole.starts[-1]) + [
        f"verify: {difference}" for difference in named_by_verify(scene.store)
    ]


def _run(step: Callable[[Any, Any], Any], scene: Scene) -> None:
    for attempt in range(AGAIN):
        try:
            with at_most(LONGEST):
                step(scene.store, scene.desk)
        except AssayError:
            if attempt == AGAIN - 1:
                raise
        else:
            return


def _differences(scene: Scene, expected: Scene) -> list[str]:
    """The keys under which something else lies, and places of the desk."""
    here, there = _comparable(scene.store), _comparable(expected.store)
    differ = [key for key in sorted({*here, *there}) if here.get(key) != there.get(key)]
    on_desk, expected_there = scene.desk.on_desk, expected.desk.on_desk
    return differ + [
        f"on the desk, round and asking {place}" for place in sorted({*on_desk, *expected_there})
        if on_desk.get(place) != expected_there.get(place)
    ]


_BESIDE = ("identity.json", "sources.json")
_MOMENT = re.compile(rb"The last labels came on [^.]*\.")


def _comparable(store: MemoryStore) -> dict[str, bytes]:
    return {
        key: b"a time" if key.endswith("times.json") else _MOMENT.sub(b"", without_chance(key, blob))
        for key, blob in store._values.items()
        if not key.endswith(_BESIDE) and "/posts/" not in key and not key.startswith(("index/", "desks/"))
    }


def named_by_verify(store: MemoryStore) -> Iterator[str]:
    """What `verify` says of every evaluation and monitor of a store."""
    for key in store.keys(""):
        if (owner := layout.manifest.match(key)) is not None:
            yield from (f"{one.key}: {one.difference}" for one in verify(store, owner[0]).differences)
    for name in store.folders(layout.MONITORS_PREFIX):
        yield from (f"{one.key}: {one.difference}" for one in verify_monitor(store, name).differences)


def monitor_records(store: MemoryStore) -> Mapping[str, Any]:
    """The JSON of every record of a monitor."""
    keys = [key for key in store.keys(layout.MONITORS_PREFIX) if "/log/" not in key]
    return {key: record.from_json(store.get(key), key) for key in keys}


@dataclass(slots=True, kw_only=True)
class Studied:
    """What came of one kind of life."""

    life: str
    how: How
    operations: int     # that an undisturbed life has: moments between two writes, or reads and writes
    tried: int = 0
    wrong: list[str] = field(default_factory=list)


def study(whole: Whole, name: str, how: How, every: int = 1) -> Studied:
    """The life disturbed at each operation, or at each `every`-th."""
    count = len(whole.moments if how == "killed" else whole.operations)
    studied = Studied(life=name, how=how, operations=count)
    for at in range(1, count + 1, every):
        in_full = studied.tried % IN_FULL == 0
        studied.tried += 1
        try:
            if how == "killed":
                differ = after_kill(whole, whole.moments[at - 1], in_full=in_full)
            else:
                differ = after_failure(whole, at, how, in_full=in_full)
        except Exception:
            differ = [traceback.format_exc(limit=-3)]
        if differ:
            where = whole.moments[at - 1].after if how == "killed" else whole.operations[at - 1]
            studied.wrong.append(f"{how} at {at}, {where}: {differ[:3]}")
            sys.stderr.write(f"{name}: {studied.wrong[-1]}\n")
    return studied


def studied_lives(folder: Path, every: int, done: set[tuple[str, str]]) -> Iterator[Studied]:
    """Every life and way to disturb it that is not done yet."""
    for name, life in LIVES.items():
        hows = [how for how in HOWS if (name, how) not in done]
        if hows:
            whole = undisturbed(life, folder / name.replace(" ", "-"))
            yield from (study(whole, name, how, every * (life.away if "away" in how else 1)) for how in hows)
