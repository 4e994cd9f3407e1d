"""Methods with the settings of their papers, from a frame to a verified ledger."""

import numpy as np
import pandas as pd
import pytest

import assay
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import open_store


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    score = rng.normal(size=60)
    spam = score + rng.normal(size=60) > 0.8
    return pd.DataFrame({
        "item_id": [f"i{k}" for k in range(60)], "score": score, "chance": 1 / (1 + np.exp(1 - 2 * score)),
        "said": np.where(score > 0.7, "spam", "ham"), "truth": np.where(spam, "spam", "ham"),
    })


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("bernoulli-online:draws=independent:combination=equal", "beta"),
        ("sawade:variance=printed", "student-as-printed"),
    ],
)
def test_an_evaluation_with_the_paper_s_settings_is_verified(frame, tmp_path, monkeypatch, method, kind):
    monkeypatch.chdir(tmp_path)     # where the frame is kept
    store = str(tmp_path / "ledger")
    result = assay.evaluate(
        frame, oracle="truth", id="item_id", outcome=["ham", "spam"], prediction="said", score="score",
        probability="chance", measures=["f1"], method=method, batch_size=2, budget=12, seed=3,
        name="as-printed", store=store,
    )
    assert result.state == "finished"
    assert result.labels >= 12
    assert [row.interval for row in result.estimates] == [kind]
    assert verify(open_store(store), "as-printed").differences == ()
