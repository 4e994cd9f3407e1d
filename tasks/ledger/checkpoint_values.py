"""Any value that the statistics carry from round to round, as bytes and back, to the last bit.

A value is made of plain values, NumPy arrays, tuples, lists, mappings and dataclasses of these. It is written
as JSON, and the bytes of its arrays behind it; equal arrays are written once. What a state shares with the
state before the first round, such as cells and label models, is not written: the reader has it already
(`base`), and finds it at the same place. A tuple that has one entry for every round is a history: its early
entries go into files of their own, which are the same from then on, and are read only where they are needed.

Reading makes nothing but dataclasses of the modules in `_MODULES`, so bytes that were tampered with can give
wrong numbers, which `verify` finds, and cannot run code.
"""

import importlib
import json
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from assay.evalcore.errors import AssayError
from assay.evalcore.evaluation.state import LATEST, RUN, History
from assay.tasks.ledger import layout

_MODULES = ("assay.evalcore.", "assay.tasks.ledger.rounds.")
_PLAIN = (bool, int, float, str)
_SAME: dict[str, Any] = {"same": True}
UNREADABLE = (ValueError, KeyError, TypeError, IndexError, AttributeError, ImportError, zlib.error)


class NotKept(AssayError):
    """A value that cannot be written: the evaluation goes on without a checkpoint."""


class KeptRun:
    """The entries of one run of a history, read when they are first asked for."""

    def __init__(self, digest: str, fetch: Callable[[str], bytes]) -> None:
        self.digest, self._fetch = digest, fetch
        self._entries: tuple[Any, ...] | None = None

    def __call__(self) -> tuple[Any, ...]:
        if self._entries is None:
            self._entries = read_value(self._fetch(self.digest), self._fetch)
        return self._entries


def written_value(value: Any, rounds: int, base: Any = None) -> tuple[bytes, dict[str, bytes]]:
    """The bytes of a value, and those of the runs of its histories by digest, as far as they are not kept.

    rounds   closed so far: what has as many entries is a history. Raises NotKept.
    """
    writer = _Writer(rounds)
    said = writer.said(value, base)
    return _packed(said, writer.arrays), writer.runs


def named_runs(blob: bytes) -> set[str]:
    """The digests of the runs that a value names. Raises one of UNREADABLE."""
    head, _, _ = zlib.decompress(blob).partition(b"\n")
    found: set[str] = set()
    todo = [json.loads(head)]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            found.update(one.get("history", ()))
            todo += one.values()
        elif isinstance(one, list):
            todo += one
    return found


def read_value(blob: bytes, fetch: Callable[[str], bytes], base: Any = None) -> Any:
    """The value that was written, given the same base; fetch: the bytes of a run by its digest.

    Raises one of UNREADABLE.
    """
    head, _, arrays = zlib.decompress(blob).partition(b"\n")
    return _Reader(arrays, fetch).value(json.loads(head), base)


class _Writer:
    """One file that is written."""

    def __init__(self, rounds: int) -> None:
        self.arrays = bytearray()
        self.runs: dict[str, bytes] = {}
        self._rounds = rounds
        self._there: dict[tuple[str, tuple[int, ...], bytes], int] = {}

    def said(self, value: Any, base: Any = None) -> Any:
        """The value as JSON; its arrays go into `arrays`."""
        if value is None or type(value) in _PLAIN:
            return value
        if value is base:
            return _SAME
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        if isinstance(value, History) or self._is_history(value):
            return self._history(value)
        if type(value) in (tuple, list):
            if all(one is None or type(one) in _PLAIN for one in value):
                return {type(value).__name__: list(value), "plain": True}
            places = zip(value, _items(base, len(value)), strict=True)
            return {type(value).__name__: [self.said(one, old) for one, old in places]}
        if isinstance(value, Mapping):
            return self._mapping(value, base if isinstance(base, Mapping) else {})
        if is_dataclass(value) and type(value).__module__.startswith(_MODULES):
            return {
                "of": f"{type(value).__module__}:{type(value).__qualname__}",
                "fields": {
                    field.name: self.said(getattr(value, field.name), getattr(base, field.name, None))
                    for field in fields(value)
                },
            }
        raise NotKept(f"a value of {type(value).__module__}.{type(value).__qualname__} cannot be kept")

    def _is_history(self, value: Any) -> bool:
        one_a_round = type(value) is tuple and len(value) == self._rounds >= RUN + LATEST
        return one_a_round and all(map(is_dataclass, value))

    def _history(self, value: Any) -> Any:
        runs: list[Any] = list(value.runs) if isinstance(value, History) else []
        rest = value.rest if isinstance(value, History) else value
        while len(rest) >= RUN + LATEST:
            runs.append(rest[:RUN])
            rest = rest[RUN:]
        return {"history": [self._run(run) for run in runs], "rest": [self.said(one) for one in rest]}

    def _run(self, run: Any) -> str:
        """The digest of a run; its bytes go into `runs` unless they were read from a file."""
        if isinstance(run, KeptRun):
            return run.digest
        of_run = _Writer(0)
        blob = _packed(of_run.said(tuple(run)), of_run.arrays)
        digest = layout.digest(blob)[:32]
        self.runs[digest] = blob
        return digest

    def _mapping(self, value: Mapping[Any, Any], base: Mapping[Any, Any]) -> Any:
        if all(type(key) is str and type(one) in _PLAIN for key, one in value.items()):
            return {"plain mapping": dict(value)}
        return {"mapping": [[self.said(key), self.said(one, base.get(key))] for key, one in value.items()]}

    def _array(self, array: Any) -> dict[str, Any]:
        """Where the array is to be found. Its axes keep their order in memory: sums depend on it."""
        if array.dtype.hasobject:
            raise NotKept(f"an array of {array.dtype} cannot be kept")
        axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        laid_out = array.transpose(axes)
        what = (array.dtype.str, laid_out.shape, laid_out.tobytes())
        if what not in self._there:
            self._there[what] = len(self.arrays)
            self.arrays += what[2]
        place: dict[str, Any] = {"array": what[0], "shape": list(what[1]), "at": self._there[what]}
        return place if axes == sorted(axes) else place | {"axes": axes}


class _Reader:
    """One file that is read."""

    def __init__(self, arrays: bytes, fetch: Callable[[str], bytes]) -> None:
        self._arrays, self._fetch = arrays, fetch

    def value(self, said: Any, base: Any = None) -> Any:
        """The value that was said."""
        if not isinstance(said, dict):
            return said
        if said == _SAME:
            if base is None:
                raise ValueError("rests on something that is not there")
            return base
        if "array" in said:
            return self._array(said)
        if "scalar" in said:
            return self._array(said["scalar"])[()]
        if "history" in said:
            runs = tuple(KeptRun(digest, self._fetch) for digest in said["history"])
            return History(runs, tuple(self.value(one) for one in said["rest"]))
        for name, kind in (("tuple", tuple), ("list", list)):
            if name in said:
                ones = said[name]
                places = zip(ones, _items(base, len(ones)), strict=True)
                return kind(ones) if "plain" in said else kind(self.value(one, old) for one, old in places)
        if "plain mapping" in said:
            return said["plain mapping"]
        if "mapping" in said:
            of_base = base if isinstance(base, Mapping) else {}
            pairs = [(self.value(key), one) for key, one in said["mapping"]]
            return {key: self.value(one, of_base.get(key)) for key, one in pairs}
        values = {name: self.value(one, getattr(base, name, None)) for name, one in said["fields"].items()}
        return _dataclass(said["of"])(**values)

    def _array(self, place: Mapping[str, Any]) -> Any:
        """The array at a place, a copy of its own."""
        shape = tuple(place["shape"])
        count = int(np.prod(shape, dtype=np.int64))
        if not count:
            array = np.zeros(shape, place["array"])
        else:
            array = np.frombuffer(self._arrays, place["array"], count, place["at"]).reshape(shape).copy()
        return array.transpose(np.argsort(place["axes"])) if "axes" in place else array


def _packed(said: Any, arrays: bytearray) -> bytes:
    return zlib.compress(json.dumps(said, separators=(",", ":")).encode() + b"\n" + bytes(arrays))


def _items(base: Any, length: int) -> Any:
    """What stands at the same places of the base."""
    return base if type(base) in (tuple, list) and len(base) == length else [None] * length


def _dataclass(named: str) -> Any:
    module, _, name = named.partition(":")
    if not module.startswith(_MODULES):
        raise ValueError(f"{module} is not a module of kept values")
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not (isinstance(found, type) and is_dataclass(found)):
        raise ValueError(f"{named} is no dataclass")
    return found
