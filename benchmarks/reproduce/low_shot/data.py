"""Rare classes of public pools, one against the rest, as in section 4.1 of the paper."""

from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
from scipy.special import expit

from assay.evalcore.measures.registry import measure
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.types import Floats, Ints
from assay.tasks.replay.labelled_pool import read_labelled_pool
from benchmarks.reproduce.pools import pool_file

F1 = measure("f1")
TAGS = "goemotions-tags"
PAIRS = ("abt-buy", "restaurant")
THRESHOLD = 0.3      # of the pool's own predictions
FEWEST = 4           # predicted positives, for a class to be counted
KEPT = 20            # items of a digit that stay in the pool
TRAINED_ON = 300     # digits that train the models


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A classifier with its pool."""

    name: str
    pool: LabelledPool

    @property
    def f1(self) -> float:
        """The F1 of the whole pool."""
        return float(F1.of_confusion(self.pool.confusion()))


def pairs() -> list[Named]:
    """The two pools of record."""
    return [Named(name=name, pool=read_labelled_pool(str(pool_file(name)))) for name in PAIRS]


def tags() -> list[Named]:
    """The tags of GoEmotions that few comments have and the model predicts at all; p is the score."""
    table = pq.read_table(pool_file(TAGS))
    labels = [set(text.split("|")) for text in table["label"].to_pylist()]
    result = []
    for column in table.column_names:
        if not column.startswith("p_"):
            continue
        tag, p = column.removeprefix("p_"), table[column].to_numpy().astype(float)
        label = np.array([tag in one for one in labels], np.int64)
        prediction = (p > THRESHOLD).astype(np.int64)
        if label.mean() < 0.05 and prediction.sum() >= FEWEST:
            result.append(Named(name=tag, pool=pool_of(p, prediction, label)))
    return result


def pool_of(score: Floats, prediction: Ints, label: Ints) -> LabelledPool:
    """A pool whose score is a probability."""
    return LabelledPool(score=score, probability=score, prediction=prediction, label=label)


def digits() -> list[list[Named]]:
    """For each digit three models of the same items, trained on few; the digit is thinned to KEPT items."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    train, rest = order[:TRAINED_ON], order[TRAINED_ON:]
    models = {
        "logistic": LogisticRegression(max_iter=2000),
        "forest": RandomForestClassifier(100, random_state=1),
        "bayes": GaussianNB(var_smoothing=1e-2),
    }
    result: list[list[Named]] = []
    for digit in range(10):
        own = rest[y[rest] == digit][:KEPT]
        items = np.concatenate([own, rest[y[rest] != digit]])
        label = (y[items] == digit).astype(np.int64)
        several = []
        for name, model in models.items():
            p = model.fit(x[train], y[train] == digit).predict_proba(x[items])[:, 1]
            # ties of a forest's votes are broken, so that ranks exist
            p = np.clip(p + 1e-6 * np.random.default_rng(digit).random(len(p)), 0, 1)
            several.append(Named(name=name, pool=pool_of(p, (p > 0.5).astype(np.int64), label)))
        if all(one.pool.prediction.sum() >= FEWEST for one in several):
            result.append(several)
    return result


def small(n_items: int = 600, positives: int = 25, seed: int = 1) -> Named:
    """A made pool, for tests."""
    rng = np.random.default_rng(seed)
    label = (np.arange(n_items) < positives).astype(np.int64)
    p = expit(rng.normal(size=n_items) + 4 * label - 3)
    return Named(name="made", pool=pool_of(p, (p > 0.5).astype(np.int64), label))
