"""Repeated answers in Python: pass@k, pass^k, and how many answers of an item are worth their price."""

from collections.abc import Sequence
from pathlib import Path

from assay.evalcore.errors import BadInput
from assay.evalcore.repeats import Repeats
from assay.face.arguments import checked_confidence, is_number, whole_numbers
from assay.face.frames import no_column, table_of
from assay.tasks.replay.labelled_pool import one_array
from assay.tasks.replay.recycling import columns_of_file
from assay.tasks.replay.repeats import RepeatColumns, repeats_of_columns


def repeats(
    data: object, *, item: str, label: str, positive: str | None = None, k: int | Sequence[int] = (1, 4),
    confidence: float = 0.95, prices: tuple[float, float] | None = None,
) -> Repeats:
    """What several answers to each item say: pass@k, pass^k, how often all k are alike, and what varies.

    Args:
        data: a frame (pandas, polars, pyarrow) or a path, with a row for each answer.
        item: the column that names the item of an answer: the question, the prompt.
        label: the column that says whether it is right; rows without a label are left out.
        positive: the label of a right answer, where labels are neither true and false nor 1 and 0.
        k: how many answers are drawn of an item, one number or several; every item needs as many.
        confidence: of the intervals, which are for the items that these are a sample of.
        prices: what one more item costs, and one more answer of it, in any unit: then it is said how many
            answers are worth it.

    Returns:
        A `Repeats`: `measures`, one for each of `pass@k`, `pass^k`, `alike@k` and `within`, with `value`,
        `lower`, `upper`; the variance `within` and `between` items, and `price`.

    Raises:
        BadInput: for a column that is missing, a label that is none, fewer than ten items, and an item with
            fewer than k answers.
    """
    draws = whole_numbers("k", k)
    if prices is not None and not (
        isinstance(prices, Sequence) and len(prices) == 2 and all(map(is_number, prices))
    ):
        raise BadInput(f"prices: are two numbers, of one more item and of one more answer, got {prices!r}")
    if not draws:
        raise BadInput("k: is empty; name how many answers of an item are drawn, such as 4")
    asked = RepeatColumns(
        item=item, label=label, positive=positive, draws=draws, confidence=checked_confidence(confidence),
        prices=prices,
    )
    if isinstance(data, str | Path):
        return repeats_of_columns(columns_of_file(str(data), asked.names), asked)[0]
    table, _ = table_of(data)
    for name in asked.names:
        if name not in table.column_names:
            raise no_column("data: the frame", name, table.column_names)
    columns = {name: one_array(table.column(name).chunks) for name in asked.names}
    return repeats_of_columns(columns, asked)[0]
