"""Frames and columns in and out: whatever narwhals takes (pandas, polars, pyarrow), or the path of a file.

A frame becomes a Parquet file, because a pool is a file. Its items are named by its own index where it has
one (pandas), else by the number of the row; what is given back has the type that it came with. Frames that
are given back are of the kind that was given; without one, pandas, polars or pyarrow, the first that is
installed.

Columns that are given themselves, as arrays or Series, alone or beside a frame, become columns of a frame,
and their arguments the names of these: evaluate(prediction=y_pred, oracle=y).
"""

import hashlib
import io
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, SupportsFloat, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.evalcore.errors import BadInput, did_you_mean
from assay.tasks.sources.files.file import ROW_NUMBER
from assay.tasks.sources.reader import column_names, open_source
from assay.tasks.sources.values import as_text, of_python

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd

ROW = "item_id"       # the column of ids: looked for, and made where there is none
KEPT = "assay-pools"  # the folder of the frames of durable evaluations
_BACKENDS = ("pandas", "polars", "pyarrow")


@runtime_checkable
class ColumnValues(Protocol):
    """The values of a column, whatever holds them: an array, a Series of any library, or a list."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[object]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class FrameSource:
    """Predictions as a file that an evaluation can read: its path and column of ids, and where they came as
    a frame, the frame's columns, ids and index, so that answers go back in the frame's own types."""

    path: str
    id: str                                 # the column that names an item
    backend: str                            # of frames that are given back
    columns: tuple[str, ...] = ()           # of a frame; () for a file, which is read by the evaluation
    table: pa.Table | None = None           # what a frame held
    ids: Sequence[Hashable] = ()            # of a frame's rows, in order, in their own type
    index: "pd.Index | None" = None         # of a pandas frame, or of one in Arrow
    numbered: bool = False                  # items are named by the numbers of their rows
    folder: "TemporaryFolder | None" = field(default=None, repr=False)   # gone with this value

    def row(self, item_id: str) -> dict[str, object]:
        """The row of a frame with this id; an empty dictionary for a file."""
        if self.table is None or item_id not in self.places:      # gold need not be of the pool
            return {}
        place = self.places[item_id]
        row = {name: self.table.column(name)[place].as_py() for name in self.columns}
        return row if ROW in row else {**row, ROW: self.ids[place]}

    def own_id(self, item_id: str) -> Hashable:
        """The id of an item in its own type, as the frame or the file has it, from the text that the ledger
        has. A text that is in no row of the frame is returned unchanged."""
        if self.table is None:
            return self._of_file(item_id)
        place = self.places.get(item_id)
        return item_id if place is None else self.ids[place]

    def text_of(self, item_id: object) -> str:
        """The id of an item as the ledger has it, a text, from an id in the frame's own type; 337 and 337.0
        are the same. An id that is in no row becomes its plain text."""
        try:
            place = self._own.get(item_id)       # 337, 337.0 and numpy's 337 are one key
        except TypeError:
            place = None
        return str(item_id) if place is None else self._texts[place]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The number of the row, from 0, for each id as the ledger has it. It is empty for a file."""
        return {text: place for place, text in enumerate(self._texts)}

    @cached_property
    def _texts(self) -> list[str]:
        if self.table is None:
            return []
        texts = as_text(self.table.column(self.id).combine_chunks())
        return ["" if text is None else text for text in texts.to_pylist()]

    @cached_property
    def _own(self) -> dict[Hashable, int]:
        return {key: place for place, key in enumerate(self.ids)}

    @cached_property
    def _of_file(self) -> Callable[[str], Hashable]:
        return ids_of_file(self.path, self.id)


def as_source(data: object, id: str | None, *, keep: bool) -> FrameSource:
    """Predictions as a file.

    data   a frame, rows, or the path or address of Parquet, Arrow, CSV or JSONL
    id     its column of ids; `item_id` if there is one, else a frame's index, or the numbers of its rows;
           those of a file begin with 1
    keep   whether the file of a frame outlives this process (in ./assay-pools)

    Raises BadInput for what is neither frame nor path, for a column that is not there, and for an index that
    cannot name items.
    """
    id = None if id is None else str(id)        # a number may name it
    if isinstance(data, str | Path):
        id_column = id or _id_of_file(str(data))
        return FrameSource(
            path=str(data), id=id_column, backend=default_backend(), numbered=id_column == ROW_NUMBER,
            index=_index_of_file(str(data)) if id_column == ROW_NUMBER else None,
        )
    table, backend = table_of(data)
    columns, index = tuple(table.column_names), index_of(data)
    if id is not None and id not in columns:
        raise no_column("id: the frame", id, columns)
    if id is None and ROW not in columns and index is None and PANDAS_INDEX in columns:
        id = PANDAS_INDEX          # of a frame that went through Arrow on its way
    if id is not None or ROW in columns:
        ids = table.column(id or ROW).to_pylist()
    else:
        ids, id_column = _named_rows(index, len(table))
        table = table.append_column(ROW, id_column)
    path, folder = _written(table, keep)
    return FrameSource(
        path=path, id=id or ROW, columns=columns, backend=backend, table=table, ids=ids, index=index,
        folder=folder, numbered=id is None and ROW not in columns and index is None,
    )


def unnamed_rows(data: object) -> FrameSource:
    """Rows whose items nobody has to name: a file of them, or a frame as a table. Raises BadInput."""
    if isinstance(data, str | Path):
        return as_source(data, ROW_NUMBER, keep=False)
    table, backend = table_of(data)
    return FrameSource(path="", id=ROW, columns=tuple(table.column_names), backend=backend, table=table)


def table_of(data: object) -> tuple[pa.Table, str]:
    """A frame as an Arrow table, and the name of its library. Raises BadInput for anything else.

    The levels of an index that have names are columns too.
    """
    import narwhals as nw

    try:
        frame = as_frame(data)
    except TypeError:
        raise _no_frame(data) from None
    backend = frame.implementation.name.lower()
    index: pd.Index | None = nw.maybe_get_index(frame)
    try:
        table = (frame if index is None else nw.maybe_reset_index(frame)).to_arrow()
        levels = {} if index is None else {
            name: index.get_level_values(name) for name in index.names if isinstance(name, str)}
        for name, level in levels.items():
            if name not in table.column_names:
                table = table.append_column(name, pa.array(level))
    except (pa.ArrowException, TypeError) as error:
        native = frame.to_native()
        mixed = [] if index is None else [
            name for name in native.columns if native[name].dtype == object and _are_mixed(native[name])]
        if mixed:
            texts = {name: of_python(_plain(native[name])).to_pandas().to_numpy() for name in mixed}
            return table_of(native.assign(**texts))
        raise BadInput(
            f"the frame cannot be read: {'; '.join(map(str, error.args))}; write each column with one type"
        ) from None
    _refuse_twice(table.column_names)
    for at, (name, type_of_column) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        if backend == "polars" and frame[name].dtype == nw.Object:
            raise BadInput(f"the frame's column {name!r} holds Python objects; write it with one type")
        table = table.set_column(at, name, _without_runs(table.column(name), type_of_column))
    return table, backend if backend in _BACKENDS else default_backend()


def _without_runs(column: pa.ChunkedArray, type_of_column: pa.DataType) -> pa.ChunkedArray:
    """The column as a file can hold it: runs written out, and a dictionary that names the missing value
    replaced by its values."""
    if pa.types.is_run_end_encoded(type_of_column):
        decoded = [pc.run_end_decode(chunk) for chunk in column.chunks]
        return pa.chunked_array(decoded, type_of_column.value_type)
    if pa.types.is_dictionary(type_of_column) and any(c.dictionary.null_count for c in column.chunks):
        return column.cast(type_of_column.value_type)
    return column


def _refuse_twice(columns: Sequence[str]) -> None:
    """Raises BadInput where two columns have one name."""
    twice = next((name for name, count in Counter(columns).items() if count > 1), None)
    if twice is not None:
        raise BadInput(f"the frame has two columns that are called {twice!r}; rename or drop one")


def _no_frame(data: object) -> BadInput:
    return BadInput(
        f"a {type(data).__name__} is not a frame; give a pandas, polars or pyarrow frame, a list of rows, a "
        "path, or the columns themselves: prediction=..., score=..."
    )


def _plain(values: Iterable[object]) -> list[object]:
    """Values of Python, whatever library they come from; missing ones are None."""
    return [None if is_missing(value) else getattr(value, "item", lambda value=value: value)()
            for value in values]


def _are_mixed(values: Iterable[object]) -> bool:
    """Whether texts, numbers, true and false stand beside each other, and nothing else."""
    kinds = {type(value) for value in _plain(values) if value is not None}
    return len(kinds) > 1 and kinds <= {str, bool, int, float}


def no_column(holder: str, column: str, columns: Sequence[str]) -> BadInput:
    """What is raised where `holder`, such as `id: the frame`, lacks a column that was named."""
    hint = did_you_mean(column, columns)
    return BadInput(f"{holder} has no column {column!r}; {hint}it has {', '.join(columns)}")


def as_frame(data: Any) -> "nw.DataFrame[Any]":
    """A native frame as narwhals has it: eager, or lazy, which is collected; or the rows themselves, a
    mapping from column to value each, as `json.load` gives them.

    Raises TypeError for anything else, and BadInput for a frame in which two columns have one name.
    """
    import narwhals as nw  # a tenth of what `import assay; assay.evaluate` took

    if isinstance(data, list | tuple) and data and all(isinstance(row, Mapping) for row in data):
        return nw.from_native(_table_of_rows(data), eager_only=True)
    names: Any = getattr(data, "columns", None) if type(data).__module__.startswith("pandas") else None
    if getattr(names, "ndim", 0) == 1:
        _refuse_twice(list(map(str, names)))
        if not all(isinstance(name, str) for name in names):
            data = data.set_axis(list(map(str, names)), axis="columns")
    frame = nw.from_native(data)
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _table_of_rows(rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """The rows as a table; a column that a row lacks is missing there.

    Raises BadInput for a column whose values have several types.
    """
    columns = dict.fromkeys(str(name) for row in rows for name in row)
    arrays = []
    for name in columns:
        values = [row.get(name) for row in rows]
        try:
            arrays.append(pa.array(values))
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            if _are_mixed(values):
                arrays.append(of_python(_plain(values)))
                continue
            raise BadInput(
                f"the rows cannot be read: column {name!r}: {error}; write its values with one type"
            ) from None
    return pa.table(dict(zip(columns, arrays, strict=True)))


def frame_of(columns: Mapping[str, Sequence[object]], backend: str) -> Any:
    """A native data frame of the library that `backend` names (pandas, polars or pyarrow), with these
    columns in this order."""
    import narwhals as nw

    library: Any = backend   # one of _BACKENDS
    return nw.from_dict(dict(columns), backend=library).to_native()


def default_backend() -> str:
    """The name of the library that makes frames where no frame came in: the first that is installed of
    pandas, polars and pyarrow."""
    return next(name for name in _BACKENDS if find_spec(name) is not None)


def ids_of_file(path: str, column: str) -> Callable[[str], Hashable]:
    """What gives the ids of a pool their own type: whole numbers of a local Parquet file, else text."""
    if column == ROW_NUMBER:
        return int
    try:
        if path.endswith(".parquet") and pa.types.is_integer(pq.read_schema(path).field(column).type):
            return int
    except (OSError, KeyError, pa.ArrowInvalid):
        pass
    return str


PANDAS_INDEX = "__index_level_0__"      # what an index without a name is called outside of pandas


def index_of(data: object) -> "pd.Index | None":
    """The index of a pandas frame, and of one that went into Arrow with its index; None for any other."""
    import narwhals as nw

    if not isinstance(data, pa.Table):
        index: pd.Index | None = nw.maybe_get_index(as_frame(data))
        return index
    names, numbers = _index_columns(data.schema)
    columns = [name for name in names if name in data.column_names]
    if not find_spec("pandas") or not (columns or (numbers and _still_holds(numbers[0], len(data)))):
        return None
    rows: pd.DataFrame = data.select(columns).to_pandas()
    return rows.index


def _index_of_file(path: str) -> "pd.Index | None":
    """The row numbers that pandas wrote into a local Parquet file, where they are not 0 to n - 1 in order, as
    of a sorted or a filtered frame; else None."""
    if not path.endswith(".parquet") or not Path(path).is_file() or not find_spec("pandas"):
        return None
    import pandas as pd

    try:
        file = pq.read_metadata(path)
    except (OSError, pa.ArrowInvalid):
        return None         # whoever reads the rows says what is wrong
    numbers = _index_columns(file.schema.to_arrow_schema())[1]
    if not numbers or not _still_holds(numbers[0], file.num_rows):
        return None
    index = pd.RangeIndex(numbers[0]["start"], numbers[0]["stop"], numbers[0]["step"])
    return None if (index.start, index.step) == (0, 1) else index


def _index_columns(schema: pa.Schema) -> tuple[list[str], list[Mapping[str, int]]]:
    """What pandas says of its index: (columns that hold it, numbers of rows from start to stop)."""
    columns = (schema.pandas_metadata or {}).get("index_columns") or []
    return (
        [column for column in columns if isinstance(column, str)],
        [column for column in columns if isinstance(column, dict) and column.get("kind") == "range"],
    )


def _still_holds(index: Mapping[str, int], rows: int) -> bool:
    """Whether row numbers that pandas wrote beside a table are those of so many rows."""
    return len(range(index["start"], index["stop"], index["step"])) == rows


def _id_of_file(path: str) -> str:
    """The column that names the rows of a file: `item_id`, an index that pandas wrote, else their numbers.

    Raises BadInput for several files without such a column.
    """
    source = open_source(path)
    columns = column_names(source)
    column = next((name for name in (ROW, PANDAS_INDEX) if name in columns), None)
    if column is None and len(source.files) > 1:
        raise BadInput(
            f"id: {path} means several files without a column {ROW!r}, and row numbers are those of one "
            f"file; name the column that names each item, out of {', '.join(columns)}"
        )
    return column or ROW_NUMBER


def _named_rows(index: "pd.Index | None", rows: int) -> tuple[Sequence[Hashable], pa.Array]:
    """The ids of rows that no column names, in their own type and as a column. Raises BadInput."""
    if index is None:
        return range(rows), pa.array(range(rows), pa.int64())
    remedy = "name a column with id=..., or number the rows: frame.reset_index(drop=True)"
    ids = index.tolist()
    if not index.is_unique:
        twice = index[index.duplicated()].tolist()[0]
        raise BadInput(f"the frame's index has {twice!r} more than once, so it cannot name items; {remedy}")
    if any(row_id is None or row_id != row_id for row_id in ids):
        raise BadInput(f"the frame's index has missing values, so it cannot name items; {remedy}")
    if all(type(row_id) is int and abs(row_id) < 2**63 for row_id in ids):
        return ids, pa.array(ids, pa.int64())
    texts = list(map(str, ids))
    if len(set(texts)) < len(texts):
        raise BadInput(f"the frame's index has different values that are written alike; {remedy}")
    return ids, pa.array(texts, pa.string())


class TemporaryFolder:
    """A folder that goes when nobody holds it any more, without a warning: nobody has to close a result."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="assay-")
        self._gone = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def _written(table: pa.Table, keep: bool) -> tuple[str, TemporaryFolder | None]:
    """The frame's file, named by its content, and its folder if that goes with this process."""
    buffer = io.BytesIO()
    try:
        pq.write_table(table.replace_schema_metadata(None), buffer)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise BadInput(f"the frame cannot be kept: {error}; drop that column, or write it as text") from None
    blob = buffer.getvalue()
    name = f"{hashlib.sha256(blob).hexdigest()[:16]}.parquet"
    folder = None if keep else TemporaryFolder()
    path = Path(KEPT if folder is None else folder.name) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        part = path.with_suffix(".part")
        part.write_bytes(blob)
        part.replace(path)
    return str(path), folder


# a list there is one of columns
_LISTS = ("judge", "earlier", "covariates", "show", "segments", "contenders", "features")


def with_columns(data: object, arguments: Mapping[str, object]) -> tuple[Any, dict[str, Any]]:
    """A frame that has the columns that were given themselves, and the arguments with their names.

    data        a frame, a path, or None where all columns are given
    arguments   argument -> a column's name; or its values: an array, a Series, a list; or a list (judge,
                earlier, show, segments) or mapping (probability, systems) of these

    Raises BadInput naming the argument whose values do not fit.
    """
    columns = _Columns(data)
    names = {argument: columns.named(argument, value) for argument, value in arguments.items()}
    if data is None and not columns.values:
        raise BadInput("data: give a frame, a path, or the columns themselves: prediction=..., score=...")
    return columns.frame(), names


class _Columns:
    def __init__(self, data: Any) -> None:
        self._data, self._taken = data, _columns_of(data)
        if data is not None and not self._taken and not isinstance(data, str | Path):
            raise _no_frame(data)
        if hasattr(data, "collect"):        # a lazy one
            self._data = as_frame(data).to_native()
        self._index: pd.Index | None = None
        self.values: dict[str, tuple[str, Any]] = {}     # column -> the argument, and what it holds

    def named(self, argument: str, value: object) -> object:
        """The argument with names for what it holds."""
        if isinstance(value, Mapping) and argument in _LISTS:
            raise BadInput(f"{argument}: is a mapping, {dict(value)!r}; name a column, or several in a list")
        if isinstance(value, Mapping):
            return {key: self._named_in(argument, str(key), part) for key, part in value.items()}
        if argument in _LISTS and isinstance(value, list | tuple):
            strange = [part for part in value if part is None or isinstance(part, Mapping)]
            if strange:
                raise BadInput(f"{argument}: {strange[0]!r} among them is no column; name columns, or give "
                               "their values")
            return [self._one(argument, f"{argument}_{at}", part) for at, part in enumerate(value, 1)]
        return self._one(argument, argument, value)

    def _named_in(self, argument: str, key: str, value: object) -> object:
        """Of a mapping: a class's probability, a system's predictions, or its columns."""
        if isinstance(value, Mapping):
            return {
                role: part if role == "price" else self._one(f"{argument}[{key!r}]", f"{key}_{role}", part)
                for role, part in value.items()
            }
        return self._one(f"{argument}[{key!r}]", key if argument == "systems" else f"{argument}_{key}", value)

    def _one(self, argument: str, column: str, value: object) -> object:
        if callable(value):
            raise BadInput(f"{argument}: is a function, and a column is taken here; give the name of a "
                           "column with what it says of every row, or the values. Functions are called by "
                           "evaluate: oracle=..., judge=...")
        if isinstance(value, str | bytes) or not isinstance(value, ColumnValues):
            return str(value) if type(value) is int else value      # a column that a number names
        if dimensions(value) != 1:
            raise BadInput(
                f"{argument}: has {dimensions(value)} dimensions; give one column, or {{class: column}}"
            )
        while column in self._taken:
            column += "_given"
        self._taken.append(column)
        self.values[column] = argument, value
        return column

    def frame(self) -> object:
        """The frame with the columns, or one of them alone."""
        if not self.values:
            return self._data
        if isinstance(self._data, str | Path):
            argument, _ = next(iter(self.values.values()))
            raise BadInput(f"{argument}: holds values, and columns of a file are named; give a name")
        rows = {len(value) for _, value in self.values.values()}
        if self._data is not None:
            rows.add(len(self._data))
        if len(rows) > 1:
            lengths = [f"{argument} has {len(value):,}" for argument, value in self.values.values()]
            lengths += [] if self._data is None else [f"the frame has {len(self._data):,} rows"]
            raise BadInput(f"{', '.join(lengths)}; give as many values each")
        aligned = self._aligned()
        library = "" if self._data is None else type(self._data).__module__.partition(".")[0]
        if self._index is None or library not in ("", "pandas"):
            return self._of_any(aligned)
        import pandas as pd

        columns = {
            name: pd.Series(list(value) if isinstance(value, list | tuple) else value, index=self._index)
            for name, value in aligned.items()
        }
        made = pd.DataFrame(columns, index=self._index)
        return made if self._data is None else self._data.assign(**columns)

    def _aligned(self) -> dict[str, ColumnValues]:
        """The values in the order of the rows: those of a Series go by its index, where the rows have one.

        Raises BadInput for a Series whose index is another one, or has an order of its own where rows have
        none.
        """
        index = None if self._data is None else index_of(self._data)
        ordered = self._data is not None and index is None
        columns: dict[str, ColumnValues] = {}
        for column, (argument, value) in self.values.items():
            own_index = index_of_series(value)
            if own_index is not None and ordered:
                refuse_own_order(argument, own_index)
            index = own_index if index is None and not ordered else index
            if own_index is not None and index is not None and not own_index.equals(index):
                if len(own_index.difference(index)) or not own_index.is_unique:
                    raise BadInput(
                        f"{argument}: the Series has another index than the other columns; give "
                        "series.to_numpy() if its order is theirs"
                    )
                value = value.reindex(index)
            columns[column] = value.to_numpy() if own_index is not None else value
        self._index = index
        return columns

    def _of_any(self, aligned: Mapping[str, ColumnValues]) -> object:
        plain = {column: values_of(value) for column, value in aligned.items()}
        if isinstance(self._data, pa.Table):
            table = self._data
            for name, value in plain.items():
                table = table.append_column(name, pa.array(value))
            return table
        if self._data is not None:
            import narwhals as nw

            frame = as_frame(self._data)
            library: Any = frame.implementation
            series = [nw.new_series(name, value, backend=library) for name, value in plain.items()]
            return frame.with_columns(series).to_native()
        libraries = (type(value).__module__.partition(".")[0] for _, value in self.values.values())
        return frame_of(plain, "polars" if "polars" in libraries else default_backend())


def refuse_own_order(argument: str, index: "pd.Index") -> None:
    """Raises BadInput for a Series whose index is not 0, 1, 2 and so on, beside rows that have no index."""
    if index.tolist() != list(range(len(index))):
        raise BadInput(
            f"{argument}: the Series has an index of its own, and the rows have none that it could be "
            "matched with; give series.to_numpy() if its order is theirs, or name the rows with id=..."
        )


def _columns_of(data: object) -> list[str]:
    try:
        return list(map(str, as_frame(data).columns))
    except TypeError:
        return []      # a path, or nothing; what is no frame is refused later


def index_of_series(value: Any) -> "pd.Index | None":
    """The index of a pandas Series; None for anything else, which has none."""
    import narwhals as nw

    try:
        return nw.maybe_get_index(nw.from_native(value, series_only=True))
    except TypeError:
        return None


def is_missing(value: object) -> bool:
    """Whether a value stands for none: None, NaN, and what pandas writes for them."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, SupportsFloat) and bool(value != value)


def dimensions(values: ColumnValues) -> int:
    """How many axes an array, a Series or a list has: one, unless it says otherwise."""
    return int(getattr(values, "ndim", 1))


def values_of(value: ColumnValues) -> list[object]:
    """The values as a plain list of Python values, whatever held them: a Series, an Arrow array, a NumPy
    array, or any iterable."""
    for method in ("to_list", "to_pylist", "tolist"):
        to_list = getattr(value, method, None)
        if to_list is not None:
            return list(to_list())
    return list(value)
