"""A test run of DeepEval with a metric that is a rule: no network, no key.

    python tests/logs/made_by/for_deepeval.py FOLDER
"""

import os
import sys
import tempfile
from pathlib import Path

from traced_agent import NUMBERS, answer, question

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_RESULTS_FOLDER": tempfile.mkdtemp()}

from deepeval import evaluate
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase, ToolCall


class Right(BaseMetric):
    """Whether the number is in the answer."""

    def __init__(self):
        self.threshold, self.evaluation_model, self.async_mode, self.error = 0.5, "a rule", False, None
        self.include_reason, self.strict_mode, self.verbose_mode = True, False, False

    def measure(self, test_case, *args, **kwargs):
        """1 or 0."""
        self.score = float(test_case.expected_output in test_case.actual_output)
        self.success, self.reason = self.score >= self.threshold, "looked for the number"
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        """The same."""
        return self.measure(test_case)

    def is_successful(self):
        """Whether it passed."""
        return self.success

    @property
    def __name__(self):
        return "Right"


def main(to):
    """One file."""
    to.mkdir(parents=True, exist_ok=True)
    evaluate([
        LLMTestCase(
            name=f"sum-{i}", input=question(i), actual_output=answer(i), expected_output=str(2 * i),
            retrieval_context=["Twice a number is the number and itself."],
            tools_called=[ToolCall(name="double", input_parameters={"n": i}, output=2 * i)],
        ) for i in NUMBERS
    ], [Right()])
    [written] = Path(os.environ["DEEPEVAL_RESULTS_FOLDER"]).glob("test_run_*.json")
    (to / "test_run.json").write_text(written.read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
