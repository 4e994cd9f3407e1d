"""What every method can do, for every kind of label: `python -m benchmarks.abilities`.

Prints the tables; docs/conf.py puts them on the site. Nothing is written down by hand: the rows are those of
the registries, and an evaluation or a monitor can do what its spec is not refused for.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from assay.evalcore.errors import BadInput
from assay.evalcore.measures import registry as outcome_measures
from assay.evalcore.measures import registry as two_class_measures
from assay.evalcore.measures.measure import Setting
from assay.evalcore.methods.registry import METHODS, OUTCOME_METHODS, of_two_classes_alone
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes, preferences
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags
from assay.tasks.spec.errors import refusal as told
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

# labels of each kind, their pool's columns, and a measure that all methods know
_PREDICTED = {"prediction": "p"}
_ONE = "one class of several"   # asked for by every measure: methods of two classes alone take it too
_KINDS: Mapping[str, tuple[dict[str, Any], dict[str, Any], str, OutcomeKind | None]] = {
    "two classes": ({"positive": "a", "negative": "b"}, _PREDICTED | {"score": "s"}, "accuracy", None),
    "classes": ({"classes": ["a", "b", "c"]}, _PREDICTED, "accuracy", Classes(("a", "b", "c"))),
    _ONE: ({"classes": ["a", "b", "c"]}, _PREDICTED, "f1", Classes(("a", "b", "c"))),
    "grades": ({"grades": [1, 2, 3]}, _PREDICTED, "accuracy", Classes(("1", "2", "3"), (1.0, 2.0, 3.0))),
    "tags": ({"tags": ["a", "b", "c"]}, _PREDICTED, "micro_f1", Tags(("a", "b", "c"))),
    "numbers": ({"number": {"min": 0, "max": 9}}, _PREDICTED, "mae", Numbers(0.0, 9.0)),
    "preferences": (
        {"prefer": ["a", "b"], "tie": True}, _PREDICTED | {"display": ["a", "b"]}, "win_rate",
        preferences("a", "b", "tie"),
    ),
}
_HEAD = (
    "method", "labels", "measures", "evaluations", "several systems", "segments", "warm start", "monitors",
    "weights",
)


def accepted(kind: str, method: str, *, monitor: bool = False, **more: Any) -> bool:
    """Whether a spec with these labels, this method and these keys besides is one: see `refusal`."""
    return not refusal(kind, method, monitor=monitor, **more)


def refusal(kind: str, method: str, *, monitor: bool = False, **more: Any) -> str:
    """Why a spec with these labels, this method and these keys besides is none; empty where it is one.

    pool_… stands for a key of the pool, monitor_… of the monitor; None leaves a key of the pool out.
    """
    labels, columns, measure, _ = _KINDS[kind]
    pool = {"source": "pool.parquet", "id": "id", "display": ["t"]} | columns
    if method in OUTCOME_METHODS and OUTCOME_METHODS[method].capabilities.needs_clusters:
        pool["cluster"] = "document"
    pool |= {key.removeprefix("pool_"): value for key, value in more.items() if key.startswith("pool_")}
    pool = {key: value for key, value in pool.items() if value is not None}
    data: dict[str, Any] = {
        "name": "trial", "pool": pool, "labels": labels, "method": method,
        "measure": {"name": measure, "class": "a"} if kind == _ONE else measure,
        "target": {"half_width": 0.05}, "budget": {"labels": 100}, "desk": {"kind": "caller"},
    } | {key: value for key, value in more.items() if not key.startswith(("pool_", "monitor_"))}
    if monitor:
        data["pool"] = pool | {"source": "dt={date}/pool.parquet"}
        watched = {key.removeprefix("monitor_"): v for key, v in more.items() if key.startswith("monitor_")}
        data |= {"threshold": {"min": 0.8}, "monitor": {
            "first": "2026-11-01", "schedule": {"cron": "0 6 * * *"}, "monthly_labels": 1000, **watched,
        }}
    try:
        (MonitorSpec if monitor else Spec).model_validate(data)
    except ValidationError as error:
        return str(told(error, Spec, "")).removeprefix(": ")
    return ""


def _cells(kind: str, method: str) -> list[str]:
    other = {"other": {"prediction": "q"}}
    both = {"old": {"prediction": "p"}} | other
    asked: Mapping[str, Callable[[], bool]] = {
        "evaluations": lambda: accepted(kind, method),
        # compared, or judged beside the pool's own prediction
        "several systems": lambda: (
            accepted(kind, method, pool_systems=both, pool_prediction=None, pool_score=None)
            or accepted(kind, method, pool_systems=other)
        ),
        "segments": lambda: accepted(kind, method, pool_segments=["region"]),
        "warm start": lambda: accepted(kind, method, warm_start={"evaluation": "before"}),
        "monitors": lambda: accepted(kind, method, monitor=True),
    }
    return ["yes" if able() else "–" for able in asked.values()]


def measures(kind: str) -> list[str]:
    """The measures of a kind of labels, in alphabetical order."""
    outcome = _KINDS[kind][3]
    if outcome is None:
        return sorted(two_class_measures.names())
    return [
        name for name in outcome_measures.measure_names(outcome.name) if _exists(name, outcome)
        and (kind != _ONE or "class" in outcome_measures.MEASURES_BY_KIND[outcome.name, name].options)
    ]


def _exists(name: str, outcome: OutcomeKind) -> bool:
    """Whether a measure can be made of these labels: some need classes with values."""
    examples: dict[str, Setting] = {"at": (0.5,), "k": 1, "class": next(iter(outcome.parts), "")}
    taken = outcome_measures.MEASURES_BY_KIND[outcome.name, name].options
    try:
        outcome_measures.outcome_measure(
            name, outcome, 1, options={option: examples[option] for option in taken if option in examples}
        )
    except BadInput:
        return False
    return True


def rows() -> list[tuple[str, ...]]:
    """A row for each method and kind of labels that it is registered for; without the heading."""
    found = []
    for name, one in METHODS.items():
        weights = "yes" if one.capabilities.weighting != "none" else "–"
        n = str(len(measures("two classes")))
        found.append((f"`{name}`", "two classes", n, *_cells("two classes", name), weights))
        if of_two_classes_alone(name):
            n = str(len({*measures("two classes")} & {*measures(_ONE)}))
            found.append((f"`{name}`", _ONE, n, *_cells(_ONE, name), weights))
    for name, method in OUTCOME_METHODS.items():
        for kind, (_, _, _, outcome) in _KINDS.items():
            if outcome is not None and outcome.name in method.kinds:
                cells = _cells(kind, name)
                # weights are of evaluations
                found.append((f"`{name}`", kind, str(len(measures(kind))), *cells, cells[0]))
    return found


def table() -> str:
    """What each method can do, in Markdown."""
    return _markdown([_HEAD, *rows()])


def table_of_measures() -> str:
    """The measures of each kind of labels, in Markdown."""
    told = [(kind, " ".join(f"`{name}`" for name in measures(kind))) for kind in _KINDS]
    return _markdown([("labels", "measures"), *told])


def _markdown(lines: Sequence[tuple[str, ...]]) -> str:
    """The first line is the heading."""
    ruled = [lines[0], ("---",) * len(lines[0]), *lines[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in ruled)


_BOTH = {"old": {"prediction": "p"}, "other": {"prediction": "q"}}
_CURVE = {"name": "roc_auc", "class": "a"}
_POINTS = {"name": "pr_curve", "class": "a", "at": [0.2, 0.5]}
_FEATURES: Mapping[str, dict[str, Any]] = {   # what is asked, and the keys that ask for it
    "several systems compared": {"pool_systems": _BOTH, "pool_prediction": None, "pool_score": None},
    "segments": {"pool_segments": ["region"]},
    "clusters": {"pool_cluster": "document"},
    "judges": {"pool_judge": ["j"]},
    "judges of compared systems": {"pool_judge": ["j"], "pool_systems": _BOTH, "pool_prediction": None,
                                   "pool_score": None},
    "covariates": {"pool_covariates": ["length"]},
    "a spread of predictions": {"pool_spread": "doubt"},
    "areas under curves": {"measure": [_CURVE]},
    "measures that drive": {"drive": ["accuracy", "micro_f1", "mae", "win_rate"]},
    "outcomes known beforehand": {"outcomes": {"source": "known.csv"}},
    "outcomes known beforehand, by segment": {"outcomes": {"source": "known.csv"},
                                              "pool_segments": ["region"]},
    "labels of an earlier evaluation": {"warm_start": {"evaluation": "before"}},
    "an audit": {"budget": {"labels": 100, "audit": 20}},
    "monitors": {"monitor": True},
    "segments of compared systems": {"pool_segments": ["region"], "pool_systems": _BOTH,
                                     "pool_prediction": None, "pool_score": None},
    "segments of clusters": {"pool_segments": ["region"], "pool_cluster": "document"},
    "areas under curves in segments": {"measure": [_CURVE], "pool_segments": ["region"]},
    "monitors of clusters": {"monitor": True, "pool_cluster": "document"},
    "monitors of two systems": {"monitor": True, "pool_systems": _BOTH, "pool_prediction": None,
                                "pool_score": None},
    "areas under curves in monitors": {"monitor": True, "measure": [_CURVE]},
    "drops of two systems in monitors": {"monitor": True, "pool_systems": _BOTH, "pool_prediction": None,
                                         "pool_score": None, "monitor_drop": {"by": 0.05}},
    "outcomes in monitors": {"monitor": True, "outcomes": {"source": "dt={date}/known.csv"}},
    "a limit": {"threshold": {"min": 0.5}},
    "a limit on the points of a curve": {"measure": [_POINTS], "threshold": {"min": 0.5}},
    "whole clusters drawn": {"method": "whole-clusters", "pool_cluster": "document"},
    "whole clusters drawn in monitors": {"monitor": True, "method": "whole-clusters",
                                         "pool_cluster": "document"},
    "cuts by features": {"method": "stratified:partition=kd-tree", "pool_features": ["x"]},
    "independent coins": {"method": "bernoulli:draws=independent"},
    "an even share for other measures": {"method": "dirichlet-tree:reuse=0.1"},
    "an even part of static draws": {"method": "static-is:epsilon=0.1:secondary-mixing=0.2"},
    "static draws divided by their weights": {"method": "static-is:self-normalised=true"},
    "the ε of footnote 3": {"method": "bernoulli:epsilon=0.1"},
    "how finely one score is modelled": {"method": "recalibrated:n-strata=32"},
    "self-normalised estimates": {"method": "dirichlet-tree:self-normalised=true"},
    "intervals and regions as printed": {"method": "dirichlet-tree:variance=printed:region-quantile=F"},
    "further systems beside a prediction": {"method": "recycle",
                                            "pool_systems": {"other": {"prediction": "q"}}},
    "simulated people who miss what is there": {"desk": {
        "kind": "simulated", "labels": "labels.csv", "annotators": [{"miss": 0.1}],
    }},
    "items asked anew": {"method": "dirichlet-tree-stochastic:requery=rounds"},
}
_OF_CURVES = ([_CURVE], [_POINTS])


def features() -> tuple[str, ...]:
    """What can be asked for, as the table has it."""
    return tuple(_FEATURES)


def kinds() -> tuple[str, ...]:
    """The kinds of labels, as the tables have them."""
    return tuple(_KINDS)


def why_not(feature: str, kind: str) -> str:
    """What a spec of this kind of labels is told that asks for a feature; empty where it can have it."""
    given = dict(_FEATURES[feature])
    alone = _KINDS[kind][2]
    if "drive" in given:
        given["drive"] = [alone]
    if given.get("measure") in _OF_CURVES:
        (curve,) = given["measure"]
        of_class = {"two classes": {}, "grades": {"class": "1"}}.get(kind, {"class": "a"})
        curve = {key: value for key, value in curve.items() if key != "class"} | of_class
        given["pool_probability"] = {"prefix": "p_"} if kind != "two classes" else None
        given["measure"] = [curve]
        if "monitor" in given:     # which watches another measure
            given["measure"] = [{"name": alone, "class": "a"} if kind == _ONE else alone, curve]
    why = refusal(kind, given.pop("method", "auto"), **given).split("; use")[0]
    return why.replace("measure[1]", "measure[0]")   # wherever it is listed


def table_of_features() -> str:
    """What an evaluation by `auto` can be asked for, by kind of labels, and why not where it cannot."""
    lines: list[tuple[str, ...]] = [("asked for", *_KINDS)]
    notes: list[str] = []
    for feature in _FEATURES:
        cells = []
        for kind in _KINDS:
            why = why_not(feature, kind)
            if why and why not in notes:
                notes.append(why)
            cells.append("yes" if not why else f"({notes.index(why) + 1})")
        lines.append((feature, *cells))
    told = "\n".join(f"{n}. {why}" for n, why in enumerate(notes, 1))
    return f"{_markdown(lines)}\n\n{told}"


def every_table() -> str:
    """All three tables, with the words between them."""
    return (
        f"## Methods\n\n{table()}\n\n## Measures of each kind of labels\n\n{table_of_measures()}\n\n"
        f"## What `auto` can be asked for\n\nAnd what a spec that cannot have it is told.\n\n"
        f"{table_of_features()}"
    )


if __name__ == "__main__":
    print(every_table())
