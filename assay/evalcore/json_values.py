"""Readers of JSON and YAML that somebody else wrote, which may hold anything at any place."""

from collections.abc import Mapping
from typing import overload

from assay.evalcore.types import Json


@overload
def value_at(data: Json, *keys: str) -> Json: ...
@overload
def value_at(data: object, *keys: str) -> object: ...
def value_at(data: object, *keys: str) -> object:
    """What stands under these keys, one inside the other, in a value of JSON; None where a key is not there,
    or something on the way to it is no mapping.

    >>> value_at({"pool": {"score": "s"}}, "pool", "score"), value_at(["pool"], "pool")
    ('s', None)
    """
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def entries_of(value: object) -> list[object]:
    """The entries of a list or a tuple; anything else, which somebody wrote without a list around it, as a
    list of one.

    >>> entries_of(["f1", "recall"]), entries_of("f1")
    (['f1', 'recall'], ['f1'])
    """
    return list(value) if isinstance(value, list | tuple) else [value]


def mapping_of(value: object) -> Mapping[str, object]:
    """A mapping as it is; an empty one in place of anything else.

    >>> mapping_of({"classes": ["a"]}), mapping_of("a")
    ({'classes': ['a']}, {})
    """
    return value if isinstance(value, Mapping) else {}
