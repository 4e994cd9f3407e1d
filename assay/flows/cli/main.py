"""The command `assay`: parse, call one function, print.

People read standard output; programs add `--json` and get exactly one JSON object there, while progress and
logs go to standard error either way. An error is one message on standard error; with `--json` standard output
then holds {"error": {"kind", "message", "exit_code"}}. Exit codes: see EXIT_CODES.

A command's module is imported when it is run, so that help is there at once; what `assay run --help` and Tab
need of it is in a file of outlines. `python docs/outlines.py` writes it; a test holds it equal to the
commands. The line that `assay --help` prints about a command stands here for the same reason; a test holds
it equal to the first sentence of the command's own help.
"""

import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from assay.evalcore.errors import DISTRIBUTION, AssayError, Unreachable, nearest
from assay.flows.cli.output import print_json
from assay.tasks.operating_system import INTERRUPTED, OUTPUT_CLOSED, SAFE, nobody_reads

EXIT_CODES = {
    0: "done: target met, or budget or pool exhausted, and no limit, or the limit is kept",
    1: "failure",
    2: "usage, or bad input",
    3: "the measure breached its limit",
    4: "inconclusive against its limit",
    5: "not finished: waiting for people",
    INTERRUPTED: "interrupted (Ctrl-C): nothing is lost, run the same command again",
    OUTPUT_CLOSED: "nobody reads its output any more (`| head`): nothing is lost, run the same command again",
}


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """Where a command is, and what it does in one line."""

    module: str      # in this folder
    function: str
    line: str


COMMANDS = {
    "demo": CommandPlace(
        "demo", "demo",
        "Evaluate a record matcher on 220,000 candidate pairs of which few match; about a minute, offline.",
    ),
    "import": CommandPlace(
        "other_tools", "import_command",
        "Make a pool of the logs or tables of another tool, and suggest a spec.",
    ),
    "doctor": CommandPlace(
        "doctor", "doctor",
        "Say what the data supports, what is missing, and how many labels an evaluation would take.",
    ),
    "run": CommandPlace(
        "evaluation", "run",
        "Begin an evaluation and drive it until it stops.",
    ),
    "begin": CommandPlace(
        "evaluation", "begin_command",
        "Freeze the pool of a spec and open its evaluation; ask nobody yet.",
    ),
    "advance": CommandPlace(
        "evaluation", "advance_command",
        "Do everything that is due in an evaluation, and say what it waits for.",
    ),
    "extend": CommandPlace(
        "evaluation", "extend_command_line",
        "Give a finished evaluation a larger budget, and ask for the next labels.",
    ),
    "status": CommandPlace(
        "look", "status",
        "Say where an evaluation stands, or all of them, from the ledger alone; no desk is asked.",
    ),
    "report": CommandPlace(
        "look", "report_command",
        "Write an evaluation's report: HTML for people, JSON and Parquet for programs.",
    ),
    "check": CommandPlace(
        "check", "check",
        "Compare an evaluation with a limit or with its baseline, for a pipeline that has to decide.",
    ),
    "export": CommandPlace(
        "labels", "export",
        "Write the labelled items of an evaluation with their weights, for scikit-learn and others.",
    ),
    "publish": CommandPlace(
        "other_tools", "publish_command",
        "Tell MLflow or OpenTelemetry of an evaluation or a monitor.",
    ),
    "estimate": CommandPlace(
        "labels", "estimate_command",
        "Estimate measures from labels that are there: of an evaluation, or of some rows of a file.",
    ),
    "judges": CommandPlace(
        "judges", "judges_command",
        "How good an evaluation's judges are, what moves them away from people, and audits of them.",
    ),
    "compare": CommandPlace(
        "look", "compare",
        "Systems side by side: every measure, the differences from the baseline, and which is better.",
    ),
    "verify": CommandPlace(
        "look", "verify_command",
        "Recompute an evaluation from its ledger, offline: draws, labels, estimates, verdict.",
    ),
    "replay": CommandPlace(
        "replay", "replay_command",
        "Simulate methods on a labelled pool: errors, coverage, and labels to a narrow interval.",
    ),
    "recycle": CommandPlace(
        "recycle", "recycle_command",
        "Draw samples for the precision of several classifiers, which share their labels.",
    ),
    "repeats": CommandPlace(
        "repeats", "repeats_command",
        "What several answers to each item say: pass@k, pass^k, and how often all k are alike.",
    ),
    "init": CommandPlace(
        "spec", "init",
        "Write a commented spec to start from [default: assay.yaml].",
    ),
    "schema": CommandPlace(
        "spec", "schema",
        "Print the JSON Schema of what a command prints with --json, of a file, or of a spec.",
    ),
    "alerts": CommandPlace(
        "service", "alerts",
        "List the alerts of NAME, or of everything in the store, and who was told of them.",
    ),
    "listen": CommandPlace(
        "service", "listen",
        "Receive Label Studio's webhooks, and advance evaluations within seconds of the last answer.",
    ),
    "desk-token": CommandPlace(
        "service", "desk_token_command",
        "Print the token by which a program asks and tells for the evaluation NAME at `assay listen`.",
    ),
    "serve": CommandPlace(
        "service", "serve_command",
        "Show evaluations and monitors as pages and JSON, over HTTP; nothing can be changed.",
    ),
    "monitor": CommandPlace(
        "monitor", "monitor_command",
        "Watch a stream of predictions: every window of time becomes an evaluation, and gets a verdict.",
    ),
    "history": CommandPlace(
        "monitor", "history",
        "A monitor's windows: the measure with its interval, the verdicts, and what they cost.",
    ),
    "backfill": CommandPlace(
        "monitor", "backfill_command",
        "Look at windows of the monitor NAME however late it is: their files came too late, or were mended.",
    ),
    "amend": CommandPlace(
        "changes", "amend_command",
        "Make SPEC the newest version of its monitor.",
    ),
    "acknowledge": CommandPlace(
        "incidents", "acknowledge_command",
        "Say that you have seen an INCIDENT of the monitor NAME: it is not repeated, and not escalated.",
    ),
    "assign": CommandPlace(
        "incidents", "assign_command",
        "Say whose an INCIDENT of the monitor NAME is.",
    ),
    "snooze": CommandPlace(
        "incidents", "snooze_command",
        "Tell nothing of an INCIDENT of the monitor NAME until a moment; then what still stands is told.",
    ),
    "mute": CommandPlace(
        "changes", "mute_command",
        "Deliver no alert of the monitor NAME until a date.",
    ),
    "unmute": CommandPlace(
        "changes", "unmute_command",
        "End the mute of the monitor NAME, and sum up what was muted.",
    ),
}


class _NobodyReads(Exception):
    """Who read the output went away."""


@contextmanager
def _while_it_is_read() -> Iterator[None]:
    """click and rich exit with code 1 for any broken pipe, click for that of a connection too."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        if nobody_reads(1) or nobody_reads(2):
            raise _NobodyReads from None
        if isinstance(error, SystemExit):
            raise
        raise Unreachable("a connection was cut off; run the same command again") from error


class Commands(click.Group):
    """The click group `assay`. It knows its commands by name and imports the module of one only when that
    command is run, so that help and completion cost no import."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """The context of the command line, as click's own group makes it. Help is printed while this runs,
        so an output that nobody reads any more ends the process quietly, and another broken pipe becomes
        Unreachable."""
        with _while_it_is_read():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """What the chosen command returns, as click's own group has it. A pipe whose reader went away ends
        the process quietly; any other broken pipe is raised as Unreachable."""
        with _while_it_is_read():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, in the order in which people meet them, instead of click's alphabetical
        order. `assay --help` and the shell's Tab list them so."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now; None if there is none."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        command = getattr(import_module(f"assay.flows.cli.{place.module}"), place.function)
        if not isinstance(command, click.Command):
            raise TypeError(f"{place.module}.{place.function} is no command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` begin with. Where only help or Tab wants to know, its outline will do.
        Raises click's UsageError, with the nearest name, for a command that does not exist."""
        name, *words = args
        if ctx.resilient_parsing or (len(words) == 1 and words[0] in ctx.help_option_names):
            outline = outline_of(name)
            if outline is not None:
                return name, outline, words
        if name not in COMMANDS and not ctx.resilient_parsing:
            ctx.fail(f"no such command {name!r}; {nearest(name, COMMANDS, 'commands')}")
        match = super().resolve_command(ctx, args)
        if match[1] is not None and not ctx.resilient_parsing:
            _each_once(match[1], click.Context(match[1], parent=ctx, info_name=name), words)
        return match

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so, with their lines, none of them imported; then our own options. What the
        shell offers where somebody presses Tab behind `assay`."""
        items = [CompletionItem(name, help=place.line) for name, place in COMMANDS.items()
                 if name.startswith(incomplete)]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section "Commands" of the help: each command's name and its one line, taken from the
        table of commands, so that no module is imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.line) for name, place in COMMANDS.items()])


def _each_once(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Raises UsageError where an option of one value is given several: the last would win in silence."""
    try:
        params = command.make_parser(ctx).parse_args(list(args))[2]
    except click.UsageError:      # told where the command itself reads them
        return
    for p in params:
        if isinstance(p, click.Option) and params.count(p) > 1 and not (p.multiple or p.is_flag):
            together = "; write several in one, with commas between them" * ("," in (p.metavar or ""))
            raise click.UsageError(f"{p.opts[0]} is given {params.count(p)} times{together}", ctx)


FILE = Path(__file__).with_name("outlines.json")


class ParameterOutline(TypedDict):
    """A parameter in the file of outlines: what completion needs to know of it."""

    option: bool
    names: list[str]
    flag: bool
    kind: Literal["path", "text"]
    choices: list[str] | None
    nargs: int
    multiple: bool
    help: str | None


class CommandOutline(TypedDict):
    """A command in the file of outlines: its usage line, its help, a pair of names and text for each option,
    and its parameters."""

    usage: list[str]
    help: str | None
    options: list[list[str]]
    parameters: list[ParameterOutline]


class Outline(click.Command):
    """A command that can print its help and complete its options, and can do nothing else."""

    def __init__(self, name: str, outline: CommandOutline) -> None:
        super().__init__(name, help=outline["help"], params=[_parameter(p) for p in outline["parameters"]])
        self._usage, self._options = outline["usage"], outline["options"]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The parts of the usage line, as the real command has them: they are read from the file of outlines
        and not derived from parameters."""
        return list(self._usage)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section "Options" of the help, with the names and texts that the real command has, from
        the file of outlines. Nothing of the real command is imported for it."""
        with formatter.section("Options"):
            formatter.write_dl([(names, says) for names, says in self._options])


def outline_of(name: str) -> Outline | None:
    """The outline of the command of this name; None where the file has none."""
    outline = json.loads(FILE.read_text(encoding="utf-8")).get(name)
    return None if outline is None else Outline(name, outline)


def as_outline(command: click.Command, ctx: click.Context) -> CommandOutline:
    """What the file of outlines holds of one command: the parts of its usage line, its help text, a pair of
    names and text for each option, and the parameters that completion needs."""
    records = [p.get_help_record(ctx) for p in command.get_params(ctx) if isinstance(p, click.Option)]
    return {
        "usage": command.collect_usage_pieces(ctx),
        "help": command.help,
        "options": [list(record) for record in records if record is not None],
        "parameters": [_kept(p) for p in command.params],
    }


def all_outlines(group: click.Group) -> str:
    """The text of the file: every command of the group, imported."""
    context = click.Context(group, info_name="assay", **group.context_settings)
    outlines = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            outlines[name] = as_outline(command, click.Context(command, parent=context, info_name=name))
    return json.dumps(outlines, indent=1, ensure_ascii=False) + "\n"


def _kept(arg: click.Parameter) -> ParameterOutline:
    choices = [str(choice) for choice in arg.type.choices] if isinstance(arg.type, click.Choice) else None
    option = arg if isinstance(arg, click.Option) else None
    return {
        "option": option is not None,
        "names": [str(arg.name)] if option is None else [str(arg.name), *option.opts, *option.secondary_opts],
        "flag": option is not None and option.is_flag,
        "kind": "path" if isinstance(arg.type, click.Path) else "text",
        "choices": choices,
        "nargs": arg.nargs,
        "multiple": arg.multiple,
        "help": None if option is None else option.help,
    }


def _parameter(entry: ParameterOutline) -> click.Parameter:
    kind: click.Path | click.Choice[str] | StringParamType = click.STRING
    if entry["choices"] is not None:
        kind = click.Choice(entry["choices"])
    elif entry["kind"] == "path":
        kind = click.Path()
    if not entry["option"]:
        return click.Argument(entry["names"], type=kind, nargs=entry["nargs"], required=False)
    if entry["flag"]:
        return click.Option(entry["names"], is_flag=True, help=entry["help"])
    return click.Option(
        entry["names"], type=kind, nargs=entry["nargs"], multiple=entry["multiple"], help=entry["help"]
    )


if TYPE_CHECKING:
    from assay.flows.cli.json_types import FailedJson


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("-v", "--verbose", is_flag=True, help="Log to standard error what is being done.")
@click.version_option(package_name=DISTRIBUTION, prog_name="assay")
def assay(verbose: bool) -> None:
    """How good is the model, and how sure are we? With as few human labels as possible.

    \b
    Start with:  assay demo
    """
    warnings.filterwarnings("default", "assay: ", DeprecationWarning)     # of keys that have to go
    ours = logging.getLogger("assay")
    ours.setLevel(logging.INFO if verbose else logging.WARNING)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    ours.handlers = [handler]


def run_command_line(arguments: list[str]) -> int:
    """The exit code of one run of `assay` with these arguments. Errors become one message and a code, never
    a traceback; where nobody reads the output any more, it is turned to the null device and the code is
    OUTPUT_CLOSED."""
    try:
        return _exit_code(arguments)
    except (_NobodyReads, BrokenPipeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)    # for what Python writes when it ends
        for descriptor in (1, 2):
            os.dup2(nowhere, descriptor)
        return OUTPUT_CLOSED


def _exit_code(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    try:
        code = assay.main(args=arguments, prog_name="assay", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help(), err=True)
        return 2
    except (click.Abort, KeyboardInterrupt):
        return _failed("Interrupted", SAFE, INTERRUPTED, as_json)
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        usage = f"{context.get_usage()}\n" if context else ""
        message = error.format_message()
        if isinstance(error, click.NoSuchOption) and context is not None:
            options = [name for param in context.command.get_params(context) for name in param.opts
                       if name.startswith("--")]
            message = f"no such option {error.option_name}; {nearest(error.option_name, options, 'options')}"
        return _failed("UsageError", message, 2, as_json, before=usage)
    except AssayError as error:
        return _failed(type(error).__name__, str(error), error.exit_code, as_json)
    return code if isinstance(code, int) else 0


def _failed(kind: str, message: str, exit_code: int, as_json: bool, before: str = "") -> int:
    click.echo(f"{before}assay: {message}", err=True)
    if as_json:
        result: FailedJson = {"error": {"kind": kind, "message": message, "exit_code": exit_code}}
        print_json(result)
    return exit_code
