"""The Brier score and log loss of a positive and a negative class (Table 1 of Marchant & Rubinstein 2021)."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, log_loss

import assay
from assay.errors import BadInput


@pytest.fixture
def mails():
    rng = np.random.default_rng(0)
    chance = 1 / (1 + np.exp(-2 * rng.normal(size=160)))
    spam = rng.random(160) < chance
    return pd.DataFrame({
        "item_id": [f"i{k}" for k in range(160)], "chance": chance, "score": np.log(chance / (1 - chance)),
        "said": np.where(chance > 0.5, "spam", "ham"), "truth": np.where(spam, "spam", "ham"),
    })


def test_all_labels_give_the_values_of_another_library(mails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = assay.evaluate(
        mails, oracle="truth", id="item_id", outcome=["spam", "ham"], prediction="said", probability="chance",
        measures=["brier", "log_loss", "f1"], budget=160, batch_size=80, target={}, store="ledger",
    )
    value = {row.measure: row.value for row in found.estimates}
    y = mails["truth"] == "spam"
    # 2 (p - y)² in the table, and the square alone in scikit-learn
    assert value["brier"] == pytest.approx(brier_score_loss(y, mails["chance"]), abs=1e-6)
    assert value["log_loss"] == pytest.approx(log_loss(y, mails["chance"]), abs=1e-5)
    assert {"brier", "log_loss", "f1"} == set(value)


def test_a_score_is_no_probability(mails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="needs probabilities, and a score is none"):
        assay.begin(mails, id="item_id", outcome=["spam", "ham"], prediction="said", score="score",
                    measures=["brier"], budget=40, target={}, store="ledger")
