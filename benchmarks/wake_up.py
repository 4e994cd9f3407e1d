"""How soon the next batch is on the desk after the last answer: by webhook, by hand and by sweep.

Run inside the environment of `make up` (it needs its Label Studio, Prefect, worker, receiver and S3):

    set -a; . .local/env; set +a; python -m benchmarks.wake_up --rounds 10 --write

Each round, a simulated person answers a batch of 10 through Label Studio's API; the clock runs from the reply
to the last answer until Label Studio lists every item of the next batch. Ways:

    webhook    Label Studio calls `assay listen`, which is warm
    command    `assay advance`, started at once: what a cold process costs
    sweep      a run of the deployment `sweep`, asked for at once: worker, process and flow; on its schedule
               (every 600 s) the waiting for the schedule comes before it, 300 s on the mean
"""

import argparse
import csv
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.local import SimulatedPerson
from assay.tasks.ledger import open_store
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.spec.evaluation import Spec
from benchmarks.__main__ import machine
from benchmarks.pages import write_page

BATCH = 10
COLD = 5           # rounds at most of the ways that start a process: they take ten times as long
PATIENCE = 180.0   # seconds for one batch
OUT = Path(__file__).parent.parent / "docs" / "measured" / "wake-up.md"


class Trial:
    """One evaluation, and the clock."""

    def __init__(self, folder: Path, store: Store, name: str, rounds: int) -> None:
        rng = np.random.default_rng(7)
        score = rng.normal(size=1000)
        self.truth = {f"item-{i}": "yes" if x > 0.5 else "no" for i, x in enumerate(score)}
        with (folder / f"{name}.csv").open("w", newline="") as opened:
            rows = csv.writer(opened)
            rows.writerow(["item_id", "score", "prediction", "text"])
            for i, x in enumerate(score):
                rows.writerow([f"item-{i}", x, "yes" if x > 0 else "no", f"{name} {i}"])
        url = os.environ["LABEL_STUDIO_URL"]
        self.store, self.name = store, name
        begin_evaluation(store, Spec.from_json({
            "name": name,
            "pool": {"source": str(folder / f"{name}.csv"), "id": "item_id", "score": "score",
                     "prediction": "prediction", "display": ["text"]},
            "labels": {"positive": "yes", "negative": "no"}, "measure": "f1", "method": "dirichlet-tree",
            "target": {"half_width": 0.001}, "budget": {"labels": BATCH * (rounds + 1)}, "batch_size": BATCH,
            "desk": {"kind": "label-studio", "url": url},
        }))
        self.api = LabelStudioApi(url, os.environ["LABEL_STUDIO_API_KEY"])
        self.person = SimulatedPerson(self.api, name, self.truth)
        advance(store, name)
        self.project = int(next(iter(self.api.projects(name)))["id"])

    def webhook_is_there(self) -> bool:
        return bool(self.api.get_json("api/webhooks/", {"project": self.project}))

    def round(self, number: int, wake: Callable[[], None]) -> float:
        """Answer a round, wake the evaluation, and time the next batch; seconds."""
        planned = read_plan(Ledger(self.store, self.name), number)
        assert planned is not None
        self.person.answer(planned)
        start = time.monotonic()
        threading.Thread(target=wake, daemon=True).start()
        batch = ("data.assay_batch", "equal", "String", f"{self.name}/{number + 1:04d}")
        while self.api.count(self.project, batch) < BATCH:
            if time.monotonic() - start > PATIENCE:
                raise TimeoutError(f"{self.name}: no batch {number + 1} after {PATIENCE:.0f} s")
            time.sleep(0.1)
        return time.monotonic() - start


def measure(rounds: int) -> dict[str, list[float]]:
    """Seconds by way. The receiver watches ASSAY_STORE; the other ways use ledgers it does not know."""
    mark = secrets.token_hex(3)
    watched = os.environ["ASSAY_STORE"]
    apart = f"{watched}-apart-{mark}"
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        trial = Trial(folder, open_store(watched), f"wake-{mark}", rounds)
        while not trial.webhook_is_there():   # the receiver looks for new evaluations once a minute
            time.sleep(1)
        seconds["webhook"] = [trial.round(n, lambda: None) for n in range(1, rounds + 1)]
        ways = {"command": _command, "sweep": _sweep}
        for way, wake in ways.items():
            store = f"{apart}-{way}"
            trial = Trial(folder, open_store(store), f"{way}-{mark}", rounds)
            print(seconds, file=sys.stderr, flush=True)
            seconds[way] = [
                trial.round(n, lambda w=wake, s=store, t=trial: w(s, t.name))
                for n in range(1, min(rounds, COLD) + 1)
            ]
    return seconds


def _command(store: str, name: str) -> None:
    assay = str(Path(sys.executable).with_name("assay"))
    subprocess.run([assay, "advance", name, "--store", store], check=False, capture_output=True)


def _sweep(store: str, _name: str) -> None:
    api = os.environ["PREFECT_API_URL"]
    name, password = os.environ["PREFECT_API_AUTH_STRING"].split(":", 1)
    with httpx.Client(timeout=30, trust_env=False, auth=(name, password)) as client:
        reply = client.get(f"{api}/deployments/name/assay-sweep/sweep").raise_for_status()
        found: Any = reply.json()
        client.post(
            f"{api}/deployments/{found['id']}/create_flow_run", json={"parameters": {"store": store}}
        ).raise_for_status()


def table(seconds: dict[str, list[float]]) -> str:
    """Markdown."""
    load = os.getloadavg()[0]
    said = {
        "webhook": "webhook to `assay listen`",
        "command": "`assay advance`, a new process, started at once",
        "sweep": "a `sweep` run asked for at once (worker, new process, flow)",
    }
    lines = [
        "# From the last answer to the next batch", "",
        "How long do people wait for the next batch?", "",
        f"Made by `python -m benchmarks.wake_up --write` in the environment of `make up`, on {machine()}, "
        f"with a load average of {load:.1f} at the end. Batches of {BATCH}, Label "
        "Studio on SQLite, the ledger on S3, a pool of 1,000; seconds from the reply to the last answer "
        "until Label Studio lists the whole next batch.", "",
        "| way | rounds | median | smallest | largest |", "|---|---|---|---|---|",
    ]
    for way, found in seconds.items():
        lines.append(
            f"| {said[way]} | {len(found)} | {np.median(found):.1f} | {min(found):.1f} | {max(found):.1f} |"
        )
    asked = float(np.median(seconds["sweep"]))
    scheduled = f"{300 + asked:.0f} | {asked:.0f} | {600 + asked:.0f}"
    lines += [
        f"| `sweep` on its schedule, every 600 s | computed | {scheduled} |", "",
        "With a webhook, people find the next batch within seconds after the last answer. A webhook can be "
        "lost; the next scheduled sweep then does what it would have done.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="write docs/measured/wake-up.md")
    given = parser.parse_args()
    text = table(measure(given.rounds))
    print(text)
    if given.write:
        write_page(OUT, text)


if __name__ == "__main__":
    main()
