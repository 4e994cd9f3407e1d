"""Runs of HELM: a folder for each below `benchmark_output/runs/SUITE`, written by `helm-run`.

    scenario_state.json        the requests for each instance and what the model completed
    per_instance_stats.json    what each metric says of an instance (no judges are those that count or bill)
    run_spec.json              the name of the run

Without the first the responses stand in `display_predictions.json` of `helm-summarize`, and the questions in
`instances.json`.  Of choices that were tried one by one the response is the one that HELM found likeliest.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.records import LogEntry, Notes, SystemResponse
from assay.tasks.connectors.shapes import Scores, Shape, members, text_at, value_at
from assay.tasks.connectors.turns import text_or_json

_STATE, _SHOWN = "scenario_state.json", "display_predictions.json"
_NO_JUDGES = ("num_", "finish_reason_", "inference_", "training_", "max_prob", "logprob", "batch_size",
              "prompt_truncated", "perplexity", "bits_per_byte", "predicted_index", "runtime")
_TEXT = "output.text|output"       # of one of the answers that an instance lists


class HelmRuns(LogImporter):
    """Runs of HELM."""

    name = "helm"
    reads = "runs of HELM (the folders of benchmark_output/runs, with scenario_state.json)"
    marks = ("request_states adapter_spec", "instance_id stats", "adapter_spec metric_specs")
    record, lost = "request", "requests that failed, or without a response"
    shape = Shape(
        question_id="instance.id|instance_id", question="instance.input.text|instance.input|request.prompt",
        system="request.model|adapter_spec.model", task="scenario", run="run", repeat="trial",
        error="result.error", about=("about",),
        scores=(Scores(at="stats", name="name.name|name", value="mean|value"),),
    )

    def records(self, place: Place, notes: Notes) -> Iterator[LogEntry]:
        """Requests, each with what was said of its instance; none of the files that lie beside them.

        Raises BadInput where nothing says what the model answered.
        """
        beside = {path.name.removesuffix(".gz"): Place(str(path)) for path in place.path.parent.iterdir()}
        holds_requests = "request_states" in place.keys
        if not holds_requests and (_STATE in beside or place.path.name.removesuffix(".gz") != _SHOWN):
            if not {_STATE, _SHOWN} & set(beside):
                raise BadInput(f"{place.address}: says nothing of responses; {_STATE} of the same run has to "
                               "lie beside it")
            return
        spec = beside["run_spec.json"].whole() if "run_spec.json" in beside else {}
        state = place.whole() if holds_requests else {}
        run = text_at(spec, "name") or place.path.absolute().parent.name
        stats, instances = (
            _by_instance(beside, name) for name in ("per_instance_stats.json", "instances.json"))
        for request in state["request_states"] if holds_requests else place.values():
            key = _instance(request)
            scores = [score for entry in stats[key] for score in entry.get("stats") or ()] or [
                *members(request.get("stats"))]
            by_name = {text_at(score, "name.name|name"): score for score in scores}
            tried = request.get("reference_index")
            if tried is not None and text_at(by_name.get("predicted_index"), "mean") != f"{float(tried)}":
                notes.leave_out("requests for a choice that HELM did not find the likeliest")
                continue
            judges = [score for name, score in by_name.items() if not name.startswith(_NO_JUDGES)]
            notes.leave_out("metrics that count, time or bill", len(by_name) - len(judges))
            yield {
                "adapter_spec": state.get("adapter_spec") or spec.get("adapter_spec"), "instance": next(
                    iter(instances[*key[:2], "0"]), {}), **request, "stats": judges, "run": run,
                "scenario": run.partition("model=")[0].rstrip(":,"), "trial": int(key[2]) + 1,
                "about": {"perturbation": key[1] or None},
            }

    def response(self, record: LogEntry, notes: Notes) -> SystemResponse | None:
        """The first completion; of a question with choices the choice."""
        completions = value_at(record, "result.completions") or [{"text": record.get("predicted_text")}]
        text, letters = notes.first_answer(completions).get("text"), record.get("output_mapping") or {}
        options = {text_at(one, _TEXT): "correct" in (one.get("tags") or ()) for one in value_at(
            record, "instance.references") or ()}
        tried, question = record.get("reference_index"), text_at(record, self.shape.question)
        choice = [*options][tried] if tried is not None else next(
            (letter for letter in letters if letter == str(text).strip()), None)
        if choice is not None:
            listed = [f"{letter}) {option}" for letter, option in letters.items()]
            question = "\n\n".join((question, "\n".join(listed or [f"- {option}" for option in options])))
        right = [option for option, correct in options.items() if correct]
        if choice in letters:
            right = [letter for letter, option in letters.items() if option in right]
        return self.shape.response_of(
            record, notes, question=question, choice=choice, reference=" | ".join(right) or None,
            response=text if tried is None else choice)


def _by_instance(beside: Mapping[str, Place], file: str) -> Mapping[tuple[str, ...], list[Any]]:
    entries: defaultdict[tuple[str, ...], list[Any]] = defaultdict(list)
    for entry in beside[file].values() if file in beside else ():
        entries[_instance(entry)].append(entry)
    return entries


def _instance(entry: LogEntry) -> tuple[str, str, str]:
    """Which instance a record is of: its id, how it was disturbed, and which time it was tried."""
    disturbed = value_at(entry, "perturbation|instance.perturbation")
    return (text_at(entry, "instance_id|instance.id|id"), text_or_json(disturbed) if disturbed else "",
            text_at(entry, "train_trial_index") or "0")
