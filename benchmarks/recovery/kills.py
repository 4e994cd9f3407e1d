"""`assay run`, killed with SIGKILL again and again, in one of several places.

    where         with a real Label Studio and a real S3; or at the simulated desk, the ledger in a folder or
                  on S3
    a person      labels in Label Studio all the while, whatever happens to the process
    a proxy       stands before Label Studio and now and then loses the reply to an import, or the import
                  itself, or lets it through only after the next one, which makes copies

The process is started again until the evaluation is done. Its ledger must then be the one of a run nobody
disturbed, every item asked must have one label and the right one, `assay verify` must find nothing, and what
copies there were must be gone from Label Studio, or labelled twice and counted once.
"""

import csv
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import yaml
from doubles.small_pool import spec_json, write_small_pool
from services.faulty_proxy import (
    Fault,
    FaultyProxy,
    Reply,
    Request,
    commit_late,
    drop_reply,
    drop_request,
    faulty_proxy,
    posted_items,
    say,
    then_what_is_late,
)
from services.ledger_record import Record, record_differences, record_of
from services.s3 import S3Server

from assay.flows.verify.ledger import verify
from assay.tasks.desks.desk import DeskError
from assay.tasks.desks.label_studio.api import TOKEN_VARIABLE, LabelStudioApi
from assay.tasks.desks.label_studio.local import LocalLabelStudio, SimulatedPerson
from assay.tasks.ledger import open_store
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.life import read_ending
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from benchmarks.recovery.killing import Kill, Killer, Victims

NAME = "killed"
MOST_EFFECTS = 60          # of one process, before it is killed: a whole run has some 200
MOST_WITHOUT_PEOPLE = 25   # the same where nobody is waited for: some 60
REPOST_AFTER = "1"         # seconds; minutes in production
IMPORT_FAULTS: tuple[tuple[float, Fault | None], ...] = (   # chance, and what becomes of an import
    (0.25, commit_late), (0.10, drop_reply), (0.10, say(502, after=True)), (0.05, drop_request), (0.50, None),
)
VARIANTS: tuple[Mapping[str, Any], ...] = (
    {"budget": {"labels": 9}, "batch_size": 3},
    {"budget": {"labels": 9}, "batch_size": 3, "method": "recalibrated", "seed": 8},
    {"budget": {"labels": 12}, "batch_size": 4, "method": "dirichlet-tree", "seed": 21},
)


@dataclass(kw_only=True)
class Survivor:
    """What became of one evaluation."""

    variant: int
    kills: list[Kill] = field(default_factory=list)
    runs: int = 0
    seconds: float = 0.0
    labels: int = 0
    imports_disturbed: int = 0
    copies_made: int = 0         # second and further imports of an item by Label Studio
    copies_merged: int = 0       # copies that somebody had labelled too
    copies_left: int = 0         # untouched copies still there at the end: must be 0
    labels_lost: int = 0         # asked, and without the label the person gave: must be 0
    labelled_twice: int = 0      # items with more than one effective label: must be 0
    differences: list[str] = field(default_factory=list)   # from the undisturbed run: must be none

    @property
    def copies_removed(self) -> int:
        return self.copies_made - self.copies_merged - self.copies_left

    @property
    def as_if_nothing_had_happened(self) -> bool:
        return not (self.differences or self.labels_lost or self.labelled_twice or self.copies_left)


class Arena:
    """The servers, the folder, and the specs: everything evaluations are killed in.

    Without servers, evaluations label at the simulated desk, and keep their ledgers in the folder unless
    `new_store` gives addresses elsewhere.
    """

    def __init__(
        self, folder: Path, seed: int, servers: "Servers | None" = None,
        new_store: Callable[[], str] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.servers = folder, servers
        self.killer = Killer(seed, MOST_EFFECTS if servers else MOST_WITHOUT_PEOPLE)
        self._victims = Victims(
            folder=folder, killer=self.killer, with_servers=servers is not None or new_store is not None
        )
        numbers = count(1)
        self._new_store = new_store or (lambda: str(folder / f"ledger-{next(numbers)}"))
        self._expected: dict[int, Record] = {}
        predictions, labels = write_small_pool(folder, n=80)
        with labels.open(newline="") as opened:
            self.truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
        for number, changes in enumerate(VARIANTS):
            spec = spec_json(predictions, labels, name=NAME) | dict(changes)
            if servers:
                spec["desk"] = {"kind": "label-studio", "url": servers.proxy.url}
            (folder / f"spec-{number}.yaml").write_text(yaml.safe_dump(spec))

    def expected(self, variant: int) -> Record:
        """The record of a run nobody disturbed."""
        if variant not in self._expected:
            undisturbed, record = self._evaluate(variant, kills=0)
            assert undisturbed.as_if_nothing_had_happened, undisturbed
            self._expected[variant] = record
        return self._expected[variant]

    def survive(self, variant: int, kills: int) -> Survivor:
        """One evaluation, with at most so many kills, against the undisturbed one."""
        expected = self.expected(variant)
        survivor, record = self._evaluate(variant, kills)
        survivor.differences += record_differences(record, expected)
        return survivor

    def _evaluate(self, variant: int, kills: int) -> tuple[Survivor, Record]:
        began = time.monotonic()
        url = self.servers.s3.new_url("killed") if self.servers else self._new_store()
        store = open_store(url)
        survivor = Survivor(variant=variant)
        people = self._people(survivor, store, disturbed=kills > 0) if self.servers else nullcontext()
        with people:
            while True:
                survivor.runs += 1
                kill = self._victims.command(
                    ["run", f"spec-{variant}.yaml", "--store", url, "--json"], self._environment,
                    may_kill=len(survivor.kills) < kills,
                )
                if kill is None:
                    break
                survivor.kills.append(kill)
        self._judge(survivor, store)
        if self.servers:
            self._count_copies(survivor, self.servers.api)
        survivor.seconds = time.monotonic() - began
        return survivor, record_of(store, NAME)

    @property
    def _environment(self) -> dict[str, str]:
        return {
            **(self.servers.environment if self.servers else {}),
            "ASSAY_REPOST_AFTER": REPOST_AFTER, "ASSAY_POLL_FIRST": "0.1", "ASSAY_POLL_LONGEST": "0.4",
        }

    @contextmanager
    def _people(self, survivor: Survivor, store: Store, disturbed: bool) -> Iterator[None]:
        """A person labels, and the proxy counts what is imported and disturbs it, while the block lasts."""
        assert self.servers is not None
        proxy, imported = self.servers.proxy, Counter[str]()

        def heard(request: Request, reply: Reply) -> None:
            imported.update(data["assay_item"] for data in posted_items(request, reply))

        def choose(request: Request) -> Fault | None:
            fault = self._import_fault(request, proxy) if disturbed else None
            survivor.imports_disturbed += fault is not None
            return fault

        proxy.heard, proxy.choose = heard, choose
        with _labelling(self.servers.label_studio, store, self.truth):
            yield
        proxy.commit_what_is_late()
        survivor.copies_made = sum(copies - 1 for copies in imported.values())

    def _judge(self, survivor: Survivor, store: Store) -> None:
        ending = read_ending(Ledger(store, NAME))
        assert ending is not None, "the process ended, and the evaluation did not"
        labelled: Counter[str] = Counter()
        for number in range(1, ending.rounds + 1):
            planned = read_plan(Ledger(store, NAME), number)
            decided = read_labels(Ledger(store, NAME), number)
            assert planned is not None
            assert decided is not None
            asked = {planned.item_id[t] for t in planned.asked()}
            right = {d.item_id for d in decided if d.label == (self.truth[d.item_id] == "match")}
            labelled.update(d.item_id for d in decided)
            survivor.labels_lost += len(asked - right)
        survivor.labels = sum(labelled.values())
        survivor.labelled_twice = sum(times > 1 for times in labelled.values())
        found = verify(store, NAME)
        survivor.differences += [f"verify: {one.key}: {one.difference}" for one in found.differences]

    @staticmethod
    def _count_copies(survivor: Survivor, api: LabelStudioApi) -> None:
        """What is left in Label Studio; then the project goes: the next evaluation has one to itself."""
        copies: dict[str, list[bool]] = {}
        for project in list(api.projects(NAME)):
            for task in api.tasks(int(project["id"])):
                copies.setdefault(task["data"]["assay_item"], []).append(bool(task["annotations"]))
            with suppress(DeskError):
                api.change("DELETE", f"api/projects/{project['id']}/")
        for touched in copies.values():
            survivor.copies_merged += max(sum(touched) - 1, 0)
            survivor.copies_left += len(touched) - max(sum(touched), 1)

    def _import_fault(self, request: Request, proxy: FaultyProxy) -> Fault | None:
        if request.method != "POST" or not request.path.endswith("/import"):
            return None
        if proxy.late:
            return then_what_is_late
        faults = [fault for _, fault in IMPORT_FAULTS]
        return self.killer.random.choices(faults, [chance for chance, _ in IMPORT_FAULTS])[0]

@dataclass(frozen=True, kw_only=True)
class Servers:
    """A real Label Studio behind a proxy, and a real S3."""

    s3: S3Server
    label_studio: LocalLabelStudio
    proxy: FaultyProxy
    api: LabelStudioApi

    @property
    def environment(self) -> dict[str, str]:
        """Where a process finds both."""
        return {**self.s3.environment, TOKEN_VARIABLE: self.label_studio.token}


@contextmanager
def arena(folder: Path, s3: S3Server, label_studio: LocalLabelStudio, seed: int) -> Iterator[Arena]:
    """An arena with real servers, and a proxy of its own."""
    api = LabelStudioApi(label_studio.url, label_studio.token)
    with faulty_proxy(label_studio.url) as proxy:
        yield Arena(folder, seed, Servers(s3=s3, label_studio=label_studio, proxy=proxy, api=api))


@contextmanager
def _labelling(server: LocalLabelStudio, store: Store, truth: Mapping[str, str]) -> Iterator[None]:
    """A person labels what is open while the block lasts."""
    enough = threading.Event()
    person = SimulatedPerson(LabelStudioApi(server.url, server.token), NAME, truth)

    def work() -> None:
        number = 1
        while not enough.wait(0.15 + 0.2 * secrets.randbelow(100) / 100):
            planned = read_plan(Ledger(store, NAME), number)
            if planned is not None and read_plan(Ledger(store, NAME), number + 1) is not None:
                number += 1
            elif planned is not None:
                with suppress(DeskError):   # a copy that was removed under their hands
                    person.answer(planned)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
