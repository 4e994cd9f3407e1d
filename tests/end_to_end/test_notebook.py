"""The loop in a notebook, in a real Jupyter kernel: what a cell shows, progress included, and no logs."""

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = [
    """\
import numpy as np
import pandas as pd

import assay

rng = np.random.default_rng(0)
spam = rng.random(400) < 0.3
score = np.where(spam, rng.normal(1, 1, 400), rng.normal(-1, 1, 400))
mails = pd.DataFrame({"text": [f"mail {i}" for i in range(400)], "score": score,
                      "predicted": np.where(score > 0, "spam", "ham"),
                      "truth": np.where(spam, "spam", "ham")})
question = dict(outcome=["spam", "ham"], prediction="predicted", score="score", measures=["f1"], budget=50)
""",
    'assay.evaluate(mails, oracle="truth", name="inline", **question)',
    """\
evaluation = assay.begin(mails, show="text", store="ledger", **question)
while len(batch := evaluation.ask()):
    evaluation.tell(batch.assign(label=[mails.truth[int(item)] for item in batch.item_id]))
evaluation
""",
    "evaluation.result.plot()",
    'assay.load(evaluation.name, store="ledger").result.value == evaluation.result.value',
    "assay.begin(mails, show='text', outcome=['spam'], prediction='predicted', measures=['f1'], budget=5)",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    folder = tmp_path_factory.mktemp("notebook")
    client = NotebookClient(
        notebook, timeout=300, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def shown(outputs, kind):
    """What cells show of a kind of data."""
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


def test_results_and_evaluations_show_themselves_as_tables(outputs):
    assert outputs[0] == []
    for cell in outputs[1:3]:
        [*_, page] = shown(cell, "text/html")
        assert "<table" in page
        assert "f1" in page
    assert shown(outputs[3], "image/png")
    assert [page for page in shown(outputs[1], "text/html") if page == ""] == [""]     # the bar, emptied
    assert shown(outputs[4], "text/plain") == ["True"]


def test_no_log_and_no_traceback_is_seen_but_for_a_mistake_that_is_said_plainly(outputs):
    for cell in outputs[:5]:
        assert not any("Warning" in text for text in shown(cell, "text/plain"))
        assert not [o for o in cell if o.output_type == "error" or o.get("name") == "stderr"]
    [mistake] = [o for o in outputs[5] if o.output_type == "error"]
    assert mistake.ename == "BadInput"
    assert "outcome" in mistake.evalue or "labels" in mistake.evalue
