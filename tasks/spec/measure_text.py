"""Measures as they are written on a command line: `f1`, `f1(cat)`, `fbeta(2)`, `top_k_accuracy(3)`."""

import re

from assay.evalcore.errors import BadInput

_WRITTEN = re.compile(r"(?P<name>[a-z0-9_]+)(?:\((?P<setting>[^()]+)\))?")
_SETTINGS = {"fbeta": "beta", "top_k_accuracy": "k", "within": "tolerance", "cohen_kappa": "weights"}


def named_measure(written: str) -> tuple[str, dict[str, float | str]]:
    """The name of a measure and its settings. Raises BadInput for what is not written so."""
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise BadInput(f"{written!r} is not the name of a measure; write macro_f1, f1(cat) or fbeta(2)")
    options: dict[str, float | str] = {}
    if found["setting"] is not None:
        setting = _SETTINGS.get(found["name"], "class")
        try:
            options[setting] = found["setting"] if setting == "class" else float(found["setting"])
        except ValueError:
            options[setting] = found["setting"]
    return found["name"], options
