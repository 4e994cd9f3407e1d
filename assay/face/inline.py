"""An evaluation in one call, labelled by whoever knows: a function, a Series, a mapping, a column."""

import asyncio
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, Unpack

import pyarrow as pa

from assay.evalcore.errors import BadInput, plural
from assay.face.arguments import USUAL_QUESTION, QuestionArguments, described_by, usual_values
from assay.face.awaiting import CALLERS_LOOP, CallersLoop, awaited
from assay.face.beginning import begin
from assay.face.evaluation import Evaluation, no_label, stands_for_none
from assay.face.frames import (
    ColumnValues,
    FrameSource,
    dimensions,
    index_of_series,
    no_column,
    refuse_own_order,
    values_of,
)
from assay.face.results import Result
from assay.tasks.desks.caller import WaitingItem
from assay.tasks.sources.reader import column_names, open_source
from assay.tasks.sources.values import as_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console


Oracle: TypeAlias = object
"""Whoever knows the labels: a function of an item's row, {item id: label}, a column's name or its values."""

_Label = Callable[[WaitingItem], object]


@usual_values(USUAL_QUESTION)
@described_by(begin)
def evaluate(data: object = None, *, oracle: Oracle, **question: Unpack[QuestionArguments]) -> Result:
    """Estimate measures on predictions, asking the oracle for as few labels as the target takes.

    A *column* is its name, or the values themselves: an array, a Series or a list with one for each row.
    Items are named by the frame's own index (pandas), by the column under `id`, by a column `item_id`, or by
    the number of the row: a frame that is shuffled, filtered or split gives the answers that belong to its
    rows. With `store=` the evaluation is durable: interrupted, the same call goes on where it was. With the
    same seed and name the numbers are those of the command line.

    Args:
        data: a frame (pandas, polars, pyarrow), or a list of rows as dictionaries; the path or address of a
            file with predictions; the path of a spec (.yaml), or a spec as a mapping; or nothing, where the
            columns are given themselves.
        oracle: whoever knows the labels. A function of an item's row, which is a dictionary of the frame's
            columns and `item_id`. A mapping from item id to label. A pandas Series, which goes by its index,
            an array or a list with a label for each row. The name of a column. A function may be a coroutine
            function. None, of a function or a mapping, is for an item that cannot be decided; a column or
            Series with gaps is refused, because labels that are not there yet are no answers.
        (those of begin)

    Raises:
        BadInput: naming the argument, the column and the rows, or the label that is wrong.

    Example:
        >>> import assay, pyarrow
        >>> mails = pyarrow.table({"score": [0.9, 0.8, 0.3, 0.2], "truth": ["spam", "ham", "ham", "ham"]})
        >>> result = assay.evaluate(mails, outcome=["spam", "ham"], score="score", threshold=0.5,
        ...                         measures=["precision"], oracle="truth")
        >>> result.value, result.labels, result.stopped_by
        (0.5, 2, 'pool')

        The columns themselves, without a frame:

        >>> result = assay.evaluate(score=[0.9, 0.8, 0.3, 0.2], threshold=0.5, oracle=[1, 0, 0, 0],
        ...                         outcome=[1, 0], measures="precision")
        >>> result.value
        0.5
    """
    evaluation = begin(data, **question)
    label = _label_of(oracle, evaluation)
    with counting(evaluation) as progress:
        items = evaluation.waiting()
        while items:
            result = evaluation.tell(awaited(_asked(evaluation, label, items)))
            progress(result)
            items = _further_items(evaluation, result)
    return evaluation.result


def _asked(evaluation: Evaluation, label: _Label, items: Sequence[WaitingItem]) -> dict[Hashable, object]:
    """What the oracle gives for each item, by its own id."""
    return {evaluation.own_id(waiting.item.item_id): label(waiting) for waiting in items}


def _further_items(evaluation: Evaluation, result: Result) -> list[WaitingItem]:
    """What waits after answers were told, which was to close and plan all that is due."""
    return [] if result.state == "finished" else evaluation.posted() or evaluation.waiting()


async def aevaluate(
    data: object = None, *, oracle: Oracle, concurrency: int = 16, **question: Unpack[QuestionArguments]
) -> Result:
    """`evaluate` inside an event loop: coroutines of oracle and judges run in the caller's own loop.

    Everything else runs in a thread, so that the loop goes on meanwhile; judges that are plain functions do.

    Args:
        data: as `evaluate` takes it.
        oracle: as `evaluate` takes it; a coroutine function, as a client of a model or a service has it.
        concurrency: how many labels or judgements may be awaited at once, 1 or more.
        question: the other arguments of `evaluate`.

    Returns:
        The result, as `evaluate` returns it.

    Raises:
        BadInput: as `evaluate`, and for a concurrency below 1.  What the oracle raises ends the evaluation;
            labels that are awaited then are cancelled.

    Example:
        >>> import asyncio, assay
        >>> async def label_of(row):
        ...     return "spam" if "win" in row["text"] else "ham"
        >>> mails = [{"text": "win now", "call": "spam"}, {"text": "hello", "call": "ham"}]
        >>> asyncio.run(assay.aevaluate(mails, oracle=label_of, outcome=["spam", "ham"], prediction="call",
        ...                             measures="accuracy")).value
        1.0
    """
    if concurrency < 1:
        raise BadInput(f"concurrency: at least one label has to be awaited at once, got {concurrency}")
    loop = CallersLoop(concurrency)
    CALLERS_LOOP.set(loop)      # of this task, and of the thread that it starts
    try:
        return await asyncio.to_thread(evaluate, data, oracle=oracle, **question)
    finally:
        loop.end()
        CALLERS_LOOP.set(None)


def _label_of(oracle: Oracle, evaluation: Evaluation) -> _Label:
    """What gives the label of an item. Raises BadInput for what cannot."""
    source = evaluation.source
    if callable(oracle) and not isinstance(oracle, Sized):
        return lambda item: oracle(evaluation.row(item))
    if isinstance(oracle, str | int):
        return _of_column(str(oracle), evaluation)
    if isinstance(oracle, Mapping):
        if source is not None and source.table is None and source.numbered and 0 in oracle:
            raise BadInput("oracle: the rows of a file are numbered from 1, and this mapping has an item 0")
        return lambda item: _looked_up(oracle, evaluation, item)
    if not isinstance(oracle, ColumnValues) or dimensions(oracle) != 1:
        raise BadInput(
            "oracle: give a function of an item's row, a mapping from item id to label, a Series or an array "
            "of labels, or the name of a column"
        )
    by_index = index_of_series(oracle)
    if by_index is not None:
        _refuse_no_labels(dict(enumerate(values_of(oracle), 1)), "row", evaluation)
        return _of_series(oracle, by_index, evaluation)
    if source is None or source.table is None:
        raise BadInput("oracle: labels in order go with a frame; give a mapping from item id to label")
    labels = values_of(oracle)
    if len(labels) != len(source.ids):
        raise BadInput(f"oracle: has {len(labels):,} labels, and the frame has {len(source.ids):,} rows")
    _refuse_no_labels(dict(enumerate(labels, 1)), "row", evaluation)
    return lambda item: labels[source.places[item.item.item_id]]


def _refuse_no_labels(labels: Mapping[object, object], of: str, evaluation: Evaluation) -> None:
    """Raises BadInput where data have no label for some items, since a label that is not there yet is no
    answer; and where one is no label, in a row that may never be asked about.

    labels: by the number of the row, or by item id; of: which of the two
    """
    gaps = [key for key, label in labels.items() if stands_for_none(evaluation, label)]
    if gaps:
        listed = ", ".join(map(str, gaps[:_GAPS_LISTED])) + (", ..." if len(gaps) > _GAPS_LISTED else "")
        raise BadInput(
            f"oracle: {plural(len(gaps), 'item has', 'items have')} no label ({of} {listed}), of "
            f"{len(labels):,}: they are not there yet. Wait for them, or leave these rows out of the frame, "
            "knowing that the others may differ; a function may return None for what cannot be decided"
        )
    for key, label in labels.items():
        if (reason := no_label(evaluation, label)) is not None:
            raise BadInput(f"oracle: {of} {key}: {reason}; correct it, or leave these rows out of the frame")


_GAPS_LISTED = 5   # rows or items without a label that a message names


def _looked_up(labels: Mapping[object, object], evaluation: Evaluation, item: WaitingItem) -> object:
    own_id = evaluation.own_id(item.item.item_id)
    for key in (own_id, item.item.item_id):
        if key in labels:
            if labels[key] is not None:
                _refuse_no_labels({own_id: labels[key]}, "item", evaluation)
            return labels[key]
    raise BadInput(f"oracle: there is no label for item {own_id!r}; give one for every item")


def _of_series(series: ColumnValues, index: "pd.Index", evaluation: Evaluation) -> _Label:
    """By the frame's index, as pandas has it; by the names of the items where it is indexed by these.

    Raises BadInput where both would do and say different things, and where rows are numbered and the Series
    has an order of its own.
    """
    source = evaluation.source
    if not index.is_unique:
        raise BadInput("oracle: the Series' index has a value twice; give a unique index, or an array")
    values = values_of(series)
    if source is not None and source.numbered and source.index is not None:
        by_index = dict(zip(index.tolist(), values, strict=True))
        by_row: dict[Hashable, object] = {
            row: by_index[name] for row, name in enumerate(source.index, 1) if name in by_index
        }
        return lambda waiting: _looked_up(by_row, evaluation, waiting)
    if source is not None and source.numbered:
        refuse_own_order("oracle", index)
        first_row = 0 if source.table is not None else 1
        if source.table is not None and len(values) != len(source.ids):
            raise BadInput(f"oracle: has {len(values):,} labels, and the frame has {len(source.ids):,} rows")
        by_number: dict[Hashable, object] = dict(enumerate(values, first_row))
        return lambda item: _looked_up(by_number, evaluation, item)
    labels = dict(zip(index.tolist(), values, strict=True))
    if source is None or source.index is None or list(source.index) == list(source.ids):
        return lambda item: _looked_up(labels, evaluation, item)
    of_rows = source.index.tolist()
    aligned, has_ids = all(key in labels for key in of_rows), all(key in labels for key in source.ids)
    if aligned and has_ids:
        raise BadInput(
            f"oracle: the Series' index could be the frame's index or the column {source.id!r}; give "
            "series.to_dict() if it has the items' ids, or the name of a column"
        )
    if not aligned:
        return lambda item: _looked_up(labels, evaluation, item)
    return lambda item: labels[of_rows[source.places[item.item.item_id]]]


def _of_column(column: str, evaluation: Evaluation) -> _Label:
    source = evaluation.source
    if source is not None and source.table is None:
        labels = _labels_in_file(source, column)
        _refuse_no_labels(labels, "item", evaluation)
        return lambda item: labels[item.item.item_id]

    if source is not None and source.table is not None and column in source.table.column_names:
        _refuse_no_labels(dict(enumerate(source.table.column(column).to_pylist(), 1)), "row", evaluation)

    def label(item: WaitingItem) -> object:
        row = evaluation.row(item)
        if column not in row:
            raise BadInput(f"oracle: there is no column {column!r}; the items have {', '.join(row)}")
        return row[column]

    return label


def _labels_in_file(source: FrameSource, column: str) -> Mapping[Hashable, object]:
    """Item id -> label of a file's rows. Raises BadInput."""
    opened = open_source(source.path)
    columns = column_names(opened)
    if column not in columns:
        raise no_column(f"oracle: {source.path}", column, columns)
    labels: dict[Hashable, object] = {}
    for batch in opened.batches([source.id, column]):
        ids, values = (pa.array(batch.columns.column(at)) for at in (0, 1))
        labels.update(zip(as_text(ids).to_pylist(), values.to_pylist(), strict=True))
    return labels


_Told = Callable[[Result], None]


def counting(evaluation: Evaluation) -> AbstractContextManager[_Told]:
    """A bar of the labels bought, with the newest estimate; told after every round."""
    from rich.console import Console
    console = Console(stderr=True)
    return _in_notebook(evaluation) if console.is_jupyter else _in_terminal(evaluation, console)


@contextmanager
def _in_terminal(evaluation: Evaluation, console: "Console") -> Iterator[_Told]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    name, message = TextColumn(evaluation.name), TextColumn("{task.fields[said]}")
    columns = (name, BarColumn(), MofNCompleteColumn(), message)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=evaluation.budget, said="")

        def show_progress(result: Result) -> None:
            bar.update(task, completed=result.labels, said=_newest(result))

        yield show_progress


@contextmanager
def _in_notebook(evaluation: Evaluation) -> Iterator[_Told]:
    """One output of the cell that is replaced after every round, and empty at the end. Needs no widgets."""
    display = import_module("IPython.display")       # there is one where there is a notebook
    shown = display.display(display.HTML(""), display_id=True)

    def show_progress(result: Result) -> None:
        bar = f'<progress value="{result.labels}" max="{evaluation.budget}"></progress>'
        message = escape(f"{evaluation.name} {result.labels}/{evaluation.budget} {_newest(result)}")
        shown.update(display.HTML(f"{bar} {message}"))

    try:
        yield show_progress
    finally:
        shown.update(display.HTML(""))


def _newest(result: Result) -> str:
    return str(result.estimates[0]) if result.estimates else ""
