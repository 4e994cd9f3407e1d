"""YAML without surprises: the reader behind every file people write by hand.

PyYAML reads YAML 1.1, in which `no` is false, `1e-3` is text, `2026-11-20` is a date, and a key written twice
silently loses its first value. For a spec each of these is a wrong evaluation waiting to happen, so this
loader knows the core schema of YAML 1.2 only (text, true/false, whole numbers, floats, null), refuses
repeated keys and keys that are not text, and builds no objects.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from assay.evalcore.errors import BadInput

_INT = re.compile(r"^[-+]?[0-9]+$")
_FLOAT = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_SPECIAL_FLOAT = re.compile(r"^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$")


class _CoreLoader(yaml.SafeLoader):
    """The YAML 1.2 core schema. `yaml_implicit_resolvers` maps first characters to (tag, pattern) pairs."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own)


for _tag, _pattern, _first in (
    ("null", re.compile(r"^(~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("int", _INT, list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
    ("float", _SPECIAL_FLOAT, list("-+.")),
    ("merge", re.compile(r"^<<$"), ["<"]),
):
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _pattern, _first)


def _int(loader: _CoreLoader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node), 10)  # 010 is ten: YAML 1.1 would say eight


def _float(loader: _CoreLoader, node: yaml.ScalarNode) -> float:
    return float(str(loader.construct_scalar(node)).replace(".inf", "inf").replace(".nan", "nan").lower())


def _mapping(loader: _CoreLoader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} is not text; put it in quotes", key_node.start_mark
            )
        if key in result:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} is written twice; keep one", key_node.start_mark
            )
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_CoreLoader.add_constructor("tag:yaml.org,2002:int", _int)
_CoreLoader.add_constructor("tag:yaml.org,2002:float", _float)
_CoreLoader.add_constructor("tag:yaml.org,2002:map", _mapping)
for _tag in ("binary", "omap", "pairs", "set", "timestamp"):   # bytes, sets and dates are no core values
    del _CoreLoader.yaml_constructors[f"tag:yaml.org,2002:{_tag}"]


def parse(text: str, origin: str) -> Any:
    """The document in `text` as dicts with text keys, lists, text, numbers, booleans and None.

    Raises BadInput naming `origin`, the line and the column of what cannot be read.
    """
    try:
        return yaml.load(text, Loader=_CoreLoader)  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadInput(f"{origin}{where}: not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise BadInput(f"{origin}: not valid YAML: {error}") from None
    except ValueError as error:  # an explicit tag on a value it does not fit: `!!int abc`
        raise BadInput(f"{origin}: not valid YAML: {error}") from None


def read(path: Path) -> Any:
    """`parse` of a file. Raises BadInput when it is missing, unreadable or not UTF-8."""
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file; `assay init` writes one to start from") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 text at byte {error.start}; save the file as UTF-8") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
