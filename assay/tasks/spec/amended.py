"""What may change from one version of a monitor's spec to the next.

    never                     what the windows are, what is measured of them, and who is who
    with another model        what the predictions mean: columns, segments, systems
    anything else             from the next window on; `freeze_runner` at once, for every window

A monitor compares windows. So what a window's value means may not change between two that are compared.
"""

import re
from collections.abc import Iterator

from assay.evalcore.errors import BadInput
from assay.evalcore.json_values import JsonObject, entries_of, value_under
from assay.tasks.spec.monitor import MonitorSpec

_NEVER = {
    "name": "names the monitor",
    "measure": "is what all windows so far were measured by",
    "labels": "says what the labels so far mean",
    "about": "is what the intervals of all windows so far are about",
    "pool.id": "tells which items are the same in two windows",
    "pool.task": "says what the labels so far mean",
    "monitor.first": "is where the monitor began",
    "monitor.timezone": "says when windows begin and end",
}
_OF_A_LIMIT = re.compile(r"labels\.[^.]+\.(limit|drop)(\..+)?")    # of one of several questions
_OF_A_MODEL = (
    "pool.score", "pool.probability", "pool.prediction", "pool.threshold", "pool.segments", "pool.features",
    "pool.systems", "pool.baseline", "pool.cluster", "pool.weight",
    "pool.rank", "pool.strata",
)


def changed_keys(before: MonitorSpec, after: MonitorSpec) -> tuple[str, ...]:
    """The keys, such as `limit.min`, whose values differ between two versions of a monitor's spec, sorted. A
    key that only one of them has differs too."""
    old, new = dict(_leaves(_by_name(before.to_json()))), dict(_leaves(_by_name(after.to_json())))
    return tuple(sorted(key for key in {*old, *new} if old.get(key) != new.get(key)))


def _by_name(data: JsonObject) -> JsonObject:
    """Several questions under their names, with their order beside them."""
    questions = value_under(data, "labels", "questions")
    if questions is None:
        return data
    by_name = {str(value_under(question, "name")): question for question in entries_of(questions)}
    return data | {"labels": {"order": list(by_name), **by_name}}


def is_new_model(before: MonitorSpec, after: MonitorSpec) -> bool:
    """Whether the predictions are made by another model from now on."""
    return after.model_version != before.model_version


def check_amendment(before: MonitorSpec, after: MonitorSpec) -> None:
    """Raise BadInput, which lists every key that may not change as it does."""
    problems = list(_problems(before, after))
    if problems:
        raise BadInput("\n  ".join([f"{before.name}: this cannot be amended", *problems]))


def _problems(before: MonitorSpec, after: MonitorSpec) -> Iterator[str]:
    changed = changed_keys(before, after)
    if [entry.question for entry in before.watched] != [entry.question for entry in after.watched]:
        yield ("$.labels: other questions are watched, and those that are share the error rate; give the "
               "spec another name to begin another monitor")
        return
    keys = tuple(key for key in changed if not _OF_A_LIMIT.fullmatch(key))
    for fixed, reason in _NEVER.items():
        if _touches(keys, fixed):
            yield f"$.{fixed} {reason}; give the spec another name to begin another monitor"
    if after.kind != before.kind:
        yield (
            f"$.pool.source has windows of a {after.kind}, and this monitor has windows of a {before.kind}; "
            "give the spec another name to begin another monitor"
        )
    if before.model_version is not None and after.model_version is None:
        yield f"$.model_version is missing; this monitor is at {before.model_version!r}"
    if is_new_model(before, after):
        return
    for column in filter(lambda key: _touches(changed, key), _OF_A_MODEL):
        yield (
            f"$.{column} changes what is judged; if the predictions are of another model, give it another "
            "model_version, and reference and evidence begin anew"
        )


def _touches(changed: tuple[str, ...], key: str) -> bool:
    return any(name == key or name.startswith(f"{key}.") for name in changed)


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value that is no mapping, with its path; lists count as one value."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value
