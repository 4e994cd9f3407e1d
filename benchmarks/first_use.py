"""Ten journeys of people who have never seen Assay, with files as they are: `python -m benchmarks.first_use`.

Rewrites docs/measured/first-use.md: what was typed, the lines that matter of what was printed, and the truth
beside it. Every journey is taken in an empty folder with the code of this checkout. Minutes.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.__main__ import machine
from benchmarks.pages import write_page

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "measured" / "first-use.md"

# mails.py, which every journey has beside it
MAILS = """\
import numpy as np
import pandas as pd

rng = np.random.default_rng(28)
spam = rng.random(400) < 0.3
score = np.where(spam, rng.beta(5, 2, 400), rng.beta(2, 6, 400)).round(4)
mails = pd.DataFrame({
    "text": [f"mail {i}" for i in range(400)], "score": score,
    "predicted": np.where(score > 0.6, "spam", "ham"), "truth": np.where(spam, "spam", "ham"),
})
said, is_so = mails.predicted == "spam", mails.truth == "spam"
TRUTH = 2 * (said & is_so).sum() / (said.sum() + is_so.sum())
"""


@dataclass(frozen=True)
class Journey:
    """What somebody does: how the file comes about, and what is typed, a command a line."""

    title: str
    makes: str              # Python, after `from mails import *`
    typed: str              # shell
    truth: str = "TRUTH"    # an expression


_ASKED = 'outcome=["spam", "ham"], measures="f1", prediction="predicted", probability="score", budget=200'

JOURNEYS = [
    Journey("A probability of each class, under the names of the classes",
            'both = mails.assign(ham=(1 - score).round(4), spam=score)\n'
            'both[["text", "predicted", "ham", "spam", "truth"]].to_csv("both.csv", index=False)',
            "assay run both.csv --label truth"),
    Journey("A decision of ones and zeros beside the label, called so by nobody",
            'flags = pd.DataFrame({"score": score, "flagged": said * 1, "is_spam": is_so * 1})\n'
            'flags.to_csv("flags.csv", index=False)',
            "assay run flags.csv --label is_spam\nassay run flags.csv --label is_spam --prediction flagged"),
    Journey("Probabilities with percent signs",
            'mails.assign(probability=[f"{100 * p:.1f}%" for p in score]).drop(columns="score").to_csv('
            '"percent.csv", index=False)',
            "assay run percent.csv --label truth"),
    Journey("Two exports in a folder: True and TRUE, 1 and 1.0, semicolons in one",
            'import pathlib\npathlib.Path("export").mkdir()\n'
            'one = pd.DataFrame({"id": range(400), "pred": said.map({True: "True", False: "False"}), '
            '"score": score, "label": is_so.map({True: "1", False: "0"})})\n'
            'one[:200].to_csv("export/a.csv", index=False)\n'
            'other = one.assign(pred=one.pred.str.upper(), label=one.label + ".0")\n'
            'other[200:].to_csv("export/b.csv", sep=";", index=False)',
            "assay run export"),
    Journey("A sorted frame that went through Arrow, with a Series of labels", "",
            f'python -c \'import assay, pyarrow as pa; from mails import *\n'
            f'table = pa.Table.from_pandas(mails.sort_values("score"))\n'
            f'print(assay.evaluate(table, oracle=mails.truth, {_ASKED}))\''),
    Journey("Half of the labels have not arrived", "",
            f'python -c \'import assay; from mails import *\n'
            f'print(assay.evaluate(mails, oracle=mails.truth.where(mails.index % 2 == 0), {_ASKED}))\''),
    Journey("Lists in JSON Lines",
            'tags = pd.DataFrame({"text": mails.text, "predicted": [["war"] * s + ["arts"] for s in said], '
            '"gold": [["war"] * s + ["arts"] for s in is_so]})\n'
            'tags.to_json("tags.jsonl", orient="records", lines=True)',
            "assay run tags.jsonl --label gold", "(said == is_so).mean()"),
    Journey("A row for each annotation",
            'twice = pd.concat([mails, mails]).reset_index(names="item_id")\n'
            'twice.insert(0, "annotation_id", range(800))\ntwice.to_csv("annotations.csv", index=False)',
            "assay run annotations.csv --label truth"),
    Journey("Latin-1, semicolons, an index, columns of other names",
            'post = mails.assign(text=[f"Grüße {i}; für dich" for i in range(400)])\n'
            'post = post.rename(columns={"predicted": "y_pred", "truth": "y_true"})\n'
            'post.to_csv("post.csv", sep=";", encoding="latin-1")',
            "assay run post.csv"),
    Journey("A check in a pipeline, and then another file under the same name",
            'mails.to_csv("predictions.csv", index=False)',
            "assay run predictions.csv --label truth\n"
            "assay check predictions-trial --min 0.6 --source predictions.csv\n"
            "head -300 predictions.csv > less.csv && mv less.csv predictions.csv\n"
            "assay check predictions-trial --min 0.6 --source predictions.csv"),
]

# lines that matter: what is measured, refused or asked, and the first estimates
_TOLD = re.compile(
    r"assay: (?!columns|no column names|wrote|interrupted|goes on)|  (?!report)\S+: |"
    r"  (f1|subset_accuracy)\b|BadInput|\S+: finished|\S+-trial: \d"
)


def go(journey: Journey, folder: Path) -> list[str]:
    """Take a journey in an empty folder; what each command printed, and the truth."""
    folder.mkdir(parents=True)
    (folder / "mails.py").write_text(MAILS, encoding="utf-8")
    ours = ("ASSAY_", "PYTHON")
    environment = {name: said for name, said in os.environ.items() if not name.startswith(ours)}
    environment["PYTHONPATH"] = str(ROOT)       # the commit that the page names, whatever is installed
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"

    def ran(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )

    made = ran("python", "-c", f"from mails import *\n{journey.makes}\nprint(f'{{{journey.truth}:.3f}}')")
    if made.returncode:
        raise RuntimeError(made.stdout)
    told = []
    commands = [journey.typed] if journey.typed.startswith("python") else journey.typed.splitlines()
    for command in commands:
        done = ran("sh", "-c", command)
        lines = [line for line in done.stdout.splitlines() if _TOLD.match(line) or "BadInput" in line]
        told += [f"$ {command}", *lines, *([f"exit code {done.returncode}"] if done.returncode else [])]
    return [*told, f"the truth: {made.stdout.strip()}"]


def page(transcripts: list[list[str]], commit: str) -> str:
    """The page."""
    parts = [
        "# A first use, watched\n\nTen journeys with files as they are, as people take them who have never "
        "seen Assay: what they typed, the lines\nthat matter of what was printed, and the truth. "
        f"`python -m benchmarks.first_use` made this page on {datetime.now(UTC):%Y-%m-%d},\n"
        f"of commit {commit}, on {machine()}. It also holds the code that made the\nfiles: 400 mails, 30% "
        "of them spam.\n"
    ]
    for number, (journey, lines) in enumerate(zip(JOURNEYS, transcripts, strict=True), 1):
        parts.append(f"## {number}. {journey.title}\n\n```text\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Take every journey and write the page."""
    head = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(head, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as scratch:
        transcripts = []
        for number, journey in enumerate(JOURNEYS, 1):
            folder = Path(scratch) / str(number)
            lines = go(journey, folder)
            transcripts.append([line.replace(f"{folder}/", "").replace(str(folder), ".") for line in lines])
            sys.stderr.write(f"{journey.title}\n")
    write_page(OUT, page(transcripts, commit))


if __name__ == "__main__":
    main()
