"""Measures that users define in Python, named in a spec by where they are: `mymeasures.cost:missed_fraud`.

What is behind the colon is a function that is given the kind of outcome and returns a measure, as
`evalcore.measures.user_defined.user_measure` makes one.  A spec may come from anybody, and naming a module
runs its code: so only modules are imported that whoever runs Assay has listed in the variable
ASSAY_MEASURE_MODULES (names, separated by commas), never one that a spec alone names.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import AskedMeasure, MeasureFamily, OutcomeMeasure
from assay.evalcore.measures.registry import MEASURES_BY_KIND, add_measure

ALLOWED = "ASSAY_MEASURE_MODULES"
KINDS = ("classes", "number", "tags", "preference")


def is_of_user(name: str) -> bool:
    """Whether a measure is named by where its Python function is, as in `mymeasures.cost:missed_fraud`: by
    its colon. Whether the module may be imported is a matter of the settings of who runs it."""
    return ":" in name


def register_user_measure(name: str) -> None:
    """Import the measure of this name, where that is allowed, so that it is one like any other.

    Raises BadInput where it is not allowed, cannot be imported, or is no function.
    """
    module, _, attribute = name.partition(":")
    allowed = [entry.strip() for entry in os.environ.get(ALLOWED, "").split(",") if entry.strip()]
    if module not in allowed:
        raise BadInput(
            f"measure {name!r} runs the code of {module!r}, which a spec alone may not: whoever runs Assay "
            f"allows it with {ALLOWED}={','.join([*allowed, module])}"
        )
    if any((kind, name) in MEASURES_BY_KIND for kind in KINDS):
        return
    try:
        made = getattr(import_module(module), attribute, None)
    except Exception as error:   # whatever a foreign module does when it is imported
        reason = f"{type(error).__name__}: {error}"
        raise BadInput(f"measure {name!r}: {module!r} cannot be imported: {reason}") from None
    if not callable(made):
        raise BadInput(f"measure {name!r}: {module!r} has no function {attribute!r}")
    add_measure(MeasureFamily(
        name=name, title=attribute.replace("_", " "), meaning=f"as {name} defines it", kinds=KINDS, needs=(),
        make=_maker(name, made), no_weights="is defined by its user, for items that all count alike",
    ))


def register_recorded_measures(recorded: object) -> None:
    """Import the measures of users among those that the spec of a ledger asks for: `measure` as its JSON has
    it.  Raises BadInput as `register_user_measure` does: it is whoever reads that does not allow them, and
    nothing is wrong with the ledger."""
    for entry in recorded if isinstance(recorded, list) else [recorded]:
        name = entry.get("name") if isinstance(entry, dict) else entry
        if isinstance(name, str) and is_of_user(name):
            register_user_measure(name)


def _maker(name: str, made: Callable[..., object]) -> Callable[[AskedMeasure], OutcomeMeasure]:
    def make(request: AskedMeasure) -> OutcomeMeasure:
        try:
            measure = made(request.kind)
        except BadInput:
            raise
        except Exception as error:   # whatever a foreign function does
            raise BadInput(f"measure {name!r}: {type(error).__name__}: {error}") from None
        if not isinstance(measure, OutcomeMeasure):
            raise BadInput(f"measure {name!r} has to return a measure, as `user_measure` does, and returned "
                           f"a {type(measure).__name__}")
        return replace(measure, name=name)

    return make
