"""Frames in and out: whatever narwhals takes (pandas, polars, pyarrow), or the path of a file.

A frame becomes a Parquet file, because a pool is a file. Frames that are given back are of the kind that was
given; without one, pandas, polars or pyarrow, the first that is installed.
"""

import hashlib
import io
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq

from assay.evalcore.errors import BadInput

ROW = "item_id"       # the column of ids: looked for, and made where there is none
KEPT = "assay-pools"  # the folder of the frames of durable evaluations
_BACKENDS = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """Predictions as a file."""

    path: str
    id: str                                 # the column that names an item
    columns: tuple[str, ...]                # of a frame; () for a file, which is read by the evaluation
    backend: str                            # of frames that are given back
    table: pa.Table | None = None           # what a frame held
    folder: tempfile.TemporaryDirectory[str] | None = None   # gone with this value

    def row(self, item_id: str) -> dict[str, Any]:
        """The row of a frame with this id; an empty dictionary for a file."""
        if self.table is None:
            return {}
        return {name: self.table.column(name)[self._places[item_id]].as_py() for name in self.columns}

    _found: dict[str, int] = field(default_factory=dict)

    @property
    def _places(self) -> dict[str, int]:
        if not self._found and self.table is not None:
            ids = self.table.column(self.id).cast(pa.string()).to_pylist()
            self._found.update((name, place) for place, name in enumerate(ids))
        return self._found


def as_source(data: Any, id: str | None, *, keep: bool) -> Source:
    """Predictions as a file.

    data   a frame, or the path or address of Parquet, CSV or JSONL
    id     its column of ids; `item_id` if there is one, else the numbers of a frame's rows
    keep   whether the file of a frame outlives this process (in ./assay-pools)

    Raises BadInput for what is neither frame nor path, and for a column that is not there.
    """
    if isinstance(data, str | Path):
        return Source(path=str(data), id=id or ROW, columns=(), backend=default_backend())
    table, backend = table_of(data)
    columns = tuple(table.column_names)
    if id is not None and id not in columns:
        raise BadInput(f"id: the frame has no column {id!r}; it has {', '.join(columns)}")
    if id is None and ROW not in columns:
        table = table.append_column(ROW, pa.array(map(str, range(len(table))), pa.string()))
    path, folder = _written(table, keep)
    return Source(
        path=path, id=id or ROW, columns=columns, backend=backend, table=table, folder=folder
    )


def table_of(data: Any) -> tuple[pa.Table, str]:
    """A frame as an Arrow table, and the name of its library. Raises BadInput for anything else."""
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise BadInput(
            f"a {type(data).__name__} is not a frame; give a pandas, polars or pyarrow frame, or a path"
        ) from None
    backend = frame.implementation.name.lower()
    return frame.to_arrow(), backend if backend in _BACKENDS else default_backend()


def frame_of(columns: Mapping[str, Sequence[Any]], backend: str) -> Any:
    """A native frame."""
    library: Any = backend   # one of _BACKENDS
    return nw.from_dict(dict(columns), backend=library).to_native()


def default_backend() -> str:
    """The library of frames where nobody gave one."""
    return next(name for name in _BACKENDS if find_spec(name) is not None)


def _written(table: pa.Table, keep: bool) -> tuple[str, tempfile.TemporaryDirectory[str] | None]:
    """The frame's file, named by its content, and its folder if that goes with this process."""
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(None), buffer)
    blob = buffer.getvalue()
    name = f"{hashlib.sha256(blob).hexdigest()[:16]}.parquet"
    folder = None if keep else tempfile.TemporaryDirectory(prefix="assay-")
    path = Path(KEPT if folder is None else folder.name) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        part = path.with_suffix(".part")
        part.write_bytes(blob)
        part.replace(path)
    return str(path), folder
