"""The methods by name.  `auto` is the best one that is certified."""

from difflib import get_close_matches

from evalcore.errors import UnknownName
from evalcore.methods.base import Method
from evalcore.methods.passive import Passive
from evalcore.methods.recalibrated import Recalibrated
from evalcore.methods.tree import DirichletTreeMethod

_METHODS: dict[str, Method] = {m.name: m for m in (Passive(), DirichletTreeMethod(), Recalibrated())}
_AUTO = "dirichlet-tree"


def method_names() -> list[str]:
    """The names `method` knows, `auto` first."""
    return ["auto", *_METHODS]


def method(name: str) -> Method:
    """The method of this name.  Raises UnknownName with the nearest known name."""
    if name == "auto":
        name = _AUTO
    if name not in _METHODS:
        near = get_close_matches(name, method_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known methods: {', '.join(method_names())}"
        raise UnknownName(f"unknown method {name!r}; {hint}")
    return _METHODS[name]
