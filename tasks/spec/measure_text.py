"""Measures as they are written on a command line.

    f1   f1(cat)   fbeta(2)   top_k_accuracy(3)   pr_curve(0.2;0.5)   pr_curve(cat;0.2;0.5)
"""

import re
from collections.abc import Mapping

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.base import Setting

_WRITTEN = re.compile(r"(?P<name>[\w -]+)(?:\((?P<setting>[^()]+)\))?")
_SETTINGS = {"fbeta": "beta", "top_k_accuracy": "k", "within": "tolerance", "cohen_kappa": "weights"}
_CURVES = ("pr_curve", "roc_curve")   # written with their thresholds


def named_measure(written: str) -> tuple[str, dict[str, Setting]]:
    """The name of a measure and its settings. Raises BadInput for what is not written so."""
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise BadInput(f"{written!r} is not the name of a measure; write macro_f1, f1(cat) or fbeta(2)")
    name, setting = found["name"], found["setting"]
    if setting is None:
        return name, {}
    if name in _CURVES:
        return name, _thresholds(setting)
    option = _SETTINGS.get(name, "class")
    number = None if option == "class" else _as_number(setting)
    return name, {option: setting if number is None else number}


def _thresholds(setting: str) -> dict[str, Setting]:
    """Thresholds, joined by semicolons; before them the class, where it is named."""
    first, *rest = (part.strip() for part in setting.split(";"))
    named = _as_number(first) is None
    at = [_as_number(part) for part in (rest if named else [first, *rest])]
    if None in at:
        raise BadInput(f"({setting}): thresholds are numbers, joined by semicolons: pr_curve(0.2;0.5)")
    options: dict[str, Setting] = {"at": tuple(one for one in at if one is not None)}
    return options | {"class": first} if named else options


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def written_measure(name: str, settings: Mapping[str, Setting]) -> str:
    """The inverse of `named_measure`.

    >>> written_measure("fbeta", {"beta": 2})
    'fbeta(2)'
    """
    inside = [
        ";".join(f"{one:g}" for one in value) if isinstance(value, tuple | list) else
        f"{value:g}" if isinstance(value, int | float) else str(value)
        for _, value in sorted(settings.items(), key=lambda one: one[0] == "at")
    ]
    return f"{name}({';'.join(inside)})" if inside else name
