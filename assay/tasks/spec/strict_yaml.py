"""Reads the YAML files that people write by hand. Nothing in them means something unexpected.

PyYAML reads YAML 1.1, in which `no` is false, `1e-3` is text, `2026-11-20` is a date, `<<` merges mappings,
and a key written twice silently loses its first value. So this loader knows the core schema of YAML 1.2 only
(text, true/false, decimal numbers, null) and refuses repeated keys, keys that are not text, and tags. A file
may not be nested deeper than 50 levels, nor hold more than 10,000 values or 1,000,000 characters of text,
aliases counted as what they stand for, so no file costs much time or memory.

ruamel.yaml was tried. It refuses repeated keys and limits the depth, but reads dates, 0x1F, 1_000, tags of
sets and bytes, returns to YAML 1.1 where a file asks for it, and has no limit on what aliases and merges
multiply to. The same configuration would be needed, of a second YAML library beside the one Prefect brings.
strictyaml refuses {a: b}, which specs are written with.
"""

import re
import reprlib
from pathlib import Path
from typing import Any

import yaml

from assay.evalcore.errors import BadInput
from assay.evalcore.json_values import JsonObject

_LONGEST_SHOWN_VALUE = 60   # characters of a value in a message
_LONGEST_SENTENCE, _EITHER_SIDE = 1000, 300   # characters of a message, and of either end of a longer one
_short = reprlib.Repr()
_short.maxlevel = 3
_short.maxdict = _short.maxlist = _short.maxtuple = _short.maxset = 12


def shortened(value: object) -> str:
    """The `repr` of a value for messages, of at most 60 characters; dots stand for what is cut off. Nobody's
    texts fill a message so."""
    text = repr(value[:_LONGEST_SHOWN_VALUE]) if isinstance(value, str) else _short.repr(value)
    return text if len(text) <= _LONGEST_SHOWN_VALUE else text[: _LONGEST_SHOWN_VALUE - 3] + "..."


def with_a_gap(text: str) -> str:
    """A sentence of a message, without its middle where it repeats something very long."""
    return text if len(text) <= _LONGEST_SENTENCE else f"{text[:_EITHER_SIDE]} ... {text[-_EITHER_SIDE:]}"


_LONGEST_SPEC = 1_000_000   # characters of a file
_MOST_VALUES = 10_000   # values of a file, at all levels
_DEEPEST_NESTING = 50   # levels
_LONGEST_NUMBER = 100     # characters
_GIVEN = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")

_INT = re.compile(r"^[-+]?[0-9]+$")
_FLOAT = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_SPECIAL_FLOAT = re.compile(r"^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$")


class _CoreLoader(yaml.SafeLoader):
    """The YAML 1.2 core schema. `yaml_implicit_resolvers` maps first characters to (tag, pattern) pairs."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._values = 0                            # so far, each alias counted as what it stands for
        self._text = 0                              # characters of text so far, counted likewise
        self._size_of: dict[yaml.Node, tuple[int, int]] = {}   # values and text of each finished node

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node, within the limits."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        alias = isinstance(event, yaml.AliasEvent)
        if not alias and event.tag is not None:
            raise _refused(f"the tag {shortened(event.tag)} is not allowed; write a plain value", event)
        before = self._values, self._text
        self._depth += 1
        if self._depth > _DEEPEST_NESTING:
            raise _refused(f"nested deeper than {_DEEPEST_NESTING} levels", event)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is None:
            return None
        if not alias:
            self._values += 1
            self._text += len(node.value) if isinstance(node, yaml.ScalarNode) else 0
            self._size_of[node] = self._values - before[0], self._text - before[1]
        elif node in self._size_of:
            values, text = self._size_of[node]
            self._values, self._text = self._values + values, self._text + text
        else:
            raise _refused("a value that contains itself", event)
        for many, limit, what in (
            (self._values, _MOST_VALUES, "values"), (self._text, _LONGEST_SPEC, "characters of text"),
        ):
            if many > limit:
                raise _refused(f"more than {limit:,} {what} (an alias counts as what it names)", event)
        return node


for _tag, _pattern, _first in (
    ("null", re.compile(r"^(~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("int", _INT, list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
    ("float", _SPECIAL_FLOAT, list("-+.")),
):
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _pattern, _first)


class _CoreDumper(yaml.SafeDumper):
    """Quotes a text that YAML 1.2 reads as a number, and YAML 1.1 does not: 008, 1e5."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        """A text, quoted where it would be read as something else."""
        like_a_number = _INT.match(data) or _FLOAT.match(data)
        return self.represent_scalar("tag:yaml.org,2002:str", data, style="'" if like_a_number else None)


_CoreDumper.add_representer(str, _CoreDumper.represent_str)


def written_yaml(value: object, width: int = 100) -> str:
    """YAML that is read here as what it was.

    >>> print(written_yaml({"classes": ["007", "008", "a"]}), end="")
    classes:
    - '007'
    - '008'
    - a
    """
    return yaml.dump(value, Dumper=_CoreDumper, sort_keys=False, allow_unicode=True, width=width)


def _refused(problem: str, place: Any) -> yaml.MarkedYAMLError:
    """An error at an event or a node."""
    return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)


def _number(loader: _CoreLoader, node: yaml.ScalarNode) -> str:
    text = str(loader.construct_scalar(node))
    if len(text) > _LONGEST_NUMBER:
        raise _refused(f"a number of {len(text)} characters", node)
    return text


def _int(loader: _CoreLoader, node: yaml.ScalarNode) -> int:
    return int(_number(loader, node), 10)  # 010 is ten: YAML 1.1 would say eight


def _float(loader: _CoreLoader, node: yaml.ScalarNode) -> float:
    return float(_number(loader, node).replace(".inf", "inf").replace(".nan", "nan").lower())


def _mapping(loader: _CoreLoader, node: yaml.MappingNode) -> JsonObject:
    result: JsonObject = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise _refused(f"the key {shortened(key)} is not text; put it in quotes", key_node)
        if key in result:
            raise _refused(f"the key {shortened(key)} is written twice; keep one", key_node)
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_CoreLoader.add_constructor("tag:yaml.org,2002:int", _int)
_CoreLoader.add_constructor("tag:yaml.org,2002:float", _float)
_CoreLoader.add_constructor("tag:yaml.org,2002:map", _mapping)


def parse_yaml(text: str, origin: str) -> Any:
    """The document in `text` as dicts with text keys, lists, text, numbers, booleans and None.

    Raises BadInput naming `origin`, the line and the column of what cannot be read.
    """
    if len(text) > _LONGEST_SPEC:
        raise BadInput(f"{origin}: longer than {_LONGEST_SPEC:,} characters, which no spec needs")
    try:
        return yaml.load(text, Loader=_CoreLoader)  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadInput(f"{origin}{place}: not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise BadInput(f"{origin}: not valid YAML: {error}") from None


def read_yaml(path: Path) -> Any:
    """`parse` of a file, or of a pipe that the process was given (/dev/stdin, `<(command)` of a shell).

    Raises BadInput when it is missing, unreadable, a named pipe or a device, or not UTF-8.
    """
    try:
        if not (path.is_file() or _given_pipe(path)) and path.exists() and not path.is_dir():
            raise BadInput(
                f"{path}: a pipe, a socket or a device, which may never end; write the spec into a file"
            )
        with path.open(encoding="utf-8") as file:
            return parse_yaml(file.read(_LONGEST_SPEC + 1), str(path))
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file; `assay init` writes one to start from") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 text at byte {error.start}; save the file as UTF-8") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None


def _given_pipe(path: Path) -> bool:
    return path.is_fifo() and str(path).startswith(_GIVEN)
