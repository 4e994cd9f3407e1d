"""The methods for any kind of outcome by name.  A new method is one file and one line here."""

from collections.abc import Mapping
from difflib import get_close_matches

from assay.evalcore.errors import UnknownName
from assay.evalcore.outcome_measures.registry import names
from assay.evalcore.outcome_methods.base import OutcomeMethod
from assay.evalcore.outcome_methods.baselines import Bernoulli, Passive, Stratified, StratifiedNeyman
from assay.evalcore.outcome_methods.recalibrated import Recalibrated

METHODS: Mapping[str, OutcomeMethod] = {
    method.name: method
    for method in (Recalibrated(), Passive(), Stratified(), StratifiedNeyman(), Bernoulli())
}
AUTO = "auto"   # means the first


def outcome_method(name: str) -> OutcomeMethod:
    """The method of this name.  Raises UnknownName with the nearest known name."""
    if name == AUTO:
        return next(iter(METHODS.values()))
    if name not in METHODS:
        near = get_close_matches(name, [AUTO, *METHODS], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known methods: {', '.join([AUTO, *METHODS])}"
        raise UnknownName(f"unknown method {name!r} for this kind of outcome; {hint}")
    return METHODS[name]


def capabilities_table() -> dict[str, dict[str, list[str]]]:
    """Every method by name: the measures it can do, by kind of outcome."""
    return {name: {kind: names(kind) for kind in method.kinds} for name, method in METHODS.items()}
