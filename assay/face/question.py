"""From the arguments of `begin`, `evaluate`, `replay` and `estimate` to what is asked: one meaning in all.

    outcome    two names: the positive class and the negative one; more names: classes; numbers: grades from
               the lowest; "number"; a mapping, as under `labels` in a spec; a list of mappings: several
               questions, each with a name, what may be answered, its columns and its measures
    measures   one or several: "f1", "recall(cat)", "fbeta(2)", or {"name": "fbeta", "beta": 2}
    systems    {name: predictions}, or {name: {"prediction": ...}}, {name: {"score": ..., "threshold": 0.5}}

A column is its name, or the values themselves (`assay.face.frames`).
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from assay.evalcore.errors import BadInput, nearest
from assay.evalcore.evaluation.stopping import least_budget
from assay.evalcore.json_values import Json, JsonMapping, JsonObject, entries_of, mapping_of
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.class_names import ClassReader
from assay.evalcore.outcomes.classes import GUESSED_CLASS_PROBABILITY
from assay.face.arguments import BATCH_SIZE
from assay.face.frames import FrameSource
from assay.tasks.sources.values import as_text
from assay.tasks.spec.consistency import never_met
from assay.tasks.spec.evaluation import Spec, refuse_idle_keys
from assay.tasks.spec.goals import MeasureChoice, named_measure, written_measure
from assay.tasks.spec.labels.classes import Grades, TwoClasses
from assay.tasks.spec.labels.kinds import Labels, two_classes_as

BUDGET, HALF_WIDTH = 500, 0.05   # labels, and half the width of an interval, where no argument says them
KINDS = ("classes", "grades", "tags", "number", "preference")

OF_POOL = {       # argument -> key under `pool`
    "prediction": "prediction", "score": "score", "probability": "probability", "threshold": "threshold",
    "thresholds": "thresholds", "judge": "judge", "earlier": "earlier", "covariates": "covariates",
    "spread": "spread", "cluster": "cluster", "weight": "weight", "strata": "strata",
    "rank": "rank", "systems": "systems",
    "baseline": "baseline", "pairs": "pairs", "margin": "margin",
    "contenders": "contenders", "features": "features",
    "show": "display", "show_as": "show_as", "segments": "segments", "id": "id",
}
COLUMNS = (
    "prediction", "score", "probability", "judge", "earlier", "covariates", "spread", "cluster", "weight",
    "strata", "rank", "systems", "features", "show", "segments", "id",
)
_OF_SPEC = {      # argument -> key, of those with another name in a spec
    "outcome": "labels", "measures": "measure", "limit": "limit", "target": "target", "budget": "budget",
}
_DEFAULTS = {"method": "auto", "seed": 0, "batch_size": BATCH_SIZE}   # what a spec takes for not said
_LABELS: TypeAdapter[Labels] = TypeAdapter(Labels)
_LISTED = ("show", "segments", "features", "thresholds", "covariates", "earlier")


def spec_of(source: FrameSource, arguments: Mapping[str, object]) -> Spec:
    """The spec of the arguments of `begin`. Raises BadInput naming each argument that is wrong."""
    held = arguments.get("labels_so_far")
    if held is not None and not isinstance(held, Mapping):
        raise BadInput(f"labels_so_far: a {type(held).__name__} does not say how its labels were drawn; give "
                       "{'source': FILE, 'label': COLUMN, 'drawn': 'random'}")
    options = {
        name: _plain(value) for name, value in arguments.items()
        if value is not None and value != _DEFAULTS.get(name, ())
    }
    pool: JsonObject = {"source": source.path, "id": source.id}
    for name, key in OF_POOL.items():
        if name in options and name != "id" and options[name] != ():
            pool[key] = listed(options[name]) if name in _LISTED else options[name]
    systems = pool.get("systems")
    if isinstance(systems, Mapping):
        pool["systems"] = systems_of(systems)
    labels = labels_of(options.get("outcome"))
    if isinstance(labels, list) and any("measure" in question for question in labels):
        options.setdefault("measures", [])
    if "measures" not in options:
        raise BadInput("measures: name at least one, such as measures=['f1']")
    data: JsonObject = {
        "pool": pool,
        "labels": labels,
        "measure": [_in_spec(measure) for measure in listed(options["measures"])],
        **_goals(source, options),
        "desk": {"kind": "caller"},
        **{name: value for name, value in options.items()
           if name not in (*OF_POOL, *_OF_SPEC, "confidence", "store")},
    }
    if "limit" in options:
        data["limit"] = options["limit"]
    if "name" not in data:
        data["name"] = _named(data)
    try:
        spec = Spec.from_json(data, origin="")
    except BadInput as error:
        raise BadInput(in_python(str(error).removeprefix(": "))) from None
    _check_goals(source, spec)
    try:
        refuse_idle_keys(spec, "")
    except BadInput as error:
        raise BadInput(in_python(str(error).removeprefix(": "))) from None
    return spec


def _goals(source: FrameSource, options: JsonMapping) -> JsonObject:
    """`target` and `budget`: where no target is asked for and the budget can meet none, there is none."""
    budget = options.get("budget")
    if not isinstance(budget, Mapping):
        budget = {"labels": _affordable(source) if budget is None else budget}
    target = options.get("target")
    if target is None:
        labels, size = budget.get("labels"), options.get("batch_size", BATCH_SIZE)
        if isinstance(labels, int) and isinstance(size, int) and size > 0 and labels >= least_budget(size):
            target = {"half_width": HALF_WIDTH}
        else:
            target = {}
    elif not isinstance(target, Mapping):
        target = {"half_width": target}
    confidence = options["confidence"]
    if confidence != GUESSED_CLASS_PROBABILITY:
        if target.get("confidence", confidence) != confidence:
            raise BadInput("confidence: the target has another one; say it once")
        target = {**target, "confidence": confidence}
    return {"target": target, "budget": budget}


def _check_goals(source: FrameSource, spec: Spec) -> None:
    """Raises BadInput for a target that cannot be met; every row of a small frame may be labelled."""
    every = source.table is not None and spec.budget.labels >= len(source.table)
    never = None if every else never_met(
        spec.target, spec.budget, spec.batch_size, spec.chosen_method, has_labels=spec.knows_labels
    )
    if never:
        raise BadInput(f"budget {never}")


def _affordable(source: FrameSource) -> int:
    """The budget where none is named."""
    return BUDGET if source.table is None else max(1, min(BUDGET, len(source.table)))


def _named(data: JsonMapping) -> str:
    """A name of the question: the same for the same question about the same rows."""
    pool = mapping_of(data["pool"])
    content: JsonObject = {**data, "pool": {**pool, "source": Path(str(pool["source"])).name}}
    content.pop("freeze_runner", None)
    text = json.dumps(content, sort_keys=True, default=str)
    return f"evaluation-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def check_frame_columns(source: FrameSource, columns: Mapping[str, object]) -> None:
    """Raise BadInput naming the argument whose column a frame does not have."""
    if source.table is None:
        return
    frame_columns = source.columns
    for argument, value in columns.items():
        for name in names_in(argument, value):
            if name not in frame_columns:
                raise BadInput(
                    f"{argument}: the frame has no column {name!r}; {nearest(name, frame_columns, 'columns')}"
                )


def names_in(argument: str, value: object) -> Iterator[str]:
    """The columns that an argument names: in a list, by class, by system."""
    match value:
        case str():
            yield value
        case Mapping():
            for key, part in value.items():
                if argument != "probability" or set(value) != {"prefix"}:
                    yield from names_in("" if key != "probability" else key, part)
        case list() | tuple():
            yield from (name for name in value if isinstance(name, str))


def labels_of(outcome: object) -> Any:
    """What people answer, as a spec has it under `labels`.

    >>> labels_of(["spam", "ham"])
    {'positive': 'spam', 'negative': 'ham'}
    >>> labels_of(["cat", "dog", "owl"])
    {'classes': ['cat', 'dog', 'owl']}
    >>> labels_of([1, 2, 3])
    {'grades': [1, 2, 3]}
    >>> labels_of("number")
    {'number': {}}
    """
    if isinstance(outcome, Mapping):
        return {str(key): _plain(value) for key, value in outcome.items()}
    if isinstance(outcome, list | tuple) and outcome and all(isinstance(entry, Mapping) for entry in outcome):
        return [_plain(entry) for entry in outcome]
    if outcome == "number":
        return {"number": {}}
    if outcome in KINDS:
        raise BadInput(
            f"outcome: there are no labels yet to say which {outcome} there are; list them, the positive "
            "class first where there are two"
        )
    if outcome is None or isinstance(outcome, str):
        raise BadInput("outcome: list the classes, the positive one first: outcome=['spam', 'ham']")
    names = listed(outcome)
    if len(names) == 2:
        return {"positive": str(names[0]), "negative": str(names[1])}
    if all(isinstance(name, int | float) and not isinstance(name, bool) for name in names):
        return {"grades": names}
    return {"classes": [str(name) for name in names]}


def questions_in(outcome: object) -> list[dict[str, Any]]:
    """The questions, where `outcome` lists several; empty where it is one.

    >>> questions_in([{"name": "tone", "grades": [1, 2]}])
    [{'name': 'tone', 'grades': [1, 2]}]
    """
    questions = labels_of(outcome) if isinstance(outcome, list | tuple) and outcome else None
    return questions if isinstance(questions, list) else []


def functions_in(judge: object) -> list[Callable[..., object]]:
    """The judges that are functions of a row, of one judge or several.

    >>> functions_in(["gpt", len])
    [<built-in function len>]
    """
    return [entry for entry in entries_of(judge) if callable(entry) and not isinstance(entry, Sized)]


def refuse_beside_questions(arguments: Mapping[str, object]) -> None:
    """Raises BadInput naming the first argument that each of several questions has for itself."""
    for name, value in arguments.items():
        if value:
            raise BadInput(f"{name}: `outcome` lists several questions, and says this of each; leave it out")


@dataclass(frozen=True, kw_only=True)
class KnownOutcome:
    """What labels are, where there are labels: of `replay` and `estimate`."""

    reader: str                              # how columns of it are read: a key of `READERS`
    kind: OutcomeKind | None = None          # None: the classes, grades or tags that occur
    spellings: Mapping[str, str] = field(default_factory=dict)   # of two classes and of grades
    positive: str | None = None              # the positive class of two

    def column(self, name: str, values: pa.Array) -> pa.Array:
        """A column in the words of the outcome. Raises BadInput for what is none of them."""
        if self.kind is None or self.reader in ("number", "tags"):
            return values
        reader = ClassReader(self.kind.parts, self.spellings)
        try:
            encoded = as_text(values).dictionary_encode()
        except BadInput as error:
            raise BadInput(f"column {name!r} {error}") from None
        written = encoded.dictionary.to_pylist()
        labels = [reader.read(text) for text in written]
        if None in labels:
            strange = written[labels.index(None)]
            row = encoded.indices.index(labels.index(None)).as_py() + 1
            names = self.kind.parts[::-1] if self.positive else self.kind.parts     # the positive one first
            raise BadInput(
                f"column {name!r}, row {row}: {strange!r} is none of the classes {', '.join(names)}"
            )
        return pa.array(labels, pa.string()).take(encoded.indices)


def known_outcome(outcome: object) -> KnownOutcome:
    """What labels are; None and a kind alone leave the names to the labels. Raises BadInput."""
    if outcome is None or (isinstance(outcome, str) and outcome in KINDS):
        return KnownOutcome(reader=outcome or "classes")
    if isinstance(outcome, str):
        raise BadInput(f"outcome: {outcome!r} is neither a list of classes nor one of {', '.join(KINDS)}")
    try:
        form = _LABELS.validate_python(two_classes_as(labels_of(outcome), "two classes compared"))
    except ValidationError as error:
        message = "; ".join(problem["msg"] for problem in error.errors())
        raise BadInput(f"outcome: {message}") from None
    reader = {"number": "number", "tags": "tags", "preference": "preference"}.get(form.task, "classes")
    return KnownOutcome(
        reader="grades" if isinstance(form, Grades) else reader, kind=form.outcome,
        spellings=form.spellings, positive=form.positive if isinstance(form, TwoClasses) else None,
    )


def systems_of(systems: JsonMapping) -> JsonObject:
    """Systems as a spec has them.

    >>> systems_of({"old": "predicted_by_old"})
    {'old': {'prediction': 'predicted_by_old'}}
    """
    return {name: {"prediction": part} if isinstance(part, str) else part for name, part in systems.items()}


def measures_as_written(measures: object) -> list[str]:
    """The measures as `assay replay` takes them, such as `fbeta(2)`, from names or from mappings with
    settings. Raises BadInput where there is none, or one has a name that is no measure."""
    if measures is None:
        raise BadInput("measures: name at least one, such as measures=['f1']")
    written = [
        entry if isinstance(entry, str) else
        written_measure(entry["name"], {key: _plain(value) for key, value in entry.items() if key != "name"})
        for entry in listed(measures)
    ]
    try:
        for measure in written:
            MeasureChoice.check_name(named_measure(measure)[0])
    except BadInput as error:
        raise BadInput(f"measures: {error}") from None
    return written


def _in_spec(measure: Json) -> Json:
    """A measure as a spec has it: a name alone, or with its settings."""
    if not isinstance(measure, str) or "(" not in measure:
        return measure
    try:
        name, settings = named_measure(measure)
    except BadInput as error:
        raise BadInput(f"measures: {error}") from None
    return {"name": name, **{key: _plain(value) for key, value in settings.items()}}


def listed(value: Any) -> list[Any]:
    """A list of plain Python values, of one name, number or mapping or of several; values of NumPy become
    Python's own."""
    return [value] if isinstance(value, str | Mapping | int | float) else [_plain(entry) for entry in value]


_CALLED = {f"pool.{key}": name for name, key in OF_POOL.items()} | {
    "target.half_width": "target", "budget.labels": "budget",
} | {key: name for name, key in _OF_SPEC.items()}


_NAMES = "|".join([*OF_POOL, *_OF_SPEC, *_DEFAULTS])
_VERBS = r"(?:is|are|must|has|have|lists?|needs?|names?|applies|cannot|lacks?|and|belongs?|takes)\b"


def in_python(text: str) -> str:
    """What is said of the keys of a spec, said of the arguments of `begin`.

    >>> in_python("$.pool.display names 'x'; give pool.probability or `measure`")
    "show names 'x'; give probability or `measures`"
    """
    text = re.sub(r"\$\.labels\.(\w+)", r"outcome['\1']", text)
    text = re.sub(r"\$\.labels(?!\w)", "outcome", text)
    text = re.sub(r"^pool\.source:", "data:", text)
    for key, name in _CALLED.items():
        text = re.sub(rf"\$\.{re.escape(key)}(?![\w.])", name, text)
        if "." in key:
            text = re.sub(rf"(?<![\w.$]){re.escape(key)}(?!\w)", name, text)
    for key, name in (("display", "show"), ("measure", "measures"), ("labels", "outcome")):
        text = text.replace(f"`{key}`", f"`{name}`")
    text = re.sub(r"\$\.(target|budget|pool\.systems)", lambda match: match[1].removeprefix("pool."), text)
    text = text.replace("$.pool ", "the columns: ").replace("$.", "")
    text = re.sub(rf"(?m)^(\s*(?:{_NAMES})[\[\]'\w.]*) (?!{_VERBS})", r"\1: ", text)
    return re.sub(r"\blabels: (\{[^}]*\})", r"outcome=\1", text)


def _plain(value: object) -> Any:
    """Plain Python values: what a YAML file could have held."""
    match value:
        case Mapping():
            return {str(key): _plain(part) for key, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
