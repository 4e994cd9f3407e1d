"""Columns that are given themselves, as arrays or Series, alone or beside a frame.

They become columns of a frame, and their arguments the names of these: evaluate(prediction=y_pred, oracle=y).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw

from assay.evalcore.errors import BadInput
from assay.face.frames import default_backend, frame_of, index_of

_LISTS = ("judge", "show", "segments")    # a list there is one of columns


def with_columns(data: Any, asked: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A frame that has the columns that were given themselves, and the arguments with their names.

    data    a frame, a path, or None where all columns are given
    asked   argument -> a column's name; or its values: an array, a Series, a list; or a list (judge, show,
            segments) or mapping (probability, systems) of these

    Raises BadInput naming the argument whose values do not fit.
    """
    columns = _Columns(data)
    named = {argument: columns.named(argument, value) for argument, value in asked.items()}
    if data is None and not columns.values:
        raise BadInput("data: give a frame, a path, or the columns themselves: prediction=..., score=...")
    return columns.frame(), named


class _Columns:
    def __init__(self, data: Any) -> None:
        self._data = data
        self._taken = _columns_of(data)
        self.values: dict[str, tuple[str, Any]] = {}     # column -> the argument, and what it holds

    def named(self, argument: str, value: Any) -> Any:
        """The argument with names for what it holds."""
        if isinstance(value, Mapping):
            return {key: self._named_in(argument, str(key), one) for key, one in value.items()}
        if argument in _LISTS and isinstance(value, list | tuple):
            return [self._one(argument, f"{argument}_{at}", one) for at, one in enumerate(value, 1)]
        return self._one(argument, argument, value)

    def _named_in(self, argument: str, key: str, value: Any) -> Any:
        """Of a mapping: a class's probability, a system's predictions, or its columns."""
        if isinstance(value, Mapping):
            return {
                role: self._one(f"{argument}[{key!r}]", f"{key}_{role}", one) for role, one in value.items()
            }
        return self._one(f"{argument}[{key!r}]", key if argument == "systems" else f"{argument}_{key}", value)

    def _one(self, argument: str, column: str, value: Any) -> Any:
        if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
            return value
        if getattr(value, "ndim", 1) != 1:
            raise BadInput(
                f"{argument}: has {value.ndim} dimensions; give one column, or {{class: column}}"
            )
        while column in self._taken:
            column += "_given"
        self._taken.append(column)
        self.values[column] = argument, value
        return column

    def frame(self) -> Any:
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
            told = [f"{argument} has {len(value):,}" for argument, value in self.values.values()]
            told += [] if self._data is None else [f"the frame has {len(self._data):,} rows"]
            raise BadInput(f"{', '.join(told)}; give as many values each")
        made = self._of_pandas()
        return self._of_any() if made is None else made

    def _of_pandas(self) -> Any:
        """A pandas frame, where there is an index to go by; None where there is none."""
        index = None if self._data is None else index_of(self._data)
        found: dict[str, Any] = {}
        for column, (argument, value) in self.values.items():
            own = index_of_series(value)
            index = own if index is None else index
            if own is not None and not own.equals(index):
                if len(own.difference(index)) or not own.is_unique:
                    raise BadInput(
                        f"{argument}: the Series has another index than the other columns; give "
                        "series.to_numpy() if its order is theirs"
                    )
                value = value.reindex(index)
            found[column] = value.to_numpy() if own is not None else value
        if index is None:
            return None
        import pandas as pd

        columns = {
            name: pd.Series(list(value) if isinstance(value, list | tuple) else value, index=index)
            for name, value in found.items()
        }
        made = pd.DataFrame(columns, index=index)
        return made if self._data is None else self._data.assign(**columns)

    def _of_any(self) -> Any:
        plain = {column: values_of(value) for column, (_, value) in self.values.items()}
        if self._data is not None:
            frame = nw.from_native(self._data, eager_only=True)
            library: Any = frame.implementation
            more = [nw.new_series(name, value, backend=library) for name, value in plain.items()]
            return frame.with_columns(more).to_native()
        libraries = (type(value).__module__.partition(".")[0] for _, value in self.values.values())
        return frame_of(plain, "polars" if "polars" in libraries else default_backend())


def _columns_of(data: Any) -> list[str]:
    try:
        return list(nw.from_native(data, eager_only=True).columns)
    except TypeError:
        return []      # a path, or nothing; what is no frame is refused later


def index_of_series(value: Any) -> Any:
    """The index of a pandas Series; None for anything else."""
    try:
        return nw.maybe_get_index(nw.from_native(value, series_only=True))
    except TypeError:
        return None


def values_of(value: Any) -> list[Any]:
    """Plain values, whatever held them."""
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(value, method):
            return list(getattr(value, method)())
    return list(value)
