"""Holds what commands print against the schemas that are published."""

import json
from functools import cache
from typing import Any

import click
from jsonschema import Draft202012Validator


class CheckedJson:
    """Stands for the module `json` where commands print."""

    @staticmethod
    def dumps(value: Any, **how: Any) -> str:
        """As `json.dumps`; AssertionError where the value does not fit the schema of the command."""
        context = click.get_current_context(silent=True)
        name = context.info_name if context else "error"
        text = json.dumps(value, **how)
        if name != "schema":
            assert_fits(str(name), json.loads(text))
        return text


def assert_fits(name: str, value: Any) -> None:
    """AssertionError where a value does not fit the schema of this name."""
    wrong = [f"{found.json_path}: {found.message[:300]}" for found in _validator(name).iter_errors(value)]
    assert not wrong, f"assay schema {name}: {wrong}"


@cache
def _validator(name: str) -> Draft202012Validator:
    from assay.flows.cli.schemas import schema_named

    schema = schema_named(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)
