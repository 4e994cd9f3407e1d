"""Logs of lm-evaluation-harness, made by the package itself with models that are functions, on tasks of ours.

    python tests/logs/made_by/for_lm_eval.py FOLDER
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import yaml
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

COLOURS = ["red", "green", "blue", "white"]


class Made(LM):
    """Answers from the number in the question; `small` is wrong more often than `large`."""

    def __init__(self, name):
        super().__init__()
        self.name, self.often = name, 3 if name == "small" else 7

    def number(self, request):
        return int(re.search(r"(\d+)", request.arguments[0])[1])

    def loglikelihood(self, requests):
        found = []
        for request in requests:
            n = self.number(request)
            best = COLOURS[(n + (n % self.often == 0)) % 4]
            found.append((-1.0 if best in request.arguments[1] else -3.0, False))
        return found

    def loglikelihood_rolling(self, requests):
        return [-1.0 for _ in requests]

    def generate_until(self, requests):
        return [str(2 * self.number(r) + (self.number(r) % self.often == 0)) for r in requests]


def tasks(folder):
    """Two tasks of ours: one with choices, one that generates."""
    def rows(name, made):
        folder.mkdir(exist_ok=True)
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
        return {"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(path)}},
                "test_split": "test"}

    colours = [{"question": f"Which colour has number {i}?", "choices": COLOURS, "answer": i % 4,
                "subject": "old" if i < 20 else "new"} for i in range(40)]
    sums = [{"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(24)]
    written = [
        {**rows("colours", colours), "output_type": "multiple_choice", "doc_to_text": "{{question}}\nAnswer:",
         "doc_to_choice": "{{choices}}", "doc_to_target": "{{answer}}",
         "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}]},
        {**rows("sums", sums), "output_type": "generate_until", "doc_to_text": "{{question}}",
         "doc_to_target": "{{answer}}", "generation_kwargs": {"until": ["\n"]},
         "metric_list": [{"metric": "exact_match"}]},
    ]
    for task in written:
        (folder / f"{task['task']}.yaml").write_text(yaml.safe_dump(task), encoding="utf-8")


def main(to):
    """A folder for each of two models, with samples and results of two tasks."""
    to = to.resolve()
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)       # logs hold the paths of tasks: short ones, the same everywhere
        tasks(Path("tasks"))
        known = TaskManager(include_path="tasks", include_defaults=False)
        for name in ("small", "large"):
            tracker = EvaluationTracker(output_path=str(to))
            tracker.general_config_tracker.log_experiment_args(
                model_source="made", model_args=f"pretrained=made/{name}", system_instruction=None,
                chat_template=None, fewshot_as_multiturn=False,
            )
            found = simple_evaluate(model=Made(name), tasks=["colours", "sums"], task_manager=known,
                                    log_samples=True, bootstrap_iters=0)
            samples = found.pop("samples")
            tracker.save_results_aggregated(results=found, samples=samples)
            for task in found["configs"]:
                tracker.save_results_samples(task_name=task, samples=samples[task])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
