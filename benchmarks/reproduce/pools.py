"""Pools that stand in for the data of the papers: real predictions with real labels.

    digits     the 1,797 images of scikit-learn, "8 or not" (for MNIST): every image judged by a logistic
               regression that did not see it
    emotion    one class of 4,548 comments against the rest (GoEmotions, for newsgroups and news): the
               probabilities of a classifier of 28 classes, and whether that class was the likeliest
    employed   people of the US census, 2015 to 2018, employed or not, by a classifier of earlier years
    tags       5,426 comments with 28 tags (GoEmotions, for toxic comments)
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logit

from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.types import Array, Bools, Floats
from benchmarks.pages import write_page
from benchmarks.reproduce.items import with_items

if TYPE_CHECKING:
    import pandas as pd

EMOTIONS = ("neutral", "gratitude", "admiration", "love", "amusement", "approval", "curiosity",
            "annoyance", "disapproval", "sadness")
_EDGE = 1e-9


def pool_file(name: str) -> Path:
    """The file of a pool, in the folder that ASSAY_POOLS names."""
    return Path(os.environ.get("ASSAY_POOLS", "../shared/pools")) / f"{name}.parquet"


def write_paper_page(page: Path, make: Callable[[], str], *pools: str) -> None:
    """Write a page, with the rows of its paper, or say why it is left: it needs pools that are not there."""
    missing = [name for name in pools if not pool_file(name).exists()]
    if missing:
        print(f"{page}: skipped, as {' and '.join(f'{name}.parquet' for name in missing)} cannot be found in "
              f"{pool_file('').parent}; set ASSAY_POOLS to the folder of the pools", file=sys.stderr)
        return
    page.parent.mkdir(parents=True, exist_ok=True)
    write_page(page, with_items(page.name, make()))


def pool_of(probability: Floats, prediction: Array, label: Array) -> LabelledPool:
    """A pool whose score is the log odds of its probability."""
    safe = np.clip(probability, _EDGE, 1 - _EDGE)
    return LabelledPool(
        score=logit(safe), probability=safe, prediction=prediction.astype(np.int64),
        label=label.astype(np.int64),
    )


@cache
def digits() -> LabelledPool:
    """"8 or not"; the regression is held back, so that it errs as often as a model worth evaluating."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    images, digit = load_digits(return_X_y=True)
    label = digit == 8
    probability = cross_val_predict(
        LogisticRegression(C=0.3, max_iter=3000), images / 16, label,
        cv=StratifiedKFold(5, shuffle=True, random_state=0), method="predict_proba",
    )[:, 1]
    return pool_of(probability, probability > 0.5, label)


@cache
def _frame(name: str) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_parquet(pool_file(name))


def emotion(name: str) -> LabelledPool:
    """One class against the rest."""
    d = _frame("goemotions-classes")
    return pool_of(
        d[f"p_{name}"].to_numpy(float), (d.prediction == name).to_numpy(), (d.label == name).to_numpy()
    )


def employed(which: Bools | None = None) -> LabelledPool:
    """Everybody, or some of them; which (N,)."""
    d = _frame("employment-ma")
    d = d if which is None else d[which]
    return pool_of(d.probability.to_numpy(float), d.prediction.to_numpy(), d.label.to_numpy())


def census() -> "pd.DataFrame":
    """The columns of `employed`, in its order."""
    return _frame("employment-ma")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tagged:
    """Items with several tags."""

    probability: Floats   # (N, K)
    predicted: Bools      # (N, K)
    label: Bools          # (N, K)


def tags(seed: int = 0, most: int = 2_000, names: int = 6) -> Tagged:
    """A sample of the comments, with the most frequent tags but the first (which says that none applies)."""
    d = _frame("goemotions-tags")
    columns = [c for c in d.columns if c.startswith("p_")]
    every = [c[2:] for c in columns]
    label = np.array([[t in set(row.split("|")) for t in every] for row in d.label])
    said = np.array([[t in set(row.split("|")) for t in every] for row in d.prediction])
    chosen = np.argsort(-label.sum(axis=0))[1 : names + 1]
    rows = np.random.default_rng(seed).permutation(len(d))[:most]
    return Tagged(
        probability=d[columns].to_numpy(float)[rows][:, chosen],
        predicted=said[rows][:, chosen], label=label[rows][:, chosen],
    )
