"""Small pools of known truth for tests of the statistics."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from assay.evalcore.replay.pool import LabelledPool


def synthetic_pool(n_items=400, seed=0, threshold=1.0, noise=1.0):
    """Scores are normal; the label is positive where score plus noise passes the threshold."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n_items)
    label = (score + noise * rng.normal(size=n_items) > threshold).astype(np.int64)
    prediction = (score > 0.8 * threshold).astype(np.int64)
    return LabelledPool(score=score, probability=expit(2 * score - 2), prediction=prediction, label=label)


def pools_folder() -> Path:
    """The folder of real pools, or skip with the reason."""
    folder = Path(os.environ.get("ASSAY_POOLS", Path(__file__).parents[3] / "shared" / "pools"))
    if not folder.is_dir():
        pytest.skip(f"no pools in {folder}: set ASSAY_POOLS")
    return folder


def real_pool(name: str) -> LabelledPool:
    """A pool of record by name, with expit(score) as its probability."""
    import pandas as pd

    path = pools_folder() / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    d = pd.read_parquet(path)
    score = d.score.to_numpy(float)
    return LabelledPool(
        score=score, probability=expit(score), prediction=d.prediction.to_numpy(), label=d.label.to_numpy()
    )
