"""How large the house is, and what four journeys through it enter, counted by a profiler.

    python -m benchmarks.house      rewrites docs/measured/house.md

    a row         from a frame until it is posted
    a label       from an answer until it is an estimate
    a number      from the ledger until it is on the page
    a window      from a file of predictions until its alert

A line of code is one that is neither empty nor a comment nor part of a docstring. A module has code if it has
such a line. What a journey enters are the files whose functions it calls, templates of pages among them;
whatever is only imported is left out.
"""

import ast
import io
import json
import sys
import tempfile
import threading
import tokenize
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from statistics import mean, median
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import assay
from assay.flows.cli.main import run_command_line
from benchmarks.pages import read_page, write_page

HOUSE = Path(__file__).parents[1]
ROOMS = f"{HOUSE / 'assay'}/"
OUT = HOUSE / "docs" / "measured" / "house.md"

# what was measured before: when the aims were set, and before modules were joined (commit 33f6409)
AIMS_SET = ("767", "44,800", "68", "57", "14%", "43", "134,000", "161", "154", "163", "220")
BEFORE = ("417", "55,150", "132", "124", "11%", "2", "39,987", "116", "113", "120", "171")
MOST = 60      # modules that a journey is to enter
AIM = ("430", "", "", "", "", "0", "40,000", "60", "60", "60", "60")


def entered(journey: Callable[[], Any]) -> tuple[int, set[str]]:
    """How many functions of the house a journey calls, and in which files they are; imports left out."""
    seen: set[tuple[str, str, int]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_qualname, code.co_firstlineno))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        journey()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = [(str(Path(file).resolve()), name) for file, name, _ in seen]
    ours = [(file, name) for file, name in files if file.startswith(ROOMS)]
    return len(ours), {str(Path(file).relative_to(HOUSE)) for file, _ in ours}


def a_pool(rng: np.random.Generator, items: int = 400) -> pd.DataFrame:
    """Items with a score, a prediction and a label; one in seven predictions is wrong."""
    score = rng.normal(size=items)
    predicted = np.where(score > 0, "spam", "ham")
    wrong = rng.random(items) < 1 / 7
    label = np.where(wrong, np.where(score > 0, "ham", "spam"), predicted)
    return pd.DataFrame({
        "item_id": [f"i{i}" for i in range(items)], "score": score, "prediction": predicted, "label": label,
        "text": "a text",
    })


def of_an_evaluation(folder: Path) -> dict[str, tuple[int, set[str]]]:
    """The first three journeys, of one evaluation."""
    frame = a_pool(np.random.default_rng(1))
    truth = dict(zip(frame.item_id, frame.label, strict=True))
    found: dict[str, Any] = {}

    def posted() -> None:
        found["evaluation"] = assay.begin(
            frame, outcome=["spam", "ham"], prediction="prediction", score="score", measures=["f1"],
            id="item_id", show=["text"], target=0.1, budget=150, batch_size=50, name="one",
            store=str(folder / "ledger"),
        )
        found["batch"] = found["evaluation"].ask()

    def estimated() -> None:
        batch = found["batch"]
        found["evaluation"].tell(batch.assign(label=[truth[i] for i in batch.item_id]))
        assert found["evaluation"].estimates

    def told() -> None:
        found["evaluation"].report(str(folder / "report.html"))

    return {
        "a row until it is posted": entered(posted),
        "a label until it is an estimate": entered(estimated),
        "a number until it is on the page": entered(told),
    }


def of_a_window(folder: Path) -> tuple[int, set[str]]:
    """The fourth journey: two good days, and one whose window is called."""
    rng, today = np.random.default_rng(2), datetime.now(UTC).date()
    days = [today - timedelta(days=n) for n in (4, 3, 2)]
    for day in days:
        frame = a_pool(rng)
        if day == days[-1]:
            other = frame.label.shift(1).fillna("ham")
            frame["label"] = np.where(rng.random(len(frame)) < 0.6, other, frame.label)
        frame.assign(item_id=[f"{day}-{i}" for i in frame.item_id]).to_csv(folder / f"{day}.csv", index=False)
    spec = {
        "name": "stream",
        "pool": {"source": f"{folder}/{{date}}.csv", "id": "item_id", "score": "score",
                 "prediction": "prediction", "display": ["text"]},
        "labels": {"positive": "spam", "negative": "ham"},
        "measure": "accuracy", "target": {"half_width": 0.05}, "budget": {"labels": 200}, "batch_size": 100,
        "desk": {"kind": "simulated", "labels": f"{folder}/{{date}}.csv"},
        "threshold": {"min": 0.8},
        "monitor": {"first": str(days[0]), "schedule": {"cron": "0 0 * * *"}, "monthly_labels": 10_000},
    }
    (folder / "watch.yaml").write_text(json.dumps(spec))

    def watched() -> None:
        with redirect_stdout(StringIO()):
            store = str(folder / "windows")
            run_command_line(["monitor", str(folder / "watch.yaml"), "--once", "--store", store])

    return entered(watched)


def lines_of_code(text: str) -> tuple[int, int]:
    """Lines of code of a module, and those of them that import."""
    tree = ast.parse(text)
    documented = {
        line for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    quiet = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
             tokenize.ENDMARKER}
    code = {
        line for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in quiet
        for line in range(token.start[0], token.end[0] + 1)
    } - documented
    imports = {
        line for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    return len(code), len(code & imports)


def modules() -> dict[str, tuple[int, int]]:
    """Module -> its lines of code and those that import, of all with code."""
    found = {}
    for path in (HOUSE / "assay").rglob("*.py"):
        counted = lines_of_code(path.read_text(encoding="utf-8"))
        if counted[0]:
            found[path.relative_to(HOUSE).as_posix()] = counted
    return found


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many values a function takes, `self` and `cls` left out; commands and flows take none."""
    decorated = {ast.unparse(one).partition("(")[0] for one in function.decorator_list}
    if decorated & {"click.command", "flow"}:
        return 0
    given = function.args
    several = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    names = [one.arg for one in several if one is not None]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def long_signatures() -> int:
    """Functions that take more than seven values, the public face left out (users make measures by
    `user_measure`)."""
    return sum(
        parameters(node) > 7 and node.name != "user_measure"
        for module in modules() if not module.startswith("assay/face")
        for node in ast.walk(ast.parse((HOUSE / module).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def words_for_people() -> int:
    """Words of the pages that people read, as the test of the documentation counts them."""
    pages = [page for page in (HOUSE / "docs").rglob("*.md") if "measured" not in page.parts]
    pages.append(HOUSE / "deployments" / "README.md")
    return sum(len(path.read_text(encoding="utf-8").split()) for path in pages)


def by_folder(found: dict[str, tuple[int, int]]) -> str:
    """A table: modules and lines of code of each folder with at least four modules."""
    counts: dict[str, list[int]] = {}
    for module, (code, _) in found.items():
        folder = "/".join(module.split("/")[:2])
        counts.setdefault(folder, []).append(code)
    rows = [
        f"| `{folder}` | {len(code)} | {sum(code):,} | {max(code)} |"
        for folder, code in sorted(counts.items()) if len(code) > 3
    ]
    return "\n".join(["| folder | modules | lines of code | longest |", "| --- | --- | --- | --- |", *rows])


def main() -> None:
    """Rewrite the page."""
    with tempfile.TemporaryDirectory() as folder:   # so that nothing is imported while it is counted
        of_an_evaluation(Path(folder))
        of_a_window(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        journeys = of_an_evaluation(Path(folder))
        journeys["a window until its verdict is told"] = of_a_window(Path(folder))
    found = modules()
    code = [lines for lines, _ in found.values()]
    now = {
        "modules with code": f"{len(code):,}",
        "lines of code": f"{sum(code):,}",
        "mean module": f"{mean(code):.0f}",
        "median module": f"{median(code):.0f}",
        "share of lines that import": f"{sum(imports for _, imports in found.values()) / sum(code):.0%}",
        "functions with more than 7 parameters": str(long_signatures()),
        "words of documentation": f"{words_for_people():,}",
    } | {f"modules entered by {name}": str(len(files)) for name, (_, files) in journeys.items()}
    rows = [
        f"| {what} | {first} | {before} | {today} | {aim} |"
        for (what, today), first, before, aim in zip(now.items(), AIMS_SET, BEFORE, AIM, strict=True)
    ]
    roads = []
    for name, (functions, files) in journeys.items():
        passed = sum(found[file][0] for file in files if file in found)
        roads.append(f"| {name} | {functions:,} | {len(files)} | {passed:,} | {passed / MOST:.0f} |")
    write_page(OUT, PAGE.format(rows="\n".join(rows), roads="\n".join(roads), folders=by_folder(found)))
    print(read_page(OUT))


PAGE = """\
# The house in numbers

`python -m benchmarks.house` made this page. A line of code is one that is neither empty nor a comment nor
part of a docstring. A module has code if it has such a line.

| | when aims were set | before modules were joined | now | aim |
| --- | --- | --- | --- | --- |
{rows}

A journey enters the files whose functions it calls, templates of pages among them. The last column says how
long the mean module would be if there were 60:

| journey | functions | modules | lines of code in them | in each, of 60 |
| --- | --- | --- | --- | --- |
{roads}

**The aim of 60 modules a journey is missed.** Modules were joined where they told of one idea: a round that
is asked, a closed round, the shards of a pool, one live evaluation, the label model with its prior, the
files of a report. Those that are left tell of more than one.

{folders}
"""


if __name__ == "__main__":
    main()
