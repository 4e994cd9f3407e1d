"""Recycled samples in Python: the precision of several classifiers from fewer labels than one sample each."""

from collections.abc import Mapping
from pathlib import Path

from typing_extensions import TypedDict

from assay.evalcore.errors import BadInput
from assay.evalcore.recycled import Mixing, RecycledSystem, Recycling
from assay.face.arguments import CONFIDENCE, checked_confidence, whole_number
from assay.face.frames import no_column, table_of
from assay.tasks.replay.labelled_pool import one_array
from assay.tasks.replay.recycling import RecycledColumns, columns_of_file, recycle_columns


class RecyclingOptions(TypedDict, total=False):
    """What may be left out of `recycle`: columns of labels and of the parent's predictions, and how samples
    are drawn."""

    label: str
    ensemble: str
    mixing: Mixing
    seed: int
    confidence: float


def recycle(
    data: object, *, systems: Mapping[str, str], positive: str, size: int, id: str = "item_id",
    options: RecyclingOptions | None = None,
) -> list[RecycledSystem]:
    """Samples for the precision of several classifiers, in which labels serve more than one of them.

    Algorithms 1 and 2 of "Estimating precisions for multiple binary classifiers under limited samples" (ECML
    PKDD 2020): the parent's sample is drawn, and every other system's recycles what falls on its predicted
    positives.  Call it once to learn whose labels to buy, and again with a `label` column for the precisions:
    the same seed draws the same samples.

    Args:
        data: a frame (pandas, polars, pyarrow) or a path, with a row for each item.
        systems: name -> column of its predictions, two or more.
        positive: the class whose precision it is.
        size: draws of each system's sample.
        id: column that names the items.
        options: `label`: column of labels, empty where there is none; `ensemble`: column of the parent's
            predictions, instead of the majority of the systems; `mixing`: "shuffle" (the default) or
            "sample", the paper's UniformShuffle and UniformSample; `seed`, 1; `confidence`, 0.95.

    Returns:
        One `RecycledSystem` a system, the parent first: the items of its sample, how many are new, the share
        saved (equation 1), and its precision with an interval once all are labelled.

    Raises:
        BadInput: for a column that is missing, a class that a system never predicts, and settings out of
            range.
    """
    settings: RecyclingOptions = options or {}
    unknown = [name for name in settings if name not in _OPTIONS]
    if unknown:
        raise BadInput(f"options: no option {unknown[0]!r}; there are {', '.join(_OPTIONS)}")
    if settings.get("mixing", "shuffle") not in ("sample", "shuffle"):
        raise BadInput(f"options: mixing is 'sample' or 'shuffle', got {settings['mixing']!r}")
    roles = RecycledColumns(
        item_id=id, systems=systems, positive=positive, label=settings.get("label"),
        ensemble=settings.get("ensemble"),
    )
    setup = Recycling(
        size=whole_number("size", size), mixing=settings.get("mixing", "shuffle"),
        seed=whole_number("options: seed", settings.get("seed", 1), 0),
        confidence=checked_confidence(settings.get("confidence", CONFIDENCE)),
    )
    if isinstance(data, str | Path):
        return recycle_columns(columns_of_file(str(data), roles.names), roles, setup)
    table, _ = table_of(data)
    for name in roles.names:
        if name not in table.column_names:
            raise no_column("data: the frame", name, table.column_names)
    return recycle_columns({name: one_array(table.column(name).chunks) for name in roles.names}, roles, setup)


_OPTIONS = ("label", "ensemble", "mixing", "seed", "confidence")
