"""A spec to start from, with the names that were found, and the questions that the file leaves open."""

import math
import shlex
from collections.abc import Iterable
from contextlib import suppress

from assay.evalcore.json_values import Json, JsonObject
from assay.evalcore.outcomes.tags import tags_in
from assay.tasks.doctor.numbers import ClassNames
from assay.tasks.doctor.one_per_class import common_prefix, endings
from assay.tasks.doctor.roles import OpenChoice, Roles
from assay.tasks.doctor.scan import Scan
from assay.tasks.sources.files.file import trial_name
from assay.tasks.spec.goals import target_within
from assay.tasks.spec.strict_yaml import written_yaml

OF_TWO_CLASSES = ("f1", "precision", "recall")   # measures; a file is examined for what they take
OF_PROBABILITIES = ("log_loss", "brier")         # of several classes, where nothing is predicted
_PRECISE = 0.1        # half-width of a measure of numbers, as a share of their spread
_NARROW = 0.05        # of other measures
_LABELS = 500
_BATCH = 25


def suggest_spec(
    source: str, roles: Roles, scan: Scan, *, classes: ClassNames | None, threshold: float | None,
    spread: float,
) -> str:
    """YAML. It loads as it stands where the file says everything; else the comments say what to put in.

    classes     of a file with two classes that has a score or a probability
    threshold   between the predictions, where the file has none of its own
    spread      standard deviation of labels or predictions that are numbers

    Where every row is labelled, the desk is simulated with those labels.
    """
    has_labels = roles.label is not None and scan.rows > 0 and not scan.missing_labels
    labels, measures = _labels_and_measures(roles, scan, classes)
    half_width = _rounded(_PRECISE * spread) if roles.outcome == "number" else _NARROW
    budget = max(min(_LABELS, scan.total), 1)
    spec: JsonObject = {
        "name": trial_name(source),
        "pool": _pool(source, roles, threshold, labels),
        "labels": labels,
        "measure": measures,
        "target": target_within(half_width, budget, _BATCH),
        "budget": {"labels": budget},
        "batch_size": _BATCH,
        "method": "auto",
        "desk": _desk(source, roles) if has_labels else {"kind": "folder", "path": "./labelling"},
        "store": "./assay-ledger",
        "seed": 7,
    }
    head = _head(roles, has_labels, scan.which("row"))
    return head + written_yaml(spec)


def _pool(source: str, roles: Roles, threshold: float | None, labels: JsonObject) -> JsonObject:
    pool: JsonObject = {"source": source, "id": roles.id or ""}
    if roles.score is not None:
        pool["score"] = roles.score
    if roles.probability is not None:
        pool["probability"] = roles.probability
    elif roles.per_class and (chances := _per_class(roles, labels)):
        pool["probability"] = chances
    if roles.prediction is not None:
        pool["prediction"] = roles.prediction
    elif roles.outcome == "two classes":
        pool["threshold"] = threshold if threshold is not None else 0.5
    if roles.judges:
        pool["judge"] = list(roles.judges)
    if roles.display:
        pool["display"] = list(roles.display)
    if roles.segments:
        pool["segments"] = list(roles.segments)
    return pool


def _labels_and_measures(
    roles: Roles, scan: Scan, classes: ClassNames | None
) -> tuple[JsonObject, list[Json]]:
    if roles.outcome == "number":
        return {"number": {}}, ["mae", "bias"] if roles.prediction else ["mean"]
    if roles.outcome == "tags":
        tags = {tag for text in (*scan.predictions, *scan.labels) for tag in tags_in(text)}
        return {"tags": sorted(tags)}, ["micro_f1", "subset_accuracy"] if roles.prediction else ["rate"]
    if roles.outcome == "two classes":
        positive, negative = classes.words if classes else ("", "")
        return {"positive": positive, "negative": negative}, [*OF_TWO_CLASSES]
    names = sorted({*scan.predictions, *scan.labels} or set(endings(roles.per_class)))
    if set(names) < set(endings(roles.per_class)):
        names = sorted(endings(roles.per_class))       # a class may have a probability and never occur
    if roles.outcome == "grades":
        return {"grades": _grades(names)}, _of_grades(roles)
    if len(names) == 1 and classes:
        names = [*classes.predicted]       # the other one is not there
    if len(names) == 2 and roles.prediction is not None:
        positive = classes.predicted[0] if classes else names[0]
        return {"classes": names}, [{"name": m, "class": positive} for m in OF_TWO_CLASSES]
    labels: JsonObject = {"classes": names}
    if roles.prediction is not None:
        return labels, ["accuracy", "macro_f1"]
    return labels, [*OF_PROBABILITIES] if roles.per_class and _per_class(roles, labels) else ["rate"]


def _grades(names: Iterable[str]) -> list[Json]:
    """In order, each once, whole ones without a fraction; what is no number was found to be a problem."""
    grades: set[float] = set()
    for name in names:
        with suppress(ValueError):
            grades.add(float(name))
    return [int(grade) if grade.is_integer() else grade for grade in sorted(grades) if math.isfinite(grade)]


def _of_grades(roles: Roles) -> list[Json]:
    return ["accuracy", "mae", "bias"] if roles.prediction else ["mean"]


def _per_class(roles: Roles, labels: JsonObject) -> JsonObject | None:
    """`prefix`, or each class with its column; None where nothing says which is whose."""
    names, columns = labels.get("classes") or labels.get("grades"), roles.per_class
    if not isinstance(names, list):
        return None
    prefix = common_prefix(columns)
    if prefix and {prefix + str(name) for name in names} == set(columns):
        return {"prefix": prefix}
    by_class = {} if roles.of_classes is None else dict(roles.of_classes.columns)
    if set(by_class) != set(map(str, names)):
        plain = {_plain(ending): column for ending, column in zip(endings(columns), columns, strict=True)}
        by_class = {str(name): plain[_plain(str(name))] for name in names if _plain(str(name)) in plain}
    return dict(by_class) if len(by_class) == len(names) else None


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def _desk(source: str, roles: Roles) -> JsonObject:
    desk: JsonObject = {"kind": "simulated", "labels": source}
    if roles.label != "label":
        desk["label"] = roles.label
    return desk


def _head(roles: Roles, has_labels: bool, row: str) -> str:
    lines = ["Suggested by `assay doctor`: the columns are guessed; check each of them."]
    lines += [f"QUESTION: {_asked(question)}" for question in roles.questions]
    if roles.id is None:
        lines.append("QUESTION: which column names each item? Put it under pool.id; every row needs its own.")
    lines += [f"QUESTION: does {name!r} hold the true labels? Then run again with --label "
              f"{shlex.quote(name)}."
              for name in roles.perhaps_labels]
    if has_labels:
        lines.append(f"Every {row} is labelled, so the desk is simulated: a trial run that asks nobody.")
    elif not roles.display:
        lines.append("Add pool.display, the columns people need to see: without it nobody can label.")
    return "".join(f"# {line}\n" for line in lines)


def _asked(question: OpenChoice) -> str:
    other_choices = [repr(choice) for choice in question.choices if choice != question.taken]
    instead = f"; else {' or '.join(other_choices)}" if other_choices else ""
    return f"{question.asks} Taken: {question.taken!r}{instead} ({question.option})"


def _rounded(value: float) -> float:
    """To one significant figure; 1 for no spread at all."""
    return float(f"{value:.1g}") if value > 0 and math.isfinite(value) else 1.0
