"""The interfaces, a line each: public names, commands, exit codes, keys of specs, printed JSON, addresses.

    python docs/interfaces.py      records them, as those of the version that the package has now

The record is tests/promised/interfaces.txt. `docs/reference/promised.md` ends with the lines of the code. A
test compares the two: what is gone, or is another thing, is named under "Changed" of the unreleased part of
CHANGELOG.md, and what is new is named in any of its sections. Who records makes a new beginning, so from
version 1.0 on that takes a new version.

A name, option or key that is gone still works for a version, and warns: it has `typing_extensions.deprecated`
(Python), or `deprecated=` (of click, and of a pydantic field). Or the CHANGELOG says why it cannot.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tests" / "promised" / "interfaces.txt"
CHANGELOG = ROOT / "CHANGELOG.md"
GROUPS = {
    "python": "Python", "command": "Commands", "exit": "Exit codes", "spec": "Keys of a spec",
    "monitor": "Keys of a monitor's spec", "json": "JSON by command and file", "part": "Parts of that JSON",
    "http": "Addresses of `assay serve`",
}


_WARNS = ", deprecated"      # ends the line of what still works, and is promised no more
_WORK_ON = ("python", "command", "spec", "monitor")     # groups of what works for a version more


@cache
def interfaces() -> tuple[str, ...]:
    """`GROUP NAME: what it is`, in the order of the groups, sorted within each."""
    return tuple(line for line in _all() if not line.endswith(_WARNS))


@cache
def still_work() -> frozenset[str]:
    """`GROUP NAME` of what is promised no more, works all the same, and warns."""
    return frozenset(line.split(": ")[0] for line in _all() if line.endswith(_WARNS))


@cache
def _all() -> tuple[str, ...]:
    of_code = {
        "python": _python(), "command": _commands(), "exit": _exit_codes(), "spec": _spec(monitor=False),
        "monitor": _spec(monitor=True), "json": _json(), "part": _parts(), "http": _addresses(),
    }
    return tuple(f"{group} {line}" for group, lines in of_code.items() for line in sorted(set(lines)))


# Python.

def _python() -> Iterator[str]:
    import assay

    for name in assay.__all__:
        yield from _named(f"assay.{name}", getattr(assay, name))
    for name in assay.errors.__all__:
        bases = getattr(assay.errors, name).__bases__
        yield f"assay.errors.{name}: error, a {', '.join(one.__name__ for one in bases)}"


def _named(name: str, it: Any) -> Iterator[str]:
    if hasattr(it, "__deprecated__"):
        yield f"{name}{'' if inspect.isclass(it) else '()'}: {type(it).__name__}{_WARNS}"
    elif inspect.isclass(it):
        yield f"{name}: class"
        for member in dir(it):
            if not member.startswith("_") or member in ("__getitem__", "__iter__", "__len__"):
                found = inspect.getattr_static(it, member)
                if inspect.isfunction(found):
                    yield from _named(f"{name}.{member}", found)
                elif hasattr(getattr(found, "fget", found), "__deprecated__"):
                    yield f"{name}.{member}: value{_WARNS}"
                else:
                    yield f"{name}.{member}: value"
    elif inspect.isfunction(it):
        yield from _function(name, it)
    else:
        yield f"{name}: {type(it).__name__}"


def _function(name: str, it: Any) -> Iterator[str]:
    yield f"{name}(): function"
    for number, one in enumerate(inspect.signature(it).parameters.values()):
        if one.name == "self":
            continue
        named = " by name" if one.kind is inspect.Parameter.KEYWORD_ONLY else f" {number}"
        usual = "needed" if one.default is inspect.Parameter.empty else f"default {_plain(one.default)}"
        several = one.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        yield f"{name}({one.name}): " + ("any number" if several else f"argument{named}, {usual}")


def _plain(value: Any) -> str:
    plain = value is None or isinstance(value, bool | int | float | str)
    plain = plain or (isinstance(value, tuple) and all(_plain(one) != "..." for one in value))
    return repr(value) if plain else "..."


# Commands.

def _commands() -> Iterator[str]:
    from assay.flows.cli.main import assay

    context = click.Context(assay, info_name="assay")
    for name in assay.list_commands(context):
        command = assay.get_command(context, name)
        if command is None:
            continue
        yield f"{name}: command" + _WARNS * bool(command.deprecated)
        for one in command.params:
            yield f"{name} {_parameter(one)}"


def _parameter(one: click.Parameter) -> str:
    chosen = f" of {', '.join(map(str, one.type.choices))}" if isinstance(one.type, click.Choice) else ""
    if isinstance(one, click.Argument):
        return f"{(one.name or '').upper()}: {'needed' if one.required else 'optional'}{chosen}"
    flag = isinstance(one, click.Option) and one.is_flag
    says = ["flag" if flag else one.type.name + chosen]
    says += ["needed"] if one.required else []
    says += ["several times"] if one.multiple else []
    usual = one.default
    says += [f"default {usual}"] if isinstance(usual, int | float | str) and not flag else []
    says += [_WARNS.removeprefix(", ")] if one.deprecated else []
    return f"{'/'.join([*one.opts, *one.secondary_opts])}: {', '.join(says)}"


def _exit_codes() -> Iterator[str]:
    from assay.flows.cli.main import EXIT_CODES

    yield from (f"{code}: {says}" for code, says in EXIT_CODES.items())


# Specs and JSON.

_USUAL = " unless given"

def _spec(*, monitor: bool) -> Iterator[str]:
    from assay.tasks.spec.reference import spec_schema

    schema = spec_schema(monitor=monitor)
    found: dict[str, set[str]] = {}
    _keys(schema, schema.get("$defs", {}), "", found)
    for path, kinds in found.items():
        usual = sorted(kind for kind in kinds if kind.endswith(_USUAL))
        here = " or ".join(sorted(kinds.difference(usual, [_WARNS])))
        yield f"{path}: " + ", ".join([here, *usual]) + _WARNS * (_WARNS in kinds)


def _keys(
    schema: Any, parts: Any, path: str, found: dict[str, set[str]], inside: Sequence[str] = ()
) -> None:
    """Every path of keys, with what may stand there in all the forms it has."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in inside:
            _keys(parts[name], parts, path, found, (*inside, name))
        return
    for form in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        _keys(form, parts, path, found, inside)
    for key, value in schema.get("properties", {}).items():
        here = f"{path}.{key}" if path else key
        found.setdefault(here, set()).update(_kinds(value, parts), [_WARNS] * bool(value.get("deprecated")))
        if isinstance(usual := value.get("default"), bool | int | float | str):
            found[here].add(f"{usual!r}{_USUAL}")
        _keys(value, parts, here, found, inside)
    for inner in (schema.get("items"), schema.get("additionalProperties"), *schema.get("prefixItems", ())):
        if isinstance(inner, Mapping):
            _keys(inner, parts, path, found, inside)


def _kinds(value: Any, parts: Any) -> set[str]:
    """What a key may hold, in a word each."""
    forms = value.get("anyOf") or value.get("oneOf")
    if forms:
        return set().union(*(_kinds(form, parts) for form in forms))
    if "$ref" in value:
        return _kinds(parts[value["$ref"].rpartition("/")[2]], parts)
    return {"list" if value.get("type") == "array" else _shape(value)}


def _json() -> Iterator[str]:
    for name, schema in _forms():
        forms = schema.get("anyOf", [schema])
        for key in sorted({key for form in forms for key in form.get("properties", {})}):
            always = all(key in form.get("required", ()) for form in forms)
            kinds = {_shape(form["properties"][key]) for form in forms if key in form.get("properties", {})}
            yield f"{name} {key}: {' or '.join(sorted(kinds))}" + ("" if always else ", not always")


def _parts() -> Iterator[str]:
    from assay.flows.serve.openapi import openapi

    of_pages = openapi()["components"]["schemas"]
    for parts in (*(schema.get("$defs", {}) for _, schema in _forms()), of_pages):
        for name, part in parts.items():
            needed = part.get("required", ())
            for key, value in part.get("properties", {}).items():
                yield f"{name}.{key}: {_shape(value)}" + ("" if key in needed else ", not always")
            if "enum" in part:
                yield f"{name}: {_shape(part)}"


def _forms() -> Iterator[tuple[str, Any]]:
    from assay.flows.cli.schemas import FORMS, schema_named

    yield from ((name, schema_named(name)) for name in FORMS if name not in ("spec", "monitor-spec"))


def _shape(value: Any) -> str:
    """A schema in a few words."""
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if "anyOf" in value or "oneOf" in value:
        return " or ".join(sorted({_shape(one) for one in value.get("anyOf") or value["oneOf"]}))
    if "const" in value:
        return repr(value["const"])
    if "enum" in value:
        return " or ".join(sorted(repr(one) for one in value["enum"]))
    if value.get("type") == "array":
        inner = value.get("prefixItems") or [value.get("items", {})]
        kinds = (_shape(one) if isinstance(one, Mapping) else "anything" for one in inner)
        return f"list of {', '.join(kinds)}"
    more = value.get("additionalProperties")
    if value.get("type") == "object" and isinstance(more, Mapping):
        return f"mapping to {_shape(more)}"
    return str(value.get("type", "anything"))


def _addresses() -> Iterator[str]:
    from assay.flows.serve.openapi import openapi

    for path, told in openapi()["paths"].items():
        yield f"GET {path}: address"
        for one in told["get"]["parameters"]:
            if one["in"] == "query":
                yield f"GET {path}?{one['name']}: {_shape(one['schema'])}"


# The page, the record, and what differs between them.

def promised_page() -> str:
    """Markdown; docs/conf.py puts it on the site."""
    lines = interfaces()
    found: list[str] = []
    for group, title in GROUPS.items():
        mine = [line.removeprefix(f"{group} ") for line in lines if line.startswith(f"{group} ")]
        found += [f"## {title}", "", "```text", *mine, "```", ""]
    return "\n".join(found)


def recorded() -> tuple[str, tuple[str, ...]]:
    """The version that the record is of, and its lines."""
    first, *lines = RECORD.read_text(encoding="utf-8").splitlines()
    return first.removeprefix("assay "), tuple(lines)


def not_told(
    before: Iterable[str], now: Iterable[str], changelog: str, working: Iterable[str] = ()
) -> list[str]:
    """What differs and is not named in the unreleased part of a CHANGELOG as it has to be: a line each.

    working: of `still_work`; what is gone and is not there is named in a point that says why.
    """
    old, new = set(before), set(now)
    unreleased = _section(changelog, "## ", "[Unreleased]")
    under = _section(unreleased, "### ", "Changed")
    anywhere, changed = _words(unreleased), _words(under)
    excused = set().union(*(_words(point) for point in under.split("\n- ") if _WHY.search(point)))
    differ, added = ({line.split(": ")[0] for line in one} for one in (old - new, new - old))
    cannot = {
        name for name in differ - added if name.split()[0] in _WORK_ON and name not in {*working}
        and not any(name.startswith((f"{whole}.", f"{whole} ", f"{whole.removesuffix('()')}("))
                    for whole in differ - added - {name})     # goes with what it is part of
    }
    return [
        *(f"changed or gone: {name}" for name in sorted(differ) if _word(name) not in changed),
        *(f"works no more: {name}" for name in sorted(cannot) if _word(name) not in excused),
        *(f"new: {name}" for name in sorted(added - differ) if _word(name) not in anywhere),
    ]


_WHY = re.compile(r"\b(because|cannot|could not|has warned since)\b")


def _section(text: str, mark: str, title: str) -> str:
    """What stands under the first heading of this title."""
    inside = re.search(rf"^{re.escape(mark + title)}.*?$(.*?)(?=^{re.escape(mark)}|\Z)", text, re.M | re.S)
    return inside[1] if inside else ""


def _words(text: str) -> set[str]:
    """The words that stand between backticks."""
    return {word for span in re.findall(r"`([^`]+)`", text) for word in re.findall(r"[\w-]+", span)}


def _word(name: str) -> str:
    """What a thing is called, without where it is."""
    return re.findall(r"[\w-]+", name)[-1]


def record() -> None:
    """Write the record. Exits where the version is promised already."""
    import assay

    if RECORD.exists() and recorded()[0] == assay.__version__ and not assay.__version__.startswith("0."):
        sys.exit(f"the interfaces of {assay.__version__} are promised; record those of the next version")
    RECORD.write_text("\n".join([f"assay {assay.__version__}", *interfaces()]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
