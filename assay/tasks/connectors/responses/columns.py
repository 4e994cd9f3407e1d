"""The columns of a pool: their names, types and segments, the ids of items, and the spec to start from."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa

from assay.evalcore.json_values import Json, JsonObject
from assay.tasks.connectors.records import Plain, name_again
from assay.tasks.connectors.responses.gathering import FEW, GatheredResponses, LoggedResponse
from assay.tasks.sources.files.file import trial_name
from assay.tasks.spec.goals import target_within
from assay.tasks.spec.strict_yaml import written_yaml

ID = "item_id"
_ITEMS_PER_VALUE = 5      # that a segment needs, on average


def judge_names(kind: str, names: Collection[str]) -> dict[str, str]:
    """`judge`, where there is one of them; `judge_` and its name, where there are several."""
    if len(names) == 1:
        return {next(iter(names)): kind}
    return unlike({name: f"{kind}_{plain_name(name)}" for name in names})


def plain_name(name: str) -> str:
    """The name in lower case, made of letters, digits and underscores alone, `unnamed` where nothing is
    left: fit to name a column."""
    return re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_") or "unnamed"


def unlike(columns: Mapping[str, str], taken: Collection[str] = ()) -> dict[str, str]:
    """The same names with their columns, where a column that is taken already, in whichever case, gets the
    first free number from 2 on behind it."""
    used = {name.lower() for name in taken}
    result = {}
    for name, column in columns.items():
        unused, number = column, 2
        while unused.lower() in used:
            unused, number = f"{column}_{number}", number + 1
        used.add(unused.lower())
        result[name] = unused
    return result


def type_of(values: Sequence[Plain]) -> pa.DataType:
    """The type of a column with these values: boolean, 64-bit integer or 64-bit float where all values are
    such, integers among floats being floats; text otherwise, also where all are missing."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()


def fitting(value: Plain, type: pa.DataType) -> Plain:
    """The value in the form that a column of this type takes; None for a missing one, for a float that is
    not finite, and for one that an integer column cannot hold."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if pa.types.is_string(type):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if pa.types.is_boolean(type):
        return value
    if pa.types.is_integer(type):
        return value if isinstance(value, int) and abs(value) < 2**63 else None
    return float(value)


def divides(values: Sequence[Plain]) -> bool:
    """Whether a column splits the pool into a few segments of some size: it has at least 2 and at most FEW
    different values, many rows for each, and no fractions."""
    different = set(values) - {None}
    few = 2 <= len(different) <= FEW and len(values) > _ITEMS_PER_VALUE * len(different)
    return few and not any(isinstance(v, float) and not v.is_integer() for v in different)


def batches(
    rows: Iterator[Mapping[str, Plain]], schema: pa.Schema, size: int = 2_000
) -> Iterator[pa.RecordBatch]:
    """Rows as record batches; a key that a row lacks is missing."""
    while waiting := list(islice(rows, size)):
        yield pa.RecordBatch.from_arrays([
            pa.array([fitting(row.get(field.name), field.type) for row in waiting], field.type)
            for field in schema], schema=schema)


_LONGEST_ID = 900       # characters; a pool takes 1,000


class Ids:
    """Ids of items, as short as they can be while each is unique and says what it is of: q17 of a log with
    one task and one system, arithmetic/q17/gpt/2 where there are several tasks, systems and repeats."""

    def __init__(self, gathering: GatheredResponses, *, by_system: bool) -> None:
        """by_system: whether a row is of one system."""
        self._task = len(gathering.tasks) > 1
        self._system = by_system and len(gathering.systems) > 1
        self._repeat = gathering.several_repeats
        self._run = by_system and gathering.several_runs
        self._times: Counter[str] = Counter()

    def next_id(self, item: LoggedResponse) -> str:
        """An id for the next item that no item had before: the parts by which items differ, joined by
        slashes, with a number behind where they come again."""
        record = item.record
        parts = (
            record.task if self._task else "", record.question_id, record.system if self._system else "",
            str(item.repeat) if self._repeat else "", str(record.run or "") if self._run else "",
        )
        name = "/".join(part for part in parts if part)[:_LONGEST_ID] or "item"
        return name_again(name, self._times)


_LABELS = 500
_BATCH = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What people are asked about responses, and which columns guess it: the part of a spec that depends on
    the responses."""

    pool: JsonObject                # but its source and its id
    labels: JsonObject
    measures: list[Json]
    half_width: float
    label: str | None = None        # a column of labels that people gave to every item
    comments: tuple[str, ...] = ()

    def with_less(self, *keys: str) -> "list[Draft]":
        """This draft, then without the first of these keys of the pool, without the first two, and so on."""
        lesser = [self.without(*keys[:most], because=f"Left out: {', '.join(keys[:most])}.")
                  for most in range(1, len(keys) + 1)]
        return [self, *lesser]

    def without(self, *keys: str, because: str) -> "Draft":
        """The same without some keys of the pool, and why, as a comment."""
        pool = {key: value for key, value in self.pool.items() if key not in keys}
        return replace(self, pool=pool, comments=(*self.comments, because))

    def spec_text(self, source: str, rows: int) -> str:
        """A whole spec as YAML, with comments, that loads as it stands. The desk is a folder, or simulated
        where people labelled every item; the budget is at most the number of rows."""
        labelled = self.label is not None
        desk: JsonObject = {"kind": "simulated", "labels": source, "label": self.label} if labelled else {
            "kind": "folder", "path": "./labelling"}
        budget = max(min(_LABELS, rows), 1)
        spec: JsonObject = {
            "name": trial_name(source),
            "pool": {"source": source, "id": ID, **self.pool},
            "labels": self.labels,
            "measure": self.measures,
            "target": target_within(self.half_width, budget, _BATCH),
            "budget": {"labels": budget},
            "batch_size": _BATCH,
            "method": "auto",
            "desk": desk,
            "store": "./assay-ledger",
            "seed": 7,
        }
        comments = ["Written by `assay import`: check the columns, and what people are asked.",
                    *self.comments]
        if labelled:
            comments.append("Every item has a label by people, so the desk is simulated: a trial that asks "
                            "nobody.")
        head = "".join(f"# {line}\n" for line in comments)
        return head + written_yaml(spec)
