"""Results of earlier systems on the items of a pool: a column for each, found by item or by question.

    earlier_NAME   what was said of that system's response: by people where they labelled it, else by the
                   scorer that stands under `prediction`; empty where it has none
    p_correct, p_incorrect   how probable it is that a system like these is right (a factor model), where
                   people say correct or incorrect

Of more than MOST_SYSTEMS earlier systems those that say most keep a column of their own; the model has all.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from assay.evalcore.earlier_systems import MOST_SYSTEMS, fit_factors, most_telling
from assay.evalcore.errors import BadInput
from assay.evalcore.json_values import JsonObject
from assay.tasks.connectors.records import Notes
from assay.tasks.connectors.responses.columns import ID, plain_name, unlike
from assay.tasks.connectors.responses.verdicts import RIGHT, WRONG
from assay.tasks.connectors.tables import write_parquet
from assay.tasks.spec.strict_yaml import written_yaml

_AS_NUMBER: Mapping[object, float] = {RIGHT: 1.0, WRONG: 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """One earlier system: what was said of its response, by item and by question."""

    name: str
    by_item: Mapping[str, object]
    by_question: Mapping[str, object]


def earlier_runs_of_pool(pool: Path, spec: str, name: str, notes: Notes) -> list[EarlierRun]:
    """The systems of a pool with a row for each response. Raises BadInput where nobody said anything."""
    rows = pq.read_table(pool).to_pylist()
    predicted = yaml.safe_load(spec)["pool"].get("prediction")
    columns = [column for column in ("label", predicted) if rows and column in rows[0]]
    if not columns:
        raise BadInput(f"--earlier {name}: no scorer and no person said anything of these responses, so they "
                       "are no results; leave it out")
    of_systems: dict[str, list[tuple[str, str | None, object]]] = {}
    for row in rows:
        result = next((row[column] for column in columns if row[column] is not None), None)
        of_systems.setdefault(str(row.get("model") or ""), []).append((row[ID], row.get("question"), result))
    return [
        EarlierRun(
            name=f"{Path(name).stem} {system}" if len(of_systems) > 1 else Path(name).stem,
            by_item={item: result for item, _, result in results},
            by_question=_asked_once([(question, result) for _, question, result in results], notes),
        )
        for system, results in of_systems.items()
    ]


def _asked_once(results: Sequence[tuple[str | None, object]], notes: Notes) -> dict[str, object]:
    """By question, but for those that were asked more than once."""
    times = Counter(question for question, _ in results)
    for question, count in times.items():
        if count > 1 and question is not None:
            notes.leave_out("results of earlier systems on questions that they answered more than once")
    return {question: result for question, result in results if question is not None and times[question] == 1}


def with_earlier_runs(pool: Path, spec: str, runs: Sequence[EarlierRun], notes: Notes) -> str:
    """Add the columns to the pool; the spec that asks with them.

    Raises BadInput where the pool compares systems, and where a run has no result on any of its items.
    """
    head, body = _parts(spec)
    labels: JsonObject = body["labels"]
    if "prefer" in labels or body["pool"].get("systems"):
        raise BadInput("--earlier: the pool compares its own models, and results of earlier ones are of "
                       "single responses; import one model, or give --layout responses")
    table = pq.read_table(pool)
    columns = unlike({run.name: f"earlier_{plain_name(run.name)}" for run in runs}, table.column_names)
    if len(columns) < len(runs):
        raise BadInput("--earlier: two runs have the same name; name each file or folder differently")
    as_label = _label_reader(labels)
    results = {columns[run.name]: [as_label(result) for result in _matched(run, table)] for run in runs}
    own_columns = list(results)
    if labels.get("classes") == [RIGHT, WRONG]:
        grid = np.array([[_AS_NUMBER.get(v, np.nan) for v in column] for column in results.values()]).T
        right = fit_factors(grid).of_new_system()
        table = table.append_column(f"p_{RIGHT}", pa.array(right))
        table = table.append_column(f"p_{WRONG}", pa.array(1 - right))
        body["pool"]["probability"] = {"prefix": "p_"}
        body["method"] = "guesses"
        if len(results) > MOST_SYSTEMS:
            own_columns = [own_columns[number] for number in most_telling(grid).tolist()]
            notes.tell(f"of {len(results):,} earlier systems {len(own_columns)} have a column of their own, "
                       "and a model of all is in p_correct")
    elif len(results) > MOST_SYSTEMS:
        raise BadInput(f"--earlier: {len(results):,} earlier systems, and at most {MOST_SYSTEMS} are judges "
                       "of labels other than correct and incorrect; name fewer")
    for name in own_columns:
        kind = pa.string() if "classes" in labels else pa.float64()
        table = table.append_column(name, pa.array(results[name], kind))
    target = pool.with_name(f".{pool.stem}.joined.parquet")
    write_parquet(table.to_batches(), table.schema, target)
    target.replace(pool)
    body["pool"]["earlier"] = own_columns
    return head + written_yaml(body)


def _parts(spec: str) -> tuple[str, dict[str, Any]]:
    """The comments at the head, and the rest."""
    head = "".join(line for line in spec.splitlines(keepends=True) if line.startswith("#"))
    comment = "# Results of earlier systems stand under `earlier`, believed as far as labels confirm them.\n"
    return head + comment, yaml.safe_load(spec)


def _matched(run: EarlierRun, table: pa.Table) -> list[object]:
    """What was said of the run's response, by item; by question where no item has its id."""
    ids = table.column(ID).to_pylist()
    if any(item in run.by_item for item in ids):
        return [run.by_item.get(item) for item in ids]
    questions = table.column("question").to_pylist() if "question" in table.column_names else []
    results = [run.by_question.get(question) for question in questions]
    if all(result is None for result in results):
        raise BadInput(f"--earlier: {run.name!r} has no result on any item of the pool: neither its ids nor "
                       "its questions are the pool's; is it a run of the same questions?")
    return results


def _label_reader(labels: JsonObject) -> Callable[[object], object]:
    """Reads a result as a label of the pool; None for what is none."""
    classes = labels.get("classes")
    if isinstance(classes, list):
        return lambda result: result if result in classes else None
    return lambda result: _AS_NUMBER.get(result) if isinstance(result, str) else result
