"""Reading a labelled pool for a replay of several questions: a spec says what its columns mean, as in a live
evaluation, and the answers to each question are in a column of its name.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.replay.pool import OutcomePool
from assay.tasks.ledger.manifest import CLUSTER, PREDICTED_NUMBERS
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.pool.predictions.questions import QuestionPredictions
from assay.tasks.pool.predictions.systems import SystemsSoFar
from assay.tasks.sources.known_labels import rows_of_questions
from assay.tasks.sources.reader import open_source
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.goals import written_measure
from assay.tasks.spec.labels.questions import QuestionList


def read_question_pool(path: str, spec: Spec) -> OutcomePool:
    """The pool in a file, with every row checked.

    Raises BadInput as freezing does, for a spec that asks one question or is about the population, and for
    an item without an answer.
    """
    if not isinstance(spec.labels, QuestionList):
        raise BadInput("--questions: this spec asks one question; leave it out, and name the columns")
    if spec.about == "population":
        raise BadInput("--questions: about is 'population', and a replay knows the truth of its pool alone; "
                       "leave about out of this spec")
    own = spec.pool.model_copy(update={"source": path, "display": (), "show_as": {}, "segments": ()})
    alone = spec.model_copy(update={"pool": own})
    source = open_source(path)
    checker = RowChecker(alone, [file.path for file in source.files])
    packed = list(QuestionPredictions(alone).packed())
    rows, clusters = SystemsSoFar(alone, PREDICTED_NUMBERS, packed), []
    try:
        for batch in source.batches(checker.columns):
            table = pa.Table.from_batches([checker.check(batch)])
            rows.add(table)
            if own.cluster is not None:
                clusters += table.column(CLUSTER).to_pylist()
        items = rows.items().at(slice(None))
    finally:
        rows.close()
    if not len(items):
        raise BadInput(f"{path}: no rows; a labelled pool needs at least one item")
    if own.cluster is not None:
        number = np.unique(clusters, return_inverse=True)[1].reshape(-1, 1).astype(np.float64)
        items = replace(items, cluster=number)
    answers = spec.labels.answers
    labels = [
        label for batch in rows_of_questions(path, own.id, answers, key="replay")
        for label in batch.column(1).to_pylist()
    ]
    names = list(answers.questions)
    for row, label in enumerate(labels):
        there = {} if label is None else answers.by_question(label)
        if len(there) < len(names):
            lacking = next(name for name in names if name not in there)
            raise BadInput(f"{path}: column {lacking!r}, row {row + 1}: no answer; a replay needs one to "
                           "every question about every item")
    codes = np.array([answers.code(label) for label in labels], np.float64)
    return OutcomePool(kind=spec.labels.outcome, items=items, codes=codes)


def measures_of_questions(spec: Spec) -> tuple[str, ...]:
    """The measures of a spec as a replay writes them: coherence:mean."""
    return tuple(
        f"{one.question}:{written_measure(one.name, one.settings)}" for one in spec.measure
    )
