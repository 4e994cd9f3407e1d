"""What help and Tab need to know of a command, kept in a file: its own module takes seconds to import.

The file holds usage, text and options of each command. `python docs/outlines.py` writes it; a test holds it
equal to the commands.
"""

import json
from pathlib import Path
from typing import Any

import click

FILE = Path(__file__).parent / "printed" / "outlines.json"
_KINDS: dict[str, click.ParamType[Any]] = {"path": click.Path(), "text": click.STRING}


class Outline(click.Command):
    """A command that can print its help and complete its options, and can do nothing else."""

    def __init__(self, name: str, said: dict[str, Any]) -> None:
        super().__init__(name, help=said["help"], params=[_parameter(one) for one in said["parameters"]])
        self._usage, self._options = said["usage"], said["options"]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """As the command's own."""
        return list(self._usage)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As the command's own."""
        with formatter.section("Options"):
            formatter.write_dl([(names, says) for names, says in self._options])


def outline_of(name: str) -> Outline | None:
    """The outline of the command of this name; None where the file has none."""
    said = json.loads(FILE.read_text(encoding="utf-8")).get(name)
    return None if said is None else Outline(name, said)


def as_outline(command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """What the file holds of a command."""
    records = [one.get_help_record(ctx) for one in command.get_params(ctx) if isinstance(one, click.Option)]
    return {
        "usage": command.collect_usage_pieces(ctx),
        "help": command.help,
        "options": [list(record) for record in records if record is not None],
        "parameters": [_kept(one) for one in command.params],
    }


def all_outlines(group: click.Group) -> str:
    """The text of the file: every command of the group, imported."""
    whole = click.Context(group, info_name="assay", **group.context_settings)
    found = {}
    for name in group.list_commands(whole):
        command = group.get_command(whole, name)
        if command is not None:
            found[name] = as_outline(command, click.Context(command, parent=whole, info_name=name))
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _kept(one: click.Parameter) -> dict[str, Any]:
    choices = [str(choice) for choice in one.type.choices] if isinstance(one.type, click.Choice) else None
    return {
        "option": isinstance(one, click.Option),
        "names": [one.name, *one.opts, *one.secondary_opts] if isinstance(one, click.Option) else [one.name],
        "flag": isinstance(one, click.Option) and one.is_flag,
        "kind": "path" if isinstance(one.type, click.Path) else "text",
        "choices": choices,
        "nargs": one.nargs,
        "multiple": one.multiple,
        "help": one.help if isinstance(one, click.Option) else None,
    }


def _parameter(said: dict[str, Any]) -> click.Parameter:
    kind: click.ParamType[Any] = (
        _KINDS[said["kind"]] if said["choices"] is None else click.Choice(said["choices"])
    )
    if not said["option"]:
        return click.Argument(said["names"], type=kind, nargs=said["nargs"], required=False)
    if said["flag"]:
        return click.Option(said["names"], is_flag=True, help=said["help"])
    return click.Option(
        said["names"], type=kind, nargs=said["nargs"], multiple=said["multiple"], help=said["help"]
    )
