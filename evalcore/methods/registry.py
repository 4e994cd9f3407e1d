"""The methods by name.  `auto` is the best one that is certified: see `evalcore.methods.choice`.

`auto` means one method at a time: what it meant when an evaluation began is in its ledger, and stays.
"""

from difflib import get_close_matches

from assay.evalcore.errors import UnknownName
from assay.evalcore.methods.base import Method
from assay.evalcore.methods.certified import TABLE
from assay.evalcore.methods.choice import DEFAULT, Choice, choose
from assay.evalcore.methods.dirichlet.tree import DirichletTreeMethod
from assay.evalcore.methods.low_shot.rows import LOW_SHOT
from assay.evalcore.methods.options import with_options
from assay.evalcore.methods.published import PUBLISHED
from assay.evalcore.methods.recalibrated import Recalibrated
from assay.evalcore.methods.without_replacement.passive import Passive

_ALL: tuple[Method, ...] = (Passive(), DirichletTreeMethod(), *PUBLISHED, *LOW_SHOT, Recalibrated())
_METHODS = {m.name: m for m in _ALL}
AUTO = "auto"


def method_names() -> list[str]:
    """The names `method` knows, `auto` first."""
    return [AUTO, *_METHODS]


def method(name: str) -> Method:
    """The method of this name, which may carry settings: see `evalcore.methods.options`.

    Raises UnknownName with the nearest known name, and for settings that do not exist.
    """
    base = name.partition(":")[0]
    if base == AUTO:
        name = auto(name).method
        base = name.partition(":")[0]
    if base not in _METHODS:
        near = get_close_matches(base, method_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known methods: {', '.join(method_names())}"
        raise UnknownName(f"unknown method {name!r}; {hint}")
    return _METHODS[base] if name == base else with_options(_METHODS[base], name)


def is_auto(name: str) -> bool:
    """Whether a spec's method leaves the choice to the table, settings or not."""
    return name.partition(":")[0] == AUTO


def auto(name: str = AUTO) -> Choice:
    """What `auto`, which may carry settings, means today, and why.

    Settings that the certified method does not have were written for the default, which then keeps them.
    """
    chosen, settings = choose(TABLE), name.removeprefix(AUTO)
    if settings and chosen.method != DEFAULT:
        try:
            with_options(_METHODS[chosen.method], chosen.method + settings)
        except UnknownName:
            return Choice(method=DEFAULT + settings, reason=f"the settings {settings[1:]!r} are {DEFAULT}'s")
    return Choice(method=chosen.method + settings, reason=chosen.reason)
