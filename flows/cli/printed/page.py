"""Every key of the JSON that Assay prints, on one page, `docs/json.md`.

    python -m assay.flows.cli.printed.page > docs/json.md
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from assay.flows.cli.printed.schemas import FORMS, schema_named
from assay.tasks.spec.reference import holds

_TITLE = """\
# JSON reference

With `--json` a command prints one JSON object on standard output, and a command that fails prints
[an error](#json-error). `assay schema NAME` prints the JSON Schema of each of them, for programs that check
or generate code: `assay schema status > status.schema.json`. No object has other keys than those on this
page. A number that is not known is null, never NaN, and where `value` is null, `undefined_reason` says why.

This page is made from the types of the code.
"""
_ELSEWHERE = ("spec", "monitor-spec")     # docs/spec.md


def json_page() -> str:
    """Markdown: a table for every form, and for every part that forms have in common."""
    parts: dict[str, Any] = {}
    lines = [_TITLE]
    for names, schema in _together():
        parts |= schema.pop("$defs", {})
        heading = ", ".join(f"`{name}`" for name in names)
        lines += [f"(json-{names[0].replace('.', '-')})=", "", f"## {heading}", ""]
        lines += [" ".join(dict.fromkeys(FORMS[name].says for name in names)), ""]
        forms = schema.get("anyOf", [schema])
        for number, form in enumerate(forms):
            lines += ["or", ""] if number else []
            lines += [*_form(form), ""]
    lines += ["## Parts", ""]
    for name, part in sorted(parts.items()):
        if "properties" in part:
            lines += [f"({_target(name)})=", "", f"### {name}", "", part["description"], ""]
            lines += [*_table(part), ""]
    return "\n".join(lines).rstrip() + "\n"


def _together() -> Iterator[tuple[list[str], dict[str, Any]]]:
    """The forms, those of the same schema as one."""
    found: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for name in FORMS:
        if name not in _ELSEWHERE:
            schema = {key: value for key, value in schema_named(name).items()
                      if key not in ("$schema", "title", "description")}
            found.setdefault(json.dumps(schema), ([], schema))[0].append(name)
    yield from found.values()


def _form(form: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in form:
        yield _link(str(form["$ref"]))
    else:
        yield from _table(form)


def _table(part: Mapping[str, Any]) -> Iterator[str]:
    always = part.get("required", ())
    yield "| key | there | holds | |"
    yield "| --- | --- | --- | --- |"
    for key, value in part["properties"].items():
        about = str(value.get("description", "")).replace("|", "\\|")
        there = "always" if key in always else ""
        null = " or null" if {"type": "null"} in value.get("anyOf", ()) else ""
        yield f"| `{key}` | {there} | {holds(value, _link)}{null} | {about} |"


def _link(reference: str) -> str:
    name = reference.rpartition("/")[2]
    return f"[{name}](#{_target(name)})"


def _target(part: str) -> str:
    """Not that of a command of the same name."""
    return f"json-part-{part.lower()}"


if __name__ == "__main__":
    print(json_page(), end="")  # noqa: T201
