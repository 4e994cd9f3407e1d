"""The commands are imported on demand, and the line about each is its own."""

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool

from assay.evalcore.errors import likely
from assay.flows.cli.entry import main
from assay.flows.cli.main import COMMANDS, FILE, all_outlines, assay, outline_of, run_command_line

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_about_a_command_is_the_first_sentence_of_its_help(name):
    place = COMMANDS[name]
    command = getattr(import_module(f"assay.flows.cli.{place.module}"), place.function)

    assert command.name == name
    assert place.line == command.get_short_help_str(limit=500)


def test_a_command_that_is_misspelt_is_answered_with_the_nearest(capsys):
    assert run_command_line(["statsu"]) == 2
    assert "no such command 'statsu'; did you mean 'status'?" in capsys.readouterr().err
    assert run_command_line(["xyzzy"]) == 2
    assert "known commands: demo, import, doctor" in capsys.readouterr().err


@pytest.mark.parametrize(("written", "says"), [
    (["doctor", "rows.csv", "--lable", "truth"], "no such option --lable; did you mean '--label'?"),
    (["run", "rows.csv", "--methd", "passive"], "no such option --methd; known options: --id, --prediction,"),
    (["doctor", "rows.csv", "--label", "trtuh"], "no column 'trtuh' with values; did you mean 'truth'?"),
    (["doctor", "rows.csv", "--label", "truth", "--positive", "yss"], "the class 'yss'; did you mean 'yes'?"),
    (["replay", "rows.csv", "--id", "ids"], "no column 'ids'; did you mean 'id'?"),
    (["schema", "statsu"], "no schema 'statsu'; did you mean 'status'?"),
    (["status", "tiral"], "no evaluation named 'tiral' has begun in ./assay-ledger; did you mean 'trial'?"),
    (["status", "steam"], "did you mean 'stream'?"),
    (["advance", "stream"], "'stream' is a monitor of ./assay-ledger, and no evaluation: `assay monitor"),
])
def test_any_name_that_is_misspelt_is_answered_by_one_rule(written, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    Path("rows.csv").write_text("id,score,truth\na,0.2,no\nb,0.9,yes\nc,0.7,yes\nd,0.1,no\n")
    Path("assay-ledger/trial").mkdir(parents=True)
    Path("assay-ledger/monitors/stream").mkdir(parents=True)
    Path("assay-ledger/monitors/stream/spec.json").write_text("{}")
    assert run_command_line(written) == 2
    assert says in capsys.readouterr().err


def test_nothing_else_decides_what_was_meant():
    said = [likely(name, ["f1", "roc_auc", "precision", "table"])
            for name in ("F1", "f1_score", "auc", "pre", "Precison", "label", "speed", "")]
    assert said == ["f1", "f1", "roc_auc", "precision", "precision", None, None, None]
    folders = ("assay/evalcore", "assay/tasks", "assay/flows", "assay/face")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    assert [file.name for file in files if "import get_close" in file.read_text("utf-8")] == ["errors.py"]


def test_the_outlines_are_those_of_the_commands():
    assert all_outlines(assay) == FILE.read_text(encoding="utf-8"), "run python docs/outlines.py"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_an_outline_is_the_help_of_its_command(name):
    whole = click.Context(assay, info_name="assay", **assay.context_settings)
    for width in (60, 100):
        said = [
            command.get_help(click.Context(command, parent=whole, info_name=name, terminal_width=width))
            for command in (outline_of(name), assay.get_command(whole, name))
        ]
        assert said[0] == said[1]


def test_help_and_version_import_no_library_that_takes_long():
    script = (
        "import sys; from assay.flows.cli.main import run_command_line; "
        "code = sum(map(run_command_line, (['--version'], ['--help'], ['run', '--help']))); "
        "heavy = {'numpy', 'scipy', 'pydantic', 'pyarrow', 'prefect'} & set(sys.modules); "
        "sys.exit(f'imports {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


# What takes long to import, and which of it a command may import: a name more makes people wait.
SLOW = {
    "boto3", "dask", "fastapi", "httpx", "jinja2", "numpy", "obstore", "pandas", "prefect", "pyarrow",
    "pydantic", "ray", "rich", "scipy.cluster", "scipy.linalg", "scipy.optimize", "scipy.sparse",
    "scipy.spatial", "scipy.special", "scipy.stats", "sklearn", "uvicorn",
}
READS_A_LEDGER = {"numpy", "pyarrow", "pydantic"}
FORECASTS = {"scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.spatial", "scipy.special"}
# With it the most modules of our own: each costs some 2 ms, half of it for its dataclasses.
IMPORTS = {
    "status small": (READS_A_LEDGER, 213),
    "advance small": (READS_A_LEDGER | {"rich", "scipy.special"}, 285),
    "alerts": (READS_A_LEDGER, 230),
    "doctor predictions.csv": (READS_A_LEDGER | FORECASTS | {"rich"}, 271),
}


def test_a_command_imports_only_what_it_uses(tmp_path, monkeypatch):
    def imported(command):
        script = (
            "import sys; from assay.flows.cli.main import run_command_line; "
            f"code = run_command_line({command.split()!r}); "
            "ours = sum(name.startswith('assay.') for name in sys.modules); "
            f"print('imports', ours, *sorted({SLOW!r} & set(sys.modules)), file=sys.stderr); "
            "sys.exit(code)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode in (0, 5), done.stderr
        ours, *slow = done.stderr.split()[done.stderr.split().index("imports") + 1:]
        return int(ours), set(slow)

    write_small_pool(tmp_path)
    spec = spec_json(tmp_path / "predictions.csv", tmp_path / "labels.csv", budget={"labels": 200})
    spec["desk"] = {"kind": "folder", "path": "desk"}
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    monkeypatch.chdir(tmp_path)
    assert [run_command_line(line.split()) for line in ("begin spec.yaml", "advance small")] == [0, 5]
    for command, (allowed, most) in IMPORTS.items():
        ours, slow = imported(command)
        assert slow <= allowed, command
        assert ours <= most, command


@pytest.mark.parametrize(("typed", "offered"), [
    ("assay re", ["plain,report", "plain,replay", "plain,recycle", "plain,repeats"]),
    ("assay replay x.csv --outcome nu", ["plain,number"]),
])
def test_tab_knows_commands_and_options_and_imports_no_library(typed, offered):
    script = (
        "import sys; from assay.flows.cli.main import assay\n"
        "try: assay.main(prog_name='assay')\n"
        "except SystemExit: pass\n"
        "sys.exit(str({'numpy', 'scipy', 'pydantic', 'pyarrow', 'prefect'} & set(sys.modules)))"
    )
    asks = {"_ASSAY_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=os.environ | asks
    )

    assert done.stdout.split() == offered
    assert done.stderr.strip() == "set()"


def test_help_cuts_no_sentence(capsys):
    assert run_command_line(["--help"]) == 0

    assert "..." not in capsys.readouterr().out.replace("[ARGS]...", "")


@pytest.mark.parametrize(("written", "says"), [
    (["replay", "rows.csv", "--method", "auto", "--method", "passive"],
     "--method is given 2 times; write several in one, with commas between them"),
    (["status", "one", "--store", "a", "--store", "b"], "--store is given 2 times"),
    # those that may stand twice are read
    (["replay", "rows.csv", "--outcome", "classes", "--system", "a=x", "--system", "b=y"], "rows.csv"),
])
def test_an_option_with_one_value_is_given_once(written, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_command_line(written) == 2
    told = capsys.readouterr().err
    assert says in told
    assert ("times" in told) == ("times" in says)


def test_an_unknown_command_is_an_error_of_usage(capsys):
    assert run_command_line(["evaluate"]) == 2

    assert "no such command 'evaluate'" in capsys.readouterr().err


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


@pytest.mark.parametrize("command", [["run", "spec.yaml"], ["status", "nothing"]])
def test_a_closed_pipe_ends_a_command_quietly_and_nothing_is_lost(command, tmp_path):
    written = spec_json(*write_small_pool(tmp_path), store=str(tmp_path / "ledger"), budget={"labels": 20})
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(written))
    program = [sys.executable, "-m", "assay.flows.cli.entry"]
    reads, writes = os.pipe()
    os.close(reads)
    ended = subprocess.run([*program, *command], cwd=tmp_path, stdout=writes, stderr=writes, check=False)
    os.close(writes)
    assert ended.returncode == 141
    if command[0] == "run":
        assert run_command_line(["run", str(tmp_path / "spec.yaml")]) == 0


def test_a_connection_that_breaks_is_no_closed_pipe(monkeypatch, capsys):
    def broken(*_):
        raise BrokenPipeError

    monkeypatch.setattr("assay.flows.cli.schemas.schema_named", broken)
    assert run_command_line(["schema", "run"]) == 1
    assert capsys.readouterr().err == "assay: a connection was cut off; run the same command again\n"
