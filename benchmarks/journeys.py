"""What four journeys through the house enter: functions and modules, counted by a profiler.

    python -m benchmarks.journeys

    a row         from a frame until it is posted
    a label       from an answer until it is an estimate
    a number      from the ledger until it is on the page
    a window      from a file of predictions until its alert
"""

import json
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import assay
from assay.flows.cli.main import run_command_line

HOUSE = Path(__file__).parents[1]
ROOMS = tuple(f"{HOUSE / room}/" for room in ("evalcore", "tasks", "flows", "assay"))


def entered(journey: Callable[[], Any]) -> tuple[int, int]:
    """How many functions of how many modules of the house a journey calls, imports left out."""
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
    return len(ours), len({file for file, _ in ours})


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


def of_an_evaluation(folder: Path) -> dict[str, tuple[int, int]]:
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


def of_a_window(folder: Path) -> tuple[int, int]:
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


def main() -> None:
    """The table."""
    with tempfile.TemporaryDirectory() as folder:   # so that nothing is imported while it is counted
        of_an_evaluation(Path(folder))
        of_a_window(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        rows = of_an_evaluation(Path(folder))
        rows["a window until its verdict is told"] = of_a_window(Path(folder))
    print("| journey | functions | modules |\n| --- | --- | --- |")
    for journey, (functions, modules) in rows.items():
        print(f"| {journey} | {functions:,} | {modules} |")


if __name__ == "__main__":
    main()
