"""A long life on a real Label Studio: thousands of items, and all that people and administrators do to them.

    PYTHONPATH=tests python -m benchmarks.recovery.label_studio_at_length --items 1000

Two rounds. In the first: predictions for some items, drafts, answers twice by one person and by two, skips,
tasks deleted before and after they were answered, the token exchanged, the server killed and started again in
the middle of the answers. Every item must come to one label, the right one. The result is one line of JSON.
"""

import argparse
import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

from doubles.small_pool import spec_json, write_small_pool
from services.faulty_proxy import faulty_proxy
from services.label_studio_people import Person, choice_result, new_person, owner

from assay.flows.evaluation.advance import Timing, advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.desks.desk import DeskRefused
from assay.tasks.desks.label_studio.api import TOKEN_VARIABLE
from assay.tasks.desks.label_studio.local import LocalLabelStudio
from assay.tasks.ledger import open_store
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.standing import Standing
from assay.tasks.spec.evaluation import Spec

NAME = "lengthy"
Task = dict[str, Any]


class Life:
    """One evaluation, its server, and who labels."""

    def __init__(self, server: LocalLabelStudio, proxy: Any, folder: Path, items: int) -> None:
        self.server, self.proxy, self.items = server, proxy, items
        predictions, labels = write_small_pool(folder, n=items)
        rows = (line.split(",") for line in labels.read_text().splitlines()[1:])
        self.truth = {f"what item {int(item[5:])} says": label for item, label in rows}
        self.by_id = {f"item-{int(text.split()[2]):04d}": label for text, label in self.truth.items()}
        data = spec_json(
            predictions, labels, name=NAME, budget={"labels": items}, batch_size=items // 2, method="passive",
            measure="accuracy", target={"half_width": 0.0001},
            desk={"kind": "label-studio", "url": proxy.url},
        )
        self.store = open_store(str(folder / "ledger"))
        self.spec = Spec.from_json(data, origin="the trial's spec")
        self.said: dict[str, Any] = {"items": items}
        self.slowest = 0.0

    def advance(self) -> Standing:
        started = time.monotonic()
        standing = advance(self.store, NAME, timing=Timing(repost_after=timedelta(0)))
        self.slowest = max(self.slowest, time.monotonic() - started)
        return standing

    @property
    def person(self) -> Person:
        return owner(self.proxy.url, self.server.token)

    def tasks(self, person: Person) -> list[Task]:
        """Tasks of all pages that have no answer."""
        project = person.projects(NAME)[0]["id"]
        found: list[Task] = []
        page = 1
        while True:
            params = {"project": project, "page": page, "page_size": 500, "fields": "all"}
            reply = person._ask("GET", "/api/tasks/", params=params)
            found += reply["tasks"]
            if len(found) >= reply["total"]:
                return [task for task in found if not task["annotations"]]
            page += 1

    def answer(self, person: Person, tasks: list[Task]) -> None:
        """All of them, right."""
        with ThreadPoolExecutor(3) as workers:
            list(workers.map(lambda task: person.label(task["id"], self.right(task)), tasks))

    def right(self, task: Task) -> str:
        return self.truth[task["data"]["shown_text"]]

    def wrong(self, task: Task) -> str:
        return "no match" if self.right(task) == "match" else "match"


def first_round(life: Life) -> None:
    """Everything that can happen to tasks."""
    person = life.person
    other = new_person(life.proxy.url, life.server.token)
    tasks = life.tasks(person)
    few = max(len(tasks) // 50, 2)
    groups = [tasks[i * few:(i + 1) * few] for i in range(6)]
    predicted, drafted, twice, by_two, skipped, deleted = groups
    for task in predicted:
        person._ask("POST", "/api/predictions/", json={
            "task": task["id"], "result": [choice_result(life.wrong(task))], "model_version": "planted",
        })
    for task in drafted:
        other.draft(task["id"], life.wrong(task))
    for task in deleted:
        person.delete_task(task["id"])
    life.said["copies of each"] = few
    life.advance()                        # the deleted ones are posted again
    for task in twice:
        person.label(task["id"], life.right(task))
        person.label(task["id"], life.right(task))
    for task in by_two:
        person.label(task["id"], life.right(task))
        other.label(task["id"], life.right(task))
    for task in skipped:
        person.skip(task["id"])
    gone = life.tasks(person)[-few:]
    for task in gone:                     # answered, read, and then deleted: the answer stays
        person.label(task["id"], life.right(task))
    life.advance()
    for task in gone:
        person.delete_task(task["id"])
    rest = life.tasks(person)
    life.answer(person, rest[: len(rest) // 2])
    life.server.restart(killed=True)
    life.proxy.upstream = life.server.url
    exchange_token(life)
    person = life.person
    life.answer(person, life.tasks(person))


def exchange_token(life: Life) -> None:
    """A new token; with the old one `advance` says so and nothing is lost."""
    new = life.person._ask("POST", "/api/current-user/reset-token/")["token"]
    try:
        life.advance()
        life.said["old token"] = "was still accepted"
    except DeskRefused as error:
        life.said["old token"] = str(error)[:160].replace(life.proxy.url, "the server")
    life.server.token = os.environ[TOKEN_VARIABLE] = new


def live(items: int) -> dict[str, Any]:
    """One trial; what happened."""
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalLabelStudio() as server,
        faulty_proxy(server.url) as proxy,
    ):
        os.environ[TOKEN_VARIABLE] = server.token
        life = Life(server, proxy, Path(folder), items)
        begin_evaluation(life.store, life.spec)
        standing = life.advance()
        first_round(life)
        for _ in range(6):                # what was skipped is asked again
            standing = life.advance()
            if standing.state == "finished":
                break
            life.answer(life.person, life.tasks(life.person))
        labels = [
            one for number in range(1, standing.rounds + 1)
            for one in read_labels(Ledger(life.store, NAME), number) or []
        ]
        names = [one.item_id for one in labels]
        classes = ("no match", "match")
        found = verify(life.store, NAME)
        return life.said | {
            "state": standing.state, "rounds": standing.rounds, "labels": len(labels),
            "items lost": items - len(set(names)), "items with two labels": len(names) - len(set(names)),
            "unlabelled": sum(one.label is None for one in labels),
            "wrong": sum(
                one.label is not None and classes[int(one.label)] != life.by_id[one.item_id] for one in labels
            ),
            "verified": found.verified, "differences": [d.difference for d in found.differences][:3],
            "slowest advance, seconds": round(life.slowest, 1), "seconds": round(time.monotonic() - started),
        }


def main() -> None:
    """Print the result."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--items", type=int, default=1000)
    print(json.dumps(live(arguments.parse_args().items), indent=1))


if __name__ == "__main__":
    main()
