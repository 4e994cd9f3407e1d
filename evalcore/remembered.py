"""Results that are kept, for the same is asked again: an evaluation begins anew whenever it is looked at."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")


def remembered(most: int) -> Callable[[Callable[_Asked, _Found]], Callable[_Asked, _Found]]:
    """A function that keeps its last `most` results, by what its arguments hold: arrays and records of them.

    It must depend on nothing else, and nobody may write to what it gives.
    """

    def keeping(function: Callable[_Asked, _Found]) -> Callable[_Asked, _Found]:
        kept: OrderedDict[Hashable, _Found] = OrderedDict()

        @wraps(function)
        def found(*args: _Asked.args, **kwargs: _Asked.kwargs) -> _Found:
            key = _content((args, sorted(kwargs.items())))
            result = kept.pop(key, None)       # whole steps alone: threads may ask at once
            if result is None:
                result = function(*args, **kwargs)
            kept[key] = result
            while len(kept) > most:
                kept.popitem(last=False)
            return result

        return found

    return keeping


def _content(value: Any) -> Hashable:
    """What a value holds, to be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return tuple(_content(part) for part in value)
    if is_dataclass(value):
        return type(value), *(_content(getattr(value, field.name)) for field in fields(value))
    return value  # type: ignore[no-any-return]
