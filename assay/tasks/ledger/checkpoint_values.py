"""Any value that the statistics carry from round to round, as bytes and back, to the last bit.

A value is made of plain values, NumPy arrays, tuples, lists, mappings and dataclasses of these. It is kept as
one npz: all arrays of a type as one flat array, and JSON that says what is made of which parts of them; equal
arrays are written once. What a state shares with the state before the first round, such as cells and label
models, is not written: the reader has it already (`base`), and finds it at the same place. A tuple that has
one entry for every round is a history: its early entries go into files of their own, which are the same from
then on, and are read only where they are needed.

Reading makes nothing but dataclasses of the modules in `_MODULES`, and no file is unpickled. So bytes that
were tampered with can give wrong numbers, which `verify` finds, and cannot run code.
"""

import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeGuard
from zipfile import BadZipFile

import numpy as np

from assay.evalcore.errors import AssayError
from assay.evalcore.evaluation.state import ENTRIES_OF_RUN, LATEST, History
from assay.evalcore.json_values import JsonObject
from assay.evalcore.types import Array
from assay.tasks.ledger import layout, record

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MODULES = ("assay.evalcore.", "assay.tasks.ledger.asked_round", "assay.tasks.ledger.closed_round")
_PLAIN = (bool, int, float, str, type(None))
_SAME: JsonObject = {"same": True}
UNREADABLE = (
    *record.NONSENSE, ImportError, BadZipFile,
)


class NotKept(AssayError):
    """A value that cannot be written: the evaluation goes on without a checkpoint."""


class KeptRun:
    """The entries of one run of a history, read when they are first asked for."""

    def __init__(self, digest: str, fetch: Callable[[str], bytes]) -> None:
        self.digest, self._fetch = digest, fetch
        self._entries: tuple[object, ...] | None = None

    def __call__(self) -> tuple[object, ...]:
        if self._entries is None:
            self._entries = read_value(self._fetch(self.digest), self._fetch)
        return self._entries


def written_value(value: object, rounds: int, base: object = None) -> tuple[bytes, dict[str, bytes]]:
    """The bytes of a value, and those of the runs of its histories by digest, as far as they are not kept.

    rounds   closed so far: what has as many entries is a history. Raises NotKept.
    """
    writer = _Writer(rounds)
    return writer.packed(value, base), writer.runs


def named_runs(blob: bytes) -> set[str]:
    """The digests of the runs that a value names. Raises one of UNREADABLE."""
    return set(json.loads(_arrays(blob)["json"].tobytes())["runs"])


def read_value(blob: bytes, fetch: Callable[[str], bytes], base: object = None) -> Any:
    """The value that was written, given the same base; fetch: the bytes of a run by its digest.

    Raises one of UNREADABLE.
    """
    flat = _arrays(blob)
    return _Reader(flat, fetch).value(json.loads(flat["json"].tobytes())["value"], base)


def _arrays(blob: bytes) -> dict[str, Array]:
    """The arrays of a file by name. Raises one of UNREADABLE, also where they are packed into a few bytes and
    larger than any record."""
    with np.load(BytesIO(blob), allow_pickle=False) as archive:
        if sum(member.file_size for member in archive.zip.infolist()) > record.MOST_RECORD_BYTES:
            raise ValueError(f"more than {record.MOST_RECORD_BYTES:,} bytes of arrays")
        return dict(archive)


class _Writer:
    """One file that is written."""

    def __init__(self, rounds: int) -> None:
        self.runs: dict[str, bytes] = {}
        self._rounds = rounds
        self._named: list[str] = []
        self._flat: dict[str, bytearray] = {}     # type of array -> all of them
        self._there: dict[tuple[str, bytes], int] = {}

    def packed(self, value: object, base: object = None) -> bytes:
        """The bytes of a value."""
        document = {"value": self._said(value, base), "runs": self._named}
        flat: dict[str, Any] = {kind: np.frombuffer(held, kind) for kind, held in self._flat.items()}
        sink = BytesIO()
        np.savez_compressed(sink, json=np.frombuffer(json.dumps(document).encode(), np.uint8), **flat)
        return sink.getvalue()

    def _said(self, value: object, base: object = None) -> object:
        """The value as JSON; its arrays are put with the others."""
        if type(value) in _PLAIN:
            return value
        if value is base:
            return _SAME
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value)
        if isinstance(value, History):
            return self._history(value.runs, value.rest)
        if self._is_history(value):
            return self._history((), value)
        if type(value) is tuple or type(value) is list:
            places = zip(value, _items(base, len(value)), strict=True)
            return {type(value).__name__: [self._said(part, old) for part, old in places]}
        if isinstance(value, Mapping):
            old = base if isinstance(base, Mapping) else {}
            pairs = [[self._said(key), self._said(part, old.get(key))] for key, part in value.items()]
            return {"mapping": pairs}
        if is_dataclass(value) and type(value).__module__.startswith(_MODULES):
            return {
                "of": f"{type(value).__module__}:{type(value).__qualname__}",
                "fields": {
                    field.name: self._said(getattr(value, field.name), getattr(base, field.name, None))
                    for field in fields(value)
                },
            }
        raise NotKept(f"a value of {type(value).__module__}.{type(value).__qualname__} cannot be kept")

    def _is_history(self, value: object) -> TypeGuard[tuple[object, ...]]:
        return type(value) is tuple and len(value) == self._rounds >= ENTRIES_OF_RUN + LATEST \
            and all(map(is_dataclass, value))

    def _history(
        self, runs: Sequence[Callable[[], Sequence[object]]], remainder: tuple[object, ...]
    ) -> dict[str, object]:
        digests = [
            run.digest if isinstance(run, KeptRun) else self._run(tuple(run())) for run in runs
        ]
        while len(remainder) >= ENTRIES_OF_RUN + LATEST:
            digests.append(self._run(remainder[:ENTRIES_OF_RUN]))
            remainder = remainder[ENTRIES_OF_RUN:]
        self._named += digests
        return {"history": digests, "rest": [self._said(part) for part in remainder]}

    def _run(self, run: tuple[object, ...]) -> str:
        """The digest of a run, whose bytes go into `runs`."""
        blob = _Writer(0).packed(run)
        digest = layout.digest(blob)[:32]
        self.runs[digest] = blob
        return digest

    def _array(self, value: "Array | np.generic") -> JsonObject:
        """Where the array is to be found. Its axes keep their order in memory: sums depend on it."""
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise NotKept(f"an array of {array.dtype} cannot be kept")
        axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        what = (array.dtype.str, array.transpose(axes).tobytes())
        if what not in self._there:
            held = self._flat.setdefault(what[0], bytearray())
            self._there[what] = len(held) // max(array.itemsize, 1)
            held += what[1]
        shape = [array.shape[axis] for axis in axes]
        place: JsonObject = {"array": what[0], "at": self._there[what], "shape": shape, "axes": axes}
        return place | ({"scalar": True} if isinstance(value, np.generic) else {})


class _Reader:
    """One file that is read."""

    def __init__(self, flat: Mapping[str, Array], fetch: Callable[[str], bytes]) -> None:
        self._flat, self._fetch = flat, fetch

    def value(self, node: object, base: object = None) -> object:
        """The value that a node of the JSON says."""
        if not isinstance(node, dict):
            return node
        if node == _SAME:
            if base is None:
                raise ValueError("rests on something that is not there")
            return base
        if "array" in node:
            return self._array(node)
        if "history" in node:
            runs = tuple(KeptRun(digest, self._fetch) for digest in node["history"])
            return History(runs, tuple(self.value(part) for part in node["rest"]))
        for name, kind in (("tuple", tuple), ("list", list)):
            if name in node:
                places = zip(node[name], _items(base, len(node[name])), strict=True)
                return kind(self.value(part, old) for part, old in places)
        if "mapping" in node:
            of_base = base if isinstance(base, Mapping) else {}
            pairs = [(self.value(key), part) for key, part in node["mapping"]]
            return {key: self.value(part, of_base.get(key)) for key, part in pairs}
        values = {name: self.value(part, getattr(base, name, None)) for name, part in node["fields"].items()}
        return _dataclass(node["of"])(**values)

    def _array(self, place: Mapping[str, Any]) -> object:
        """The array at a place, a copy of its own."""
        count = int(np.prod(place["shape"], dtype=np.int64))
        held = self._flat[place["array"]][place["at"] : place["at"] + count]
        array = held.reshape(place["shape"]).copy().transpose(np.argsort(place["axes"]))
        return array[()] if "scalar" in place else array


def _items(base: object, length: int) -> Sequence[object]:
    """What stands at the same places of the base."""
    if (type(base) is tuple or type(base) is list) and len(base) == length:
        return base
    return [None] * length


def _dataclass(path: str) -> "type[DataclassInstance]":
    module, _, name = path.partition(":")
    if not module.startswith(_MODULES):
        raise ValueError(f"{module} is not a module of kept values")
    kind: object = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        kind = getattr(kind, part)
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise ValueError(f"{path} is no dataclass")
    return kind
