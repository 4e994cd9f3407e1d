"""The command `assay`: parse, call one function, print.

People read standard output; programs add `--json` and get exactly one JSON object there, while progress and
logs go to standard error either way. An error is one message on standard error; with `--json` standard output
then holds {"error": {"kind", "message", "exit_code"}}.

    0  done: target met, or budget or pool exhausted, and no limit, or the limit is kept
    1  failure          2  usage, or bad input
    3  the measure breached its limit          4  inconclusive against its limit
    5  not finished: waiting for people
    130  interrupted (Ctrl-C): nothing is lost, run the same command again
"""

import logging
import sys
from typing import TYPE_CHECKING

import click

from assay.evalcore.errors import DISTRIBUTION, AssayError
from assay.flows.cli.commands import Commands
from assay.flows.cli.interrupted import INTERRUPTED, SAFE
from assay.flows.cli.output import print_json

if TYPE_CHECKING:
    from assay.flows.cli.printed.commands import FailedJson


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("-v", "--verbose", is_flag=True, help="Log to standard error what is being done.")
@click.version_option(package_name=DISTRIBUTION, prog_name="assay")
def assay(verbose: bool) -> None:
    """How good is the model, and how sure are we? With as few human labels as possible.

    \b
    Start with:  assay demo
    """
    ours = logging.getLogger("assay")
    ours.setLevel(logging.INFO if verbose else logging.WARNING)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    ours.handlers = [handler]


def run_command_line(arguments: list[str]) -> int:
    """Run one command; its exit code."""
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
        context = getattr(error, "ctx", None)
        usage = f"{context.get_usage()}\n" if context else ""
        return _failed("UsageError", error.format_message(), 2, as_json, before=usage)
    except AssayError as error:
        return _failed(type(error).__name__, str(error), error.exit_code, as_json)
    return code if isinstance(code, int) else 0


def _failed(kind: str, message: str, exit_code: int, as_json: bool, before: str = "") -> int:
    click.echo(f"{before}assay: {message}", err=True)
    if as_json:
        told: FailedJson = {"error": {"kind": kind, "message": message, "exit_code": exit_code}}
        print_json(told)
    return exit_code
