"""Estimates of a pool of which some rows have a label, and all have what is guessed of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.face.frames import no_column, unnamed_rows, with_columns
from assay.face.pool_columns import RolesOfColumns, read_table
from assay.face.question import check_frame_columns, known_outcome, listed, measures_as_written, names_in
from assay.face.results import Estimates, estimate_of
from assay.tasks.replay.outcome_pool import classes_by_name
from assay.tasks.sources.values import named_text, without_value, words_for_none
from assay.tasks.weighted.held_labels import (
    IN_STRATA,
    HeldQuestion,
    estimates_of_held_pool,
    refuse_label_as_guess,
)

_ROLES = ("label", "prediction", "systems", "judge", "probability", "cluster", "item_weight", "weight")
_GUESSES = ("judge", "prediction", "systems", "probability")
_BY_DEFAULT = {"prediction": "prediction", "weight": "inclusion_probability"}   # where there is such a column
_NOT_HERE = dict.fromkeys(("score", "rank", "contenders", "covariates", "spread", "features"))


def estimates_of_pool(data: object, arguments: Mapping[str, Any]) -> Estimates:
    """The estimates; arguments: the arguments of `estimate`.  Raises BadInput naming argument or column."""
    all_roles = {role: arguments[role] for role in _ROLES}
    present_roles = {role: column for role, column in all_roles.items() if not _left_out(role, column)}
    data, columns = with_columns(data, present_roles)
    holder = str(data) if isinstance(data, str | Path) else "the frame"
    source = unnamed_rows(data)
    check_frame_columns(source, {name: columns.get(name) for name in ("judge", "systems") if name in columns})
    table = read_table(source.path, columns) if source.table is None else source.table
    roles = {role: columns.get(role) for role in _ROLES}
    for role, name in _BY_DEFAULT.items():
        if roles[role] is None and name in table.column_names:
            roles[role] = name
    if roles["systems"] is not None and not _left_out("prediction", arguments["prediction"]):
        raise BadInput("prediction: is of one system, and `systems` names several; leave one of them out")
    label, weight = (None if roles[role] is None else str(roles[role]) for role in ("label", "weight"))
    drawn, strata = arguments["drawn"], None
    if isinstance(drawn, Mapping):
        if set(drawn) != {IN_STRATA} or weight is not None:
            raise BadInput(f"drawn: is {dict(drawn)!r}; write {{'strata': column}}, without `weight`: the "
                           "chances follow from how many rows of each stratum have a label")
        weight = strata = str(drawn[IN_STRATA])
        drawn = None
    for column in (label, weight):
        if column is not None and column not in table.column_names:
            raise no_column(holder, column, table.column_names)
    for role in _GUESSES:
        refuse_label_as_guess(label, role, list(names_in(role, roles[role])))
    what, none = known_outcome(arguments["outcome"]), {}
    if what.reader != "tags":       # of which an empty text is a label
        predicted = [roles["prediction"]] if what.reader == "classes" and roles["prediction"] else []
        named = classes_by_name(what.kind, [table.column(str(name)) for name in predicted])
        at = label or "label"
        none = words_for_none(named_text(holder, at, table.column(at).combine_chunks()), named)
        table = _with_gaps(holder, table, at, named)
    roles_of_columns = RolesOfColumns(
        replace(source, table=table), holder, what,
        {**_NOT_HERE, **{role: roles[role] for role in _ROLES if role not in ("weight", "item_weight")},
         "weight": roles["item_weight"]}, no_outcome=arguments["outcome"] is None,
    )
    try:
        pool = roles_of_columns.of_any_kind(partly_labelled=True)
    except BadInput as error:
        whole = "with the rows that have none"
        sample = "say how many items it has (pool_size), and each row's chance or weight (weight)"
        message = str(error).replace(whole, f"{whole}, or {sample}")
        raise BadInput(message.replace("column 'label'", f"column {label!r}")) from None
    question = HeldQuestion(
        measures=tuple(measures_as_written(arguments["measures"])), systems=tuple(arguments["systems"] or ()),
        confidence=arguments["confidence"], about=arguments["about"], drawn=drawn, strata=strata,
        judges=tuple(map(str, listed(roles["judge"] or ()))),
    )
    chances = None if weight is None else table.column(weight).combine_chunks()
    pool = replace(pool, words_for_none=none)
    rows, notes = estimates_of_held_pool(pool, question, chances, weight or "")
    return Estimates(backend=source.backend, estimates=tuple(map(estimate_of, rows)), notes=notes)


def _left_out(role: str, column: object) -> bool:
    """Whether an argument is as it is by default."""
    return column is None or (isinstance(column, str) and column == _BY_DEFAULT.get(role))


def _with_gaps(holder: str, table: pa.Table, label: str, classes: Sequence[str]) -> pa.Table:
    """The table, its labels missing where they are empty, or a word for it that names none of the classes."""
    values = table.column(label).combine_chunks()
    missing = without_value(named_text(holder, label, values), classes)
    at = table.column_names.index(label)
    return table.set_column(at, label, pc.if_else(missing, pa.scalar(None, values.type), values))
