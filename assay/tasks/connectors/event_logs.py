"""Logs of OpenAI's evals: `oaieval MODEL EVAL` writes events, one a line, to a file in /tmp/evallogs.

The first line says which model and which evaluation it was, the last one the totals.  Events of a sample:
`sampling` is what the model was asked and said (what a grader was asked comes later), `match` and `metrics`
are what was made of it, `raw_sample` the question with its ideal answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.records import LogEntry, Notes
from assay.tasks.connectors.shapes import Scores, Shape, value_at

_NO_SCORES = ("expected", "picked", "sampled", "options", "prompt", "input", "ideal", "completion")


class OpenAiEvals(LogImporter):
    """Logs of OpenAI's evals."""

    name = "openai-evals"
    reads = "logs of OpenAI's evals (.jsonl of events, as oaieval writes them)"
    marks = ("spec spec:eval_name", "run_id event_id sample_id", "spec spec:completion_fns")
    record, lost = "sample", "samples without a response"
    shape = Shape(
        question_id="id", run="run_id", task="spec.eval_name|spec.base_eval", system="model",
        question="sampling.prompt|match.prompt|raw_sample.input|match.input",
        response="sampling.sampled|match.sampled|match.picked",
        reference="match.expected|raw_sample.ideal|match.ideal|metrics.expected", error="error.message",
        scores=(Scores(at="scores", value="given"),),
    )

    def records(self, place: Place, notes: Notes) -> Iterator[LogEntry]:
        """The events of each sample together, which are held in memory."""
        spec: Any = {}
        samples: dict[str, dict[str, Any]] = {}
        for event in place.values():
            spec = event.get("spec", spec)
            if "sample_id" not in event:
                continue
            kind, held = str(event["type"]), event.get("data") or {}
            sample = samples.setdefault(str(event["sample_id"]), {
                "id": event["sample_id"], "run_id": event.get("run_id"), "scores": {}})
            if kind == "sampling" and "sampling" in sample:
                notes.leave_out("further samplings of a sample, such as those of a grader")
            elif kind in ("match", "metrics"):
                sample["scores"] |= {name: value for name, value in held.items() if name not in _NO_SCORES}
                sample[kind] = held
            else:
                sample[kind] = held
        models = value_at(spec, "completion_fns|model_names|model_name|model")
        names = models if isinstance(models, list) else list(models.values()) if isinstance(
            models, Mapping) else [models]
        model = next((str(name) for name in names if isinstance(name, str)), "")
        for sample in samples.values():
            texts = value_at(sample, "sampling.sampled")
            if isinstance(texts, list):
                sample["sampling"] = {**sample["sampling"], "sampled": notes.first_answer(texts)}
            yield {**sample, "spec": spec, "model": model}
