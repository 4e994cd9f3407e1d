"""Recycled samples of the precision of several classifiers: from columns of predictions to samples and rates.

"Estimating precisions for multiple binary classifiers under limited samples" (ECML PKDD 2020), Algorithms 1
and 2, as `evalcore.recycled` has them.  The parent is the majority of the systems, as in section 5, or a
column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput, did_you_mean, plural
from assay.evalcore.recycled import RecycledSystem, Recycling, recycled_systems
from assay.evalcore.types import Bools
from assay.tasks.replay.labelled_pool import one_array
from assay.tasks.sources.reader import column_names, open_source
from assay.tasks.sources.values import as_text

MAJORITY = "majority"


def columns_of_file(path: str, columns: Sequence[str]) -> dict[str, pa.Array]:
    """These columns of a file of predictions. Raises BadInput for a column that it lacks. Column -> its
    values, in the order of the rows."""
    source = open_source(path)
    present = column_names(source)
    for name in columns:
        if name not in present:
            raise BadInput(f"{path}: no column {name!r}; {did_you_mean(name, present)}it has "
                           f"{', '.join(present[:20])}")
    names = list(dict.fromkeys(columns))
    batches = [batch.columns for batch in source.batches(names)]
    return {name: one_array([batch.column(i) for batch in batches]) for i, name in enumerate(names)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecycledColumns:
    """Which columns say what.  Raises BadInput for fewer than two systems, and one called as the parent."""

    item_id: str
    systems: Mapping[str, str]     # name -> column of its predictions
    positive: str                  # the class whose precision it is
    label: str | None = None       # of labels, empty where there is none
    ensemble: str | None = None    # of the parent's predictions; None: the majority of the systems

    def __post_init__(self) -> None:
        if len(self.systems) < 2:
            raise BadInput(f"labels are recycled between systems: name two or more, got {len(self.systems)}")
        if self.parent in self.systems:
            raise BadInput(f"a system cannot be called {self.parent!r}, as the parent is; give it another "
                           "name")

    @property
    def parent(self) -> str:
        """What the parent is called: the column of its predictions, or a fixed name where the majority of
        the systems stands for it."""
        return MAJORITY if self.ensemble is None else self.ensemble

    @property
    def names(self) -> list[str]:
        """All columns that are read, each once: the ids, the predictions of every system and, where they are
        given, the labels and the predictions of the parent."""
        beside = (name for name in (self.label, self.ensemble) if name is not None)
        return list(dict.fromkeys([self.item_id, *self.systems.values(), *beside]))


def recycle_columns(
    columns: Mapping[str, pa.Array], roles: RecycledColumns, setup: Recycling
) -> list[RecycledSystem]:
    """Samples and precisions.

    Raises BadInput for ids that repeat, and for a class that a system or the parent never predicts.
    """
    item_id, systems, positive, ensemble = roles.item_id, roles.systems, roles.positive, roles.ensemble
    ids = as_text(columns[item_id]).to_pylist()
    if None in ids or len(set(ids)) < len(ids):
        raise BadInput(f"column {item_id!r} has to name every row, each by another name")
    called = {name: _calls(columns[column], positive) for name, column in systems.items()}
    for name, calls in called.items():
        if not calls.any():
            raise BadInput(f"system {name!r} predicts {positive!r} nowhere, and has no precision; check the "
                           "class")
    votes = np.sum(list(called.values()), axis=0)
    parent = 2 * votes > len(called) if ensemble is None else _calls(columns[ensemble], positive)
    if not parent.any():
        raise BadInput("the parent predicts no item positive, and has no sample to recycle; name another one")
    truth: list[bool | None] = [None] * len(ids)
    if roles.label is not None:
        written = as_text(columns[roles.label]).to_pylist()
        truth = [None if text in (None, "") else text == positive for text in written]
    return recycled_systems(ids, {roles.parent: parent, **called}, truth, setup)


def _calls(column: pa.Array, positive: str) -> Bools:
    """(N,) where a system predicts the class."""
    return np.array([text == positive for text in as_text(column).to_pylist()], np.bool_)


def recycling_in_words(rows: Sequence[RecycledSystem]) -> str:
    """A table for a terminal, and how many labels there are to buy."""
    lines = [f"{'system':<16} {'positive':>9} {'draws':>6} {'items':>6} {'new':>6} {'saved':>6}  precision"]
    for row in rows:
        rate = f"{row.precision:.3f} [{row.lower:.3f}, {row.upper:.3f}]" if row.precision is not None else (
            f"{plural(row.unlabelled, 'label')} missing"
        )
        lines.append(
            f"{row.system:<16} {row.predicted_positive:>9,} {row.sample:>6,} {len(row.items):>6,} "
            f"{row.new:>6,} {row.saved:>6.0%}  {rate}"
        )
    labels, apart = sum(row.new for row in rows), sum(len(row.items) for row in rows)
    lines.append(f"{plural(labels, 'item')} to label in all; {apart:,} if each system had its own")
    return "\n".join(lines)
