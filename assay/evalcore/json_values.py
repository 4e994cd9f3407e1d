"""Values of JSON, and readers of JSON and YAML that somebody else wrote and that may hold anything anywhere.

No array type is here, so commands that compute nothing load no NumPy for it.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, overload

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]
JsonMapping: TypeAlias = Mapping[str, Json]


@overload
def value_under(data: Json, *keys: str) -> Json: ...
@overload
def value_under(data: object, *keys: str) -> object: ...
def value_under(data: object, *keys: str) -> object:
    """What stands under these keys, one inside the other, in a value of JSON; None where a key is not there,
    or something on the way to it is no mapping.

    >>> value_under({"pool": {"score": "s"}}, "pool", "score"), value_under(["pool"], "pool")
    ('s', None)
    """
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


@overload
def entries_of(value: Json) -> "Sequence[Json]": ...
@overload
def entries_of(value: object) -> Sequence[object]: ...
def entries_of(value: object) -> Sequence[object]:
    """The entries of a list or a tuple; anything else, which somebody wrote without a list around it, as a
    list of one.

    >>> entries_of(["f1", "recall"]), entries_of("f1")
    (['f1', 'recall'], ['f1'])
    """
    return list(value) if isinstance(value, list | tuple) else [value]


@overload
def mapping_of(value: Json) -> JsonMapping: ...
@overload
def mapping_of(value: object) -> Mapping[str, object]: ...
def mapping_of(value: object) -> Mapping[str, object]:
    """A mapping as it is; an empty one in place of anything else.

    >>> mapping_of({"classes": ["a"]}), mapping_of("a")
    ({'classes': ['a']}, {})
    """
    return value if isinstance(value, Mapping) else {}
