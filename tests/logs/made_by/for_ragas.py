"""Results of ragas with a metric that needs no model: no network, no key.

    python tests/logs/made_by/for_ragas.py FOLDER
"""

import os
import sys
from pathlib import Path

from traced_agent import NUMBERS, answer, question

os.environ["RAGAS_DO_NOT_TRACK"] = "true"

from ragas import EvaluationDataset, evaluate
from ragas.dataset_schema import SingleTurnSample
from ragas.metrics import StringPresence


def main(to):
    """The same frame in three forms."""
    to.mkdir(parents=True, exist_ok=True)
    samples = [
        SingleTurnSample(user_input=question(i), response=answer(i), reference=f" {2 * i}.",
                         retrieved_contexts=["Twice a number is the number and itself."])
        for i in NUMBERS
    ]
    found = evaluate(EvaluationDataset(samples=samples), metrics=[StringPresence()], show_progress=False)
    frame = found.to_pandas()
    frame.to_csv(to / "result.csv", index=False)
    frame.to_json(to / "result.json", orient="records")
    frame.to_json(to / "result.jsonl", orient="records", lines=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
