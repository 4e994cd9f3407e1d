"""Predictions and labels of a labelled pool as 0 and 1, whatever words they are written in."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.types import Array, Floats, Ints
from assay.tasks.replay.columns import words

_SPELLINGS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


def as_classes(
    path: str, columns: Mapping[str, pa.Array], score: Floats | None, positive: str | None
) -> dict[str, Ints]:
    """Every column (N,) as 0 and 1; all columns are written in the same words, `prediction` among them.

    score (N,): of two class names, the positive one is predicted at the higher scores, unless `positive`
    names it; None where there are none.  Raises BadInput for gaps, for more than two classes, and where the
    scores do not tell.
    """
    text = {name: words(path, name, column) for name, column in columns.items()}
    known = sorted({word for column in text.values() for word in np.unique(column).tolist()})
    if positive is None and all(word.lower() in _SPELLINGS for word in known):
        codes = np.array([_SPELLINGS[word.lower()] for word in known], np.int64)
    else:
        if len(known) > 2:
            raise BadInput(
                f"{path}: {' and '.join(map(repr, text))} hold {len(known)} classes ({_listed(known)}); "
                "replay compares two: write 1 for the class in question and 0 for the rest"
            )
        chosen = positive if positive is not None else _higher_scored(path, text["prediction"], score)
        if chosen not in known:
            raise BadInput(f"{path}: no prediction or label is {chosen!r}; they hold {_listed(known)}")
        codes = np.array([int(word == chosen) for word in known], np.int64)
    return {name: codes[np.searchsorted(known, column)] for name, column in text.items()}


def _higher_scored(path: str, predicted: Array, score: Floats | None) -> str:
    """The class that is predicted at the higher scores."""
    classes = np.unique(predicted)
    if score is None:
        raise BadInput(
            f"{path}, column 'prediction': holds {_listed(classes.tolist())}, and no score tells which class "
            "is the positive one; name it with --positive, or write 1 for it and 0 for the other"
        )
    means = [score[predicted == c].mean() for c in classes]
    if len(classes) != 2 or means[0] == means[1]:
        raise BadInput(
            f"{path}, column 'prediction': holds {_listed(classes.tolist())}, and the scores do not tell "
            "which class is the positive one; write 1 for it and 0 for the other"
        )
    return str(classes[int(np.argmax(means))])


def _listed(words: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(repr(word) for word in words[:most])
    return shown if len(words) <= most else f"{shown}, ..."
