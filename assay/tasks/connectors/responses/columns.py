"""The columns of a pool: their names, types and segments, the ids of items, and the spec to start from."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import yaml

from assay.evalcore.types import Json, JsonObject
from assay.tasks.connectors.records import Plain, SystemResponse
from assay.tasks.connectors.responses.survey import FEW, Seen, Survey
from assay.tasks.sources.files.file import trial_name
from assay.tasks.spec.goals import target_within

ID = "item_id"
_ITEMS_PER_VALUE = 5      # that a segment needs, on average


def judge_names(kind: str, names: Collection[str]) -> dict[str, str]:
    """`judge`, where there is one of them; `judge_` and its name, where there are several."""
    if len(names) == 1:
        return {next(iter(names)): kind}
    return unlike({name: f"{kind}_{plain_name(name)}" for name in names})


def plain_name(name: str) -> str:
    """A name of letters, digits and underscores, in lower case."""
    return re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_") or "unnamed"


def unlike(columns: Mapping[str, str], taken: Collection[str] = ()) -> dict[str, str]:
    """The same, with a number after names that are taken."""
    given = {name.lower() for name in taken}
    result = {}
    for name, column in columns.items():
        made, number = column, 2
        while made.lower() in given:
            made, number = f"{column}_{number}", number + 1
        given.add(made.lower())
        result[name] = made
    return result


def type_of(seen: Seen) -> pa.DataType:
    """Of the values of a column."""
    if seen.kinds == {bool}:
        return pa.bool_()
    if seen.kinds == {int}:
        return pa.int64()
    return pa.float64() if seen.kinds and seen.kinds <= {int, float} else pa.string()


def fitting(value: Plain, type: pa.DataType) -> Plain:
    """A value as a column of this type takes it."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if pa.types.is_string(type):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if pa.types.is_boolean(type):
        return value if isinstance(value, bool) else None
    if pa.types.is_integer(type):
        return value if isinstance(value, int) and abs(value) < 2**63 else None
    return float(value)


def divides(seen: Seen, rows: int) -> bool:
    """Whether a column splits the pool into a few segments."""
    few = 2 <= len(seen.values) <= FEW and not seen.more
    return few and rows > _ITEMS_PER_VALUE * len(seen.values) and not any(
        isinstance(value, float) and not value.is_integer() for value in seen.values
    )


def batches(
    rows: Iterator[Mapping[str, Plain]], schema: pa.Schema, size: int = 2_000
) -> Iterator[pa.RecordBatch]:
    """Rows as record batches; a key that a row lacks is missing."""
    held: list[Mapping[str, Plain]] = []
    for row in rows:
        held.append(row)
        if len(held) == size:
            yield _batch(held, schema)
            held = []
    if held:
        yield _batch(held, schema)


def _batch(rows: Sequence[Mapping[str, Plain]], schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        pa.array([fitting(row.get(field.name), field.type) for row in rows], field.type) for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


# Ids of items: as short as they can be while each is unique and says what it is of.
#
# q17        of a log with one task and one system
# arithmetic/q17/gpt/2      where there are several tasks, systems and repeats

_LONGEST = 900       # characters; a pool takes 1,000


class Ids:
    """Gives ids, in the order of the responses."""

    def __init__(self, survey: Survey, *, by_system: bool) -> None:
        """by_system: whether a row is of one system."""
        self._task = len(survey.tasks) > 1
        self._system = by_system and len(survey.systems) > 1
        self._repeat = survey.repeats > 1
        self._run = by_system and survey.twice and len(survey.runs) > len(
            {(task, system) for task, system, _ in survey.runs}
        )
        self._given: Counter[str] = Counter()

    def of(self, response: SystemResponse) -> str:
        """An id that was not given before."""
        parts = (
            response.task if self._task else "", response.question_id,
            response.system if self._system else "", str(response.repeat) if self._repeat else "",
            response.run if self._run else "",
        )
        made = "/".join(part for part in parts if part)[:_LONGEST]
        self._given[made] += 1
        return made if self._given[made] == 1 else f"{made} ({self._given[made]})"


# The spec to start from: what people are asked about responses, and which columns guess it.

_LABELS = 500
_BATCH = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What depends on the responses."""

    pool: JsonObject                # but its source and its id
    labels: JsonObject
    measures: list[Json]
    half_width: float
    label: str | None = None        # a column of labels that people gave to every item
    says: tuple[str, ...] = ()      # a comment each


def spec_text(draft: Draft, source: str, rows: int) -> str:
    """YAML that loads as it stands."""
    known = draft.label is not None
    desk: JsonObject = {"kind": "simulated", "labels": source, "label": draft.label} if known else {
        "kind": "folder", "path": "./labelling"}
    budget = max(min(_LABELS, rows), 1)
    spec: JsonObject = {
        "name": trial_name(source),
        "pool": {"source": source, "id": ID, **draft.pool},
        "labels": draft.labels,
        "measure": draft.measures,
        "target": target_within(draft.half_width, budget, _BATCH),
        "budget": {"labels": budget},
        "batch_size": _BATCH,
        "method": "auto",
        "desk": desk,
        "store": "./assay-ledger",
        "seed": 7,
    }
    says = ["Written by `assay import`: check the columns, and what people are asked.", *draft.says]
    if known:
        says.append("Every item has a label by people, so the desk is simulated: a trial that asks nobody.")
    head = "".join(f"# {line}\n" for line in says)
    return head + yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=100)
