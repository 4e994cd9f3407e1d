"""What was said of a trace: by judges and code, by people, and what was expected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.tasks.connectors.mlflow.texts import text_of
from assay.tasks.connectors.notes import Notes
from assay.tasks.connectors.response import Verdict

_RATINGS: Mapping[str, bool | None] = {"yes": True, "no": False, "unknown": None}   # MLflow's own
_RESPONSE = "expected_response"


@dataclass(slots=True)
class Said:
    """By name of the assessment."""

    judged: dict[str, Verdict | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    people: dict[str, Verdict | None] = field(default_factory=dict)
    expected: dict[str, str] = field(default_factory=dict)

    @property
    def reference(self) -> str | None:
        """The expected response; without one, all that was expected."""
        if _RESPONSE in self.expected or len(self.expected) == 1:
            return self.expected.get(_RESPONSE) or next(iter(self.expected.values()))
        return "\n".join(f"{name}: {text}" for name, text in self.expected.items()) or None


def said_of(assessments: Sequence[Mapping[str, Any]], notes: Notes) -> Said:
    """The newest assessment of each name and source counts; those that were overridden do not."""
    said = Said()
    for one in sorted(assessments, key=lambda one: str(one.get("create_time", ""))):
        if one.get("valid") is False:
            continue
        name = str(one["assessment_name"])
        if "expectation" in one:
            said.expected[name] = text_of(_value(one["expectation"]), notes) or ""
        elif one.get("feedback", {}).get("error"):
            notes.leave_out("assessments that failed")
        else:
            _take(said, one, name, notes)
    return said


def verdict_of(value: Any) -> Verdict | None:
    """MLflow's ratings `yes` and `no` are true and false. Raises ValueError for a list or a mapping."""
    if isinstance(value, str):
        return _RATINGS.get(value.strip().lower(), value)
    if value is None or isinstance(value, bool | int | float):
        return value
    raise ValueError("is no single value")


def _take(said: Said, one: Mapping[str, Any], name: str, notes: Notes) -> None:
    try:
        verdict = verdict_of(one["feedback"].get("value"))
    except ValueError:
        notes.leave_out(f"assessments that are lists or mappings, of {name}")
        return
    person = (one.get("source") or {}).get("source_type") == "HUMAN"
    kept = said.people if person else said.judged
    if name in kept:
        notes.leave_out(f"earlier assessments of the same trace, of {name}")
    kept[name] = verdict
    if one.get("rationale") and not person:
        said.reasons[name] = str(one["rationale"])


def _value(expectation: Mapping[str, Any]) -> Any:
    """A list as one text: any of it is expected."""
    value = expectation.get("value")
    if value is None and "serialized_value" in expectation:
        value = expectation["serialized_value"].get("value")
    return " | ".join(map(str, value)) if isinstance(value, list) else value
