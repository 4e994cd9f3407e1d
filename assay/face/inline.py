"""An evaluation in one call, labelled by a function of the caller's."""

from collections.abc import Callable, Mapping
from typing import Any

from assay.evalcore.errors import BadInput
from assay.face.evaluation import Evaluation, begin
from assay.face.progress import counting
from assay.face.results import Result
from assay.tasks.desks.caller.desk import WaitingItem

Oracle = Callable[[dict[str, Any]], Any] | Mapping[str, Any] | str
"""A function of an item's row that returns its label, {item_id: label}, or a column of the frame."""


def evaluate(data: Any, *, oracle: Oracle, **question: Any) -> Result:
    """Estimate measures on predictions, asking the oracle for as few labels as the target takes.

    data       as for `begin`
    oracle     whoever knows the labels: a function of an item's row (a dictionary; None where it cannot
               tell), a mapping from item id to label, or the name of a column with labels
    question   as for `begin`: outcome, measures, prediction, score, target, budget ...

    With `store=` the evaluation is durable: interrupted, the same call goes on where it was.
    With the same seed and name the numbers are those of the command line.

    Raises BadInput naming what is wrong with the predictions, the arguments or a label.

    >>> import assay, pyarrow
    >>> mails = pyarrow.table({"score": [0.9, 0.8, 0.3, 0.2], "truth": ["spam", "ham", "ham", "ham"]})
    >>> result = assay.evaluate(mails, outcome=["spam", "ham"], score="score", threshold=0.5,
    ...                         measures=["precision"], oracle="truth")
    >>> result.value, result.labels, result.stopped_by
    (0.5, 2, 'pool')
    """
    evaluation = begin(data, **question)
    with counting(evaluation) as told:
        while items := evaluation.waiting():
            result = evaluation.tell({one.item.item_id: _label(evaluation, oracle, one) for one in items})
            told(result)
    return evaluation.result


def _label(evaluation: Evaluation, oracle: Oracle, one: WaitingItem) -> Any:
    item_id = one.item.item_id
    if isinstance(oracle, Mapping):
        if item_id not in oracle:
            raise BadInput(f"oracle: the mapping has no label for item {item_id!r}; give one for every item")
        return oracle[item_id]
    row = evaluation.row(one)
    if isinstance(oracle, str):
        if oracle not in row:
            raise BadInput(f"oracle: there is no column {oracle!r}; give a frame that has it, or a function")
        return row[oracle]
    return oracle(row)
