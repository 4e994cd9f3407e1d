"""The commands are imported on demand, and the line about each is its own."""

import os
import signal
import subprocess
import sys
from importlib import import_module

import pytest

from assay.flows.cli.commands import COMMANDS
from assay.flows.cli.entry import main
from assay.flows.cli.main import run_command_line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_about_a_command_is_the_first_sentence_of_its_help(name):
    place = COMMANDS[name]
    command = getattr(import_module(f"assay.flows.cli.{place.module}"), place.function)

    assert command.name == name
    assert place.line == command.get_short_help_str(limit=500)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_import_no_library_that_takes_long(option):
    script = (
        "import sys; from assay.flows.cli.main import run_command_line; "
        f"code = run_command_line(['{option}']); "
        "heavy = {'numpy', 'scipy', 'pydantic', 'pyarrow', 'prefect'} & set(sys.modules); "
        "sys.exit(f'imports {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_tab_knows_the_commands_and_imports_none_of_them():
    script = (
        "import sys; from assay.flows.cli.main import assay\n"
        "try: assay.main(prog_name='assay')\n"
        "except SystemExit: pass\n"
        "sys.exit(str({'numpy', 'scipy', 'pydantic', 'pyarrow', 'prefect'} & set(sys.modules)))"
    )
    asks = {"_ASSAY_COMPLETE": "bash_complete", "COMP_WORDS": "assay re", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=os.environ | asks
    )

    assert done.stdout.split() == ["plain,report", "plain,replay"]
    assert done.stderr.strip() == "set()"


def test_help_cuts_no_sentence(capsys):
    assert run_command_line(["--help"]) == 0

    assert "..." not in capsys.readouterr().out.replace("[ARGS]...", "")


def test_an_unknown_command_is_an_error_of_usage(capsys):
    assert run_command_line(["evaluate"]) == 2

    assert "No such command 'evaluate'" in capsys.readouterr().err


def test_linear_algebra_gets_one_thread_unless_the_environment_says_otherwise(monkeypatch, capsys):
    for given, expected in ((None, "1"), ("4", "4")):
        monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
        if given is not None:
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", given)
        monkeypatch.setattr(sys, "argv", ["assay", "--version"])
        monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
        before = signal.getsignal(signal.SIGINT)
        try:
            with pytest.raises(SystemExit):
                main()
        finally:
            signal.signal(signal.SIGINT, before)
        assert os.environ["OPENBLAS_NUM_THREADS"] == expected
    capsys.readouterr()
