"""One version at its turns: reads `[store, folder, step]` a line, does the step, and prints what it came to.

Run with the code of that version on the path; it names only what 1.0.0 has too.
"""

import csv
import json
import sys
from datetime import UTC, datetime, timedelta
from inspect import signature
from pathlib import Path
from typing import Any

import assay
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.evaluation.finish import extend
from assay.flows.monitor.mute import mute
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import amend, register
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import open_store
from assay.tasks.ledger.monitors import read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

NAME, MONITOR = "small", "stream"


def after(days: int) -> datetime:
    """Noon of the day after so many days of the stream."""
    return datetime(2026, 11, 1, 12, tzinfo=UTC) + timedelta(days=days)


def at(function: Any, moment: datetime) -> dict[str, datetime]:
    """The moment as an argument of the function, which 1.0.0 calls `now`."""
    return {"moment" if "moment" in signature(function).parameters else "now": moment}


def answer(folder: Path, *, changed: bool) -> None:
    """Answer what lies on the folder desk; changed: the first item of every batch by the other class."""
    with (folder / "labels.csv").open(newline="") as opened:
        truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    for batch in sorted((folder / "desk").glob("*/round-*.csv")):
        answers = batch.parent / "answers" / batch.name
        if answers.exists() and not changed:
            continue
        with batch.open(newline="", encoding="utf-8-sig") as opened:
            items = [row["item_id"] for row in csv.DictReader(opened)]
        said = [truth[item] for item in items]
        if changed:
            said[0] = "match" if said[0] == "no match" else "no match"
        answers.parent.mkdir(exist_ok=True)
        with answers.open("w", newline="", encoding="utf-8") as opened:
            csv.writer(opened).writerows([["item_id", "label"], *zip(items, said, strict=True)])


def step(where: str, folder: Path, what: list[str]) -> Any:
    """One step; what it came to."""
    if what == ["where"]:
        return str(Path(assay.__file__).resolve())
    store = open_store(where)
    specs = json.loads((folder / "specs.json").read_text())
    match what:
        case ["begin"]:
            begin_evaluation(store, Spec.from_json(specs["evaluation"], origin="the study"))
            advance(store, NAME)
        case ["advance"]:
            answer(folder, changed=False)
            return advance(store, NAME).state
        case ["extend"]:
            extend(store, NAME, 15, reason="more")
        case ["change"]:
            answer(folder, changed=True)
        case ["look"]:
            advance(store, NAME, look_again=True)
        case ["register"]:
            register(store, MonitorSpec.from_data(specs["monitor"], origin="the study"))
        case ["tick", days]:
            tick(store, MONITOR, **at(tick, after(int(days))))
        case ["amend"]:
            looser = {**specs["monitor"], "threshold": {"min": 0.8}}
            amend(store, MonitorSpec.from_data(looser, origin="the study"), **at(amend, after(2)))
        case ["mute"]:
            mute(store, MONITOR, until=after(9), reason="roll-out", **at(mute, after(3)))
        case ["outcome", "auto"]:
            stands = current_standing(open_evaluation(store, NAME))
            return [stands.state, stands.labels, stands.rounds]
        case ["outcome", "evaluation"]:
            stands = current_standing(open_evaluation(store, NAME))
            return [stands.state, stands.labels, stands.rounds, *(
                [one.measure, one.value, one.lower, one.upper, one.revision] for one in stands.estimates
            )]
        case ["outcome", "monitor"]:
            return [
                [one.number, one.window, one.version, one.verdict, one.rests_on.labels,
                 one.overall.measured.value] for one in read_verdicts(Ledger(store, f"monitors/{MONITOR}"))
            ]
        case ["verify", kind]:
            found = verify_monitor(store, MONITOR) if kind == "monitor" else verify(store, NAME)
            return [f"{one.key}: {one.difference}" for one in found.differences]
        case _:
            raise SystemExit(f"no step {what}")
    return None


if __name__ == "__main__":
    for line in sys.stdin:
        store_address, here, named = json.loads(line)
        sys.stdout.write(json.dumps(step(store_address, Path(here), named.split())) + "\n")
        sys.stdout.flush()
