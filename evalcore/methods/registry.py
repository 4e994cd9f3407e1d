"""The methods by name.  `auto` is the best one that is certified."""

from difflib import get_close_matches

from evalcore.errors import UnknownName
from evalcore.methods.base import Method
from evalcore.methods.low_shot import LOW_SHOT
from evalcore.methods.options import with_options
from evalcore.methods.passive import Passive
from evalcore.methods.published import PUBLISHED
from evalcore.methods.recalibrated import Recalibrated
from evalcore.methods.tree import DirichletTreeMethod

_ALL: tuple[Method, ...] = (Passive(), DirichletTreeMethod(), *PUBLISHED, *LOW_SHOT, Recalibrated())
_METHODS = {m.name: m for m in _ALL}
_AUTO = "dirichlet-tree"


def method_names() -> list[str]:
    """The names `method` knows, `auto` first."""
    return ["auto", *_METHODS]


def method(name: str) -> Method:
    """The method of this name, which may carry settings: see `evalcore.methods.options`.

    Raises UnknownName with the nearest known name, and for settings that do not exist.
    """
    base = name.partition(":")[0]
    if base == "auto":
        base, name = _AUTO, _AUTO + name.removeprefix("auto")
    if base not in _METHODS:
        near = get_close_matches(base, method_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known methods: {', '.join(method_names())}"
        raise UnknownName(f"unknown method {name!r}; {hint}")
    return _METHODS[base] if name == base else with_options(_METHODS[base], name)
