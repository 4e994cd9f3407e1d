"""Five strangers' journeys, from a fresh clone and from the light wheel: `python -m benchmarks.first_use`.

Rewrites docs/measured/first-use.md: what was typed, what was printed, and the truth beside it. The clone is
of the last commit and set up as the README says; the wheel is built from it and has the packages of
requirements/light.txt alone. Minutes.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from benchmarks.__main__ import machine

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "measured" / "first-use.md"

# prints a session as an interactive Python would: what is typed, then what it says; an error in one line
SESSION = r"""
import ast, sys, traceback
source = sys.argv[1]
lines, space = source.splitlines(), {"__name__": "__main__"}
for one in ast.parse(source).body:
    print(">>> " + "\n... ".join(lines[one.lineno - 1:one.end_lineno]), flush=True)
    try:
        exec(compile(ast.Interactive([one]), "<stdin>", "single"), space)
    except Exception as error:
        print("".join(traceback.format_exception_only(error)), end="", flush=True)
"""

# mails.py, which every journey has beside it
MAILS = """\
import numpy as np
import pandas as pd

rng = np.random.default_rng(28)
spam = rng.random(2_000) < 0.3
score = np.where(spam, rng.beta(5, 2, 2_000), rng.beta(2, 6, 2_000)).round(4)
mails = pd.DataFrame({
    "text": [f"mail {i}" for i in range(2_000)],
    "score": score,
    "predicted": np.where(score > 0.5, "spam", "ham"),
    "truth": np.where(spam, "spam", "ham"),
})


def truth(frame):
    said, is_so = frame.predicted == "spam", frame.truth == "spam"
    hits = (said & is_so).sum()
    f1, precision, recall = 2 * hits / (said.sum() + is_so.sum()), hits / said.sum(), hits / is_so.sum()
    return f"truth: f1 {f1:.3f}, precision {precision:.3f}, recall {recall:.3f}"
"""
QUESTION = """\
import assay
from mails import mails, pd, truth
question = {"outcome": ["spam", "ham"], "prediction": "predicted", "score": "score", "measures": "f1"}
"""

TRUTH_OF_FILE = """\
from mails import pd, truth
print(truth(pd.read_csv("predictions.csv")))
"""
# the light core has no scikit-learn: the same part without it
WITHOUT_SKLEARN = {
    "from sklearn.model_selection import train_test_split": "import numpy as np",
    "_, part = train_test_split(mails, test_size=0.4, random_state=0)":
        "part = mails.iloc[np.random.RandomState(0).permutation(2_000)[:800]]",
}


@dataclass(frozen=True)
class Journey:
    """What a stranger does, step by step: `python`, a session, or `shell`, a command."""

    title: str
    story: str
    steps: tuple[tuple[str, str], ...]


JOURNEYS = (
    Journey(
        "A shuffled frame",
        "The frame is shuffled; the labels are a Series, a dictionary with integer keys, a function. All "
        "three are asked by the frame's own index.",
        (("python", QUESTION + """\
shuffled = mails.sample(frac=1, random_state=1)
by_series = assay.evaluate(shuffled, **question, budget=200, oracle=mails.truth)
print(by_series)
print(truth(shuffled))
by_key = assay.evaluate(shuffled, **question, budget=200, oracle=mails.truth.to_dict())
by_row = assay.evaluate(shuffled, **question, budget=200, oracle=lambda row: row["truth"])
by_series.to_frame().equals(by_key.to_frame()) and by_series.to_frame().equals(by_row.to_frame())
twice = assay.evaluate(pd.concat([mails, mails]), **question, budget=200, oracle=mails.truth)
"""),),
    ),
    Journey(
        "A part of a split",
        "The test part of `train_test_split`: its index has gaps and no order. Once with the labels of the "
        "whole frame, once by `ask` and `tell`.",
        (("python", QUESTION + """\
from sklearn.model_selection import train_test_split
_, part = train_test_split(mails, test_size=0.4, random_state=0)
part.index[:5].tolist()
result = assay.evaluate(part, **question, budget=200, oracle=mails.truth)
print(result)
people = assay.begin(part, **question, budget=200, show="text")
while len(batch := people.ask()):
    _ = people.tell(batch.assign(label=part.loc[batch.item_id].truth.to_numpy()))

print(people.result)
print(truth(part))
"""),),
    ),
    Journey(
        "Two models",
        "One set of labels for two versions of a model, asked for where they differ; then a report.",
        (
            ("python", "import assay\nimport numpy as np\nfrom mails import mails\n" + """\
mails["a"], mails["b"] = mails.predicted, np.where(mails.score > 0.35, "spam", "ham")
question = {"outcome": ["spam", "ham"], "systems": {"a": "a", "b": "b"}, "measures": "accuracy"}
result = assay.evaluate(mails, **question, budget=300, oracle=mails.truth)
print(result)
print(result["accuracy", "a"])
print(result["accuracy", "b"])
print(result["accuracy", "b", "a"])
a, b = ((mails[name] == mails.truth).mean() for name in ("a", "b"))
print(f"truth: a {a:.3f}, b {b:.3f}, b minus a {b - a:+.3f}")
result["accuracy", "c"]
people = assay.begin(mails, **question, budget=300, store="assay-ledger", name="a-or-b", show="text")
while len(batch := people.ask()):
    _ = people.tell(batch.assign(label=mails.loc[batch.item_id].truth.to_numpy()))

people.report("report.html").name
"""),
            ("shell", "assay compare a-or-b"),
            ("python", """\
from mails import mails
a, b = ((mails.predicted == mails.truth).mean(), ((mails.score > 0.35) == (mails.truth == "spam")).mean())
print(f"truth: a {a:.3f}, b {b:.3f}, b minus a {b - a:+.3f}")
"""),
        ),
    ),
    Journey(
        "A semicolon CSV with missing labels",
        "An export with semicolons, its truth under a name that Assay does not know and missing in a third "
        "of the rows. `run` refuses it, so the labelled rows go into files of their own: one in Latin-1, one "
        "with tabs.",
        (
            ("python", """\
from mails import mails, np, rng
mails["text"] = [f"Grüße {i}; für dich" for i in range(2_000)]
post = mails.rename(columns={"predicted": "decision", "truth": "wahrheit"})
known = rng.random(2_000) < 0.67
post["wahrheit"] = post.wahrheit.where(known, rng.choice(["", "n/a"], 2_000))
post.to_csv("post.csv", sep=";", index=False)
post[known].to_csv("latin.csv", sep=";", index=False, encoding="latin-1")
post[known].to_csv("labelled.tsv", sep="\\t", index=False)
"""),
            ("shell", "head -4 post.csv"),
            ("shell", "assay doctor post.csv"),
            ("shell", "assay run post.csv --label wahrheit --positive spam"),
            ("shell", "assay run latin.csv --label wahrheit --positive spam"),
            ("shell", "assay run labelled.tsv --label wahrheit --positive spam"),
            ("python", """\
from mails import pd, truth
for read in (pd.read_csv("latin.csv", sep=";", encoding="latin-1"), pd.read_csv("labelled.tsv", sep="\\t")):
    print(len(read), truth(read.rename(columns={"decision": "predicted", "wahrheit": "truth"})))
"""),
        ),
    ),
    Journey(
        "A pipeline with a changed file",
        "A check is green; then every decision in the file is inverted. Nothing may say green of that file.",
        (
            ("python", """\
from mails import mails, np, truth
mails.insert(0, "message_id", [f"m{i}" for i in range(2_000)])
mails.to_csv("predictions.csv", index=False)
inverted = mails.assign(predicted=np.where(mails.predicted == "spam", "ham", "spam"))
inverted.to_csv("inverted.csv", index=False)
"""),
            ("shell", "assay run predictions.csv --label truth --positive spam"),
            ("python", TRUTH_OF_FILE),
            ("shell", "assay check predictions-trial --min 0.6 --source predictions.csv"),
            ("shell", "cp inverted.csv predictions.csv"),
            ("shell", "assay check predictions-trial --min 0.6 --source predictions.csv"),
            ("shell", "assay check predictions-trial --min 0.6"),
            ("shell", "assay run predictions-trial.yaml --wait 0"),
            ("shell", "assay begin predictions-trial.yaml"),
            ("shell", "assay doctor predictions-trial.yaml"),
            ("shell", "assay run predictions-trial.yaml --name predictions-inverted"),
            ("shell", "assay check predictions-inverted --min 0.6 --source predictions.csv"),
            ("python", TRUTH_OF_FILE),
        ),
    ),
)


def fresh_clone(folder: Path) -> Path:
    """A clone of the last commit, set up as the README says; the folder of its commands."""
    _done("git", "clone", "--quiet", str(ROOT), str(folder))
    _done("make", "--silent", "setup", cwd=folder)
    return folder / ".venv" / "bin"


def light_wheel(clone: Path, folder: Path) -> Path:
    """The clone's wheel with the pinned packages of the light core; the folder of its commands."""
    bin_of_clone, python = clone / ".venv" / "bin", str(folder / "bin" / "python")
    made = folder.parent / "wheel"
    _done(str(bin_of_clone / "python"), "-m", "hatchling", "build", "-t", "wheel", "-d", str(made), cwd=clone)
    (wheel,) = made.glob("*.whl")
    uv = str(bin_of_clone / "uv")
    _done(uv, "venv", "--quiet", "--python", str(bin_of_clone / "python"), str(folder))
    install = (uv, "pip", "install", "--quiet", "--python", python)
    _done(*install, "--require-hashes", "-r", str(clone / "requirements" / "light.txt"))
    _done(*install, "--no-deps", str(wheel))
    return folder / "bin"


def _done(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)


def go(journey: Journey, commands: Path, folder: Path, *, without_sklearn: bool) -> list[str]:
    """Take a journey with the commands of one installation, in an empty folder; what each step printed."""
    folder.mkdir(parents=True)
    (folder / "mails.py").write_text(MAILS, encoding="utf-8")
    ours = ("ASSAY_", "PYTHON")
    environment = {name: said for name, said in os.environ.items() if not name.startswith(ours)}
    environment["PATH"] = f"{commands}{os.pathsep}{environment['PATH']}"
    told = []
    for kind, text in journey.steps:
        typed = text
        for line, other in WITHOUT_SKLEARN.items() if without_sklearn else ():
            typed = typed.replace(line, other)
        command = ["sh", "-c", typed] if kind == "shell" else ["python", "-c", SESSION, typed]
        ran = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )
        printed = ran.stdout.replace(f"{folder}/", "").replace(str(folder), ".")
        if kind == "shell":
            printed = f"$ {text}\n{trimmed(printed)}"
            printed += f"exit code {ran.returncode}\n" if text.startswith("assay ") else ""
        told.append(printed)
    return told


def trimmed(printed: str) -> str:
    """Without the middle rounds, the text of a suggested spec, and what is said of every interval."""
    printed = re.sub(r"(?s)\n# Suggested by .*", "\n… (a spec to start from)\n", printed)
    about = r"(?m)^  About the interval: .*\n(  .*\n)*?(?=  report:)"
    printed = re.sub(about, "  … (about the interval)\n", printed)
    lines: list[str] = []
    for is_round, several in groupby(printed.splitlines(), lambda line: line.startswith("round ")):
        part = list(several)
        lines += [part[0], "…", part[-1]] if is_round and len(part) > 3 else part
    return "".join(f"{line}\n" for line in lines)


def page(commit: str, clone: dict[str, list[str]], light: dict[str, list[str]]) -> str:
    """The page, from both installations' transcripts by title."""
    parts = [
        "# A first use, watched\n\n" + _wrapped(
            "Five journeys as people take them who have never seen Assay: what they typed, what was printed, "
            "and the truth beside it. `python -m benchmarks.first_use` made this page on "
            f"{datetime.now(UTC):%Y-%m-%d}, of commit {commit}, on {machine()}. Every journey was taken in "
            "an empty folder, with a fresh clone after `make setup`, and again with the "
            "[light wheel](../tutorial/installing.md) in an environment of its own. The transcripts are the "
            "clone's; what the wheel printed otherwise stands below. Left out, and marked with …: the rounds "
            "between the first and the last one, the text of suggested specs, the paragraph about intervals."
        ) + "\n",
        f"Each folder has a `mails.py`:\n\n```python\n{MAILS}```\n"
    ]
    for number, journey in enumerate(JOURNEYS, 1):
        parts.append(f"## {number}. {journey.title}\n\n{_wrapped(journey.story)}\n")
        parts += [f"```text\n{step}```\n" for step in clone[journey.title]]
        parts.append(_compared("".join(clone[journey.title]), "".join(light[journey.title])))
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    return re.sub(r"(.{1,118})(?: |$)", r"\1\n", text).rstrip()


def _compared(clone: str, light: str) -> str:
    """What the light wheel printed otherwise, times of day left out."""
    one, other = (re.sub(r"\d\d:\d\d UTC", "… UTC", text).splitlines() for text in (clone, light))
    found = difflib.unified_diff(one, other, lineterm="", n=0)
    lines = [line for line in found if line not in ("--- ", "+++ ") and not line.startswith("@@ ")]
    if not lines:
        return "The light wheel printed the same, line for line.\n"
    told = "".join(f"{line}\n" for line in lines)
    return f"The light wheel (+) instead of the clone (-):\n\n```diff\n{told}```\n"


def main() -> None:
    """Take every journey twice and write the page."""
    with tempfile.TemporaryDirectory() as scratch:
        clone = fresh_clone(Path(scratch) / "clone")
        head = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(head, cwd=clone, capture_output=True, text=True, check=True).stdout.strip()
        homes = {"clone": clone, "light": light_wheel(clone.parents[1], Path(scratch) / "light")}
        told: dict[str, dict[str, list[str]]] = {}
        for home, commands in homes.items():
            for number, journey in enumerate(JOURNEYS, 1):
                folder = Path(scratch) / f"use-of-{home}" / str(number)
                took = go(journey, commands, folder, without_sklearn=home == "light")
                told.setdefault(home, {})[journey.title] = took
                sys.stderr.write(f"{home}: {journey.title}\n")
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(page(commit, told["clone"], told["light"]), encoding="utf-8")


if __name__ == "__main__":
    main()
