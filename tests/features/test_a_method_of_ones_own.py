"""The method of CONTRIBUTING is a method: a file and a line of the registry, and replays know it."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import assay
from assay.evalcore.methods.registry import OUTCOME_METHODS

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def doubtful():
    """Registered as its line would register it, by its name and its class."""
    text = PAGE.read_text(encoding="utf-8")
    (block,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Doubtful" in block]
    module = types.ModuleType("doubtful")
    sys.modules["doubtful"] = module
    exec("\n".join(line.removeprefix("   ") for line in block.split("\n")), module.__dict__)
    OUTCOME_METHODS["doubtful"] = module.Doubtful()
    yield
    del OUTCOME_METHODS["doubtful"], sys.modules["doubtful"]


@pytest.mark.usefixtures("doubtful")
def test_the_method_of_the_page_estimates_without_bias_and_its_intervals_cover():
    rng = np.random.default_rng(3)
    sure = rng.uniform(0.4, 1.0, 2000)
    label = np.where(rng.random(2000) < sure, "cat", rng.choice(["dog", "owl"], 2000))
    pool = pd.DataFrame({"item_id": np.arange(2000), "prediction": "cat", "confidence": sure, "label": label})
    replayed = assay.replay(
        pool, outcome=["cat", "dog", "owl"], probability="confidence", measures="accuracy",
        methods=["doubtful", "doubtful:even=0.2"], budgets=[100], repeats=60,
    )
    rows = replayed.to_frame()
    assert set(rows.method) == {"doubtful", "doubtful:even=0.2"}
    # of 60 intervals that cover 0.95 each, 50 or fewer hold the truth with a chance of 4 in 10,000
    assert (rows.coverage >= 51 / 60).all()
    # 4.5 standard errors of a mean of 60 estimates whose own is below 0.05
    assert (rows.bias.abs() < 4.5 * 0.05 / 60**0.5).all()
