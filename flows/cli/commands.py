"""The commands by name.  A command's module is imported when it is run, so that help is there at once; what
`assay run --help` and Tab need of it is in a file of outlines.

The line that `assay --help` prints about a command stands here for the same reason; a test holds it equal to
the first sentence of the command's own help.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from assay.flows.cli.outline import outline_of


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
        "connectors", "import_command",
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
        "look", "report",
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
        "publish", "publish",
        "Tell MLflow of an evaluation or a monitor: metrics with lower and upper ends, and the report.",
    ),
    "estimate": CommandPlace(
        "labels", "estimate",
        "Estimate a new measure, threshold, segment or system from the labels of an evaluation.",
    ),
    "compare": CommandPlace(
        "look", "compare",
        "Systems side by side: every measure, the differences from the baseline, and which is better.",
    ),
    "verify": CommandPlace(
        "verify", "verify",
        "Recompute an evaluation from its ledger, offline: draws, labels, estimates, verdict.",
    ),
    "replay": CommandPlace(
        "replay", "replay",
        "Simulate methods on a labelled pool: errors, coverage, and labels to a narrow interval.",
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
        "alerts", "alerts",
        "List the alerts of NAME, or of everything in the store, and who was told of them.",
    ),
    "listen": CommandPlace(
        "listen", "listen",
        "Receive Label Studio's webhooks, and advance evaluations within seconds of the last answer.",
    ),
    "monitor": CommandPlace(
        "monitor", "monitor",
        "Watch a stream of predictions: every window of time becomes an evaluation, and gets a verdict.",
    ),
    "history": CommandPlace(
        "monitor", "history",
        "A monitor's windows: the measure with its interval, the verdicts, and what they cost.",
    ),
    "amend": CommandPlace(
        "changes", "amend",
        "Make SPEC the newest version of its monitor.",
    ),
    "mute": CommandPlace(
        "changes", "mute",
        "Deliver no alert of the monitor NAME until a date.",
    ),
    "unmute": CommandPlace(
        "changes", "unmute",
        "End the mute of the monitor NAME, and sum up what was muted.",
    ),
}


class Commands(click.Group):
    """The group `assay`, whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now; None if there is none."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        found = getattr(import_module(f"assay.flows.cli.{place.module}"), place.function)
        if not isinstance(found, click.Command):
            raise TypeError(f"{place.module}.{place.function} is no command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` begin with.  Where only help or Tab wants to know, its outline will do."""
        name, *rest = args
        if ctx.resilient_parsing or (len(rest) == 1 and rest[0] in ctx.help_option_names):
            outline = outline_of(name)
            if outline is not None:
                return name, outline, rest
        if name not in COMMANDS and not ctx.resilient_parsing:
            near = get_close_matches(name, COMMANDS, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(COMMANDS)}"
            ctx.fail(f"no such command {name!r}{meant}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so, with their lines, none of them imported; then our own options."""
        named = [CompletionItem(name, help=place.line) for name, place in COMMANDS.items()
                 if name.startswith(incomplete)]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with their lines, none of them imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.line) for name, place in COMMANDS.items()])
