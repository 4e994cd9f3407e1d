"""`assay run`, killed with SIGKILL again and again, against a real Label Studio and a real S3.

    a process     runs `assay run spec.yaml` and follows its own effects into a named pipe (tasks.effects.log)
    the killer    reads the pipe, and kills at a moment drawn from a seed: while the n-th effect is going on,
                  while the effect killed least so far is going on, or at any time at all
    a person      labels in Label Studio all the while, whatever happens to the process
    a proxy       stands before Label Studio and now and then loses the reply to an import, or the import
                  itself, or lets it through only after the next one, which makes copies

The process is started again until the evaluation is done. Its ledger must then be the one of a run nobody
disturbed, every item asked must have one label and the right one, `assay verify` must find nothing, and what
copies there were must be gone from Label Studio, or labelled twice and counted once.

Most processes are forked from one that has imported the libraries, which saves seconds of every start; every
tenth is started from nothing, as a person would.
"""

import csv
import math
import multiprocessing
import os
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
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
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.local.server import LocalLabelStudio
from assay.tasks.desks.label_studio.replies import TOKEN_VARIABLE
from assay.tasks.desks.label_studio.simulated_person import SimulatedPerson
from assay.tasks.desks.protocol import DeskError
from assay.tasks.effects.log import VARIABLE, begun_and_not_ended
from assay.tasks.ledger import open_store
from assay.tasks.ledger.ending import read_ending
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.labels import read_labels
from assay.tasks.ledger.rounds.plan import read_plan
from assay.tasks.ledger.stores.protocol import Store
from benchmarks.recovery.effects_pipe import Follower

NAME = "killed"
LONGEST_RUN = 600.0        # seconds without an end or a kill: something hangs
FROM_NOTHING = 10          # every so many starts import everything anew
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


@dataclass(frozen=True, kw_only=True)
class Kill:
    """One death."""

    inside: tuple[str, ...]     # effects begun and not ended, the outermost first
    ended: int                  # effects that had ended in this process


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


class Killer:
    """Draws the moments, and remembers which effects it has killed."""

    def __init__(self, seed: int, most: int) -> None:
        self.random = random.Random(seed)
        self.most = most                     # effects of one process
        self.killed: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.took: dict[str, float] = {}     # effect -> seconds, a moving mean
        self._began: dict[str, float] = {}

    def plan(self) -> tuple[str, Any]:
        """("at", n) the n-th effect; ("in", name) the effect killed least; ("after", seconds)."""
        draw = self.random.random()
        if draw < 0.45:
            return "at", int(math.exp(self.random.uniform(0, math.log(self.most))))
        if draw < 0.8 and self.seen:
            fewest = min(self.killed[name] for name in self.seen)
            return "in", self.random.choice(sorted(n for n in self.seen if self.killed[n] == fewest))
        return "after", self.random.uniform(0.0, 4.0)

    def learn(self, sign: str, effect: str, now: float) -> None:
        """An effect began (+) or ended (-) now, in seconds of some clock."""
        if sign == "+":
            self.seen[effect] += 1
            self._began[effect] = now
        elif effect in self._began:
            took = now - self._began.pop(effect)
            self.took[effect] = 0.8 * self.took.get(effect, took) + 0.2 * took

    def pause(self, effect: str) -> float:
        """How far into an effect to strike: anywhere in its usual length."""
        return self.random.uniform(0, 0.9) * self.took.get(effect, 0.002)


class Arena:
    """The servers, the folder, and the specs: everything evaluations are killed in.

    Without servers, evaluations label at the simulated desk and keep their ledgers in the folder.
    """

    def __init__(self, folder: Path, seed: int, servers: "Servers | None" = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.servers = folder, servers
        self.killer = Killer(seed, MOST_EFFECTS if servers else MOST_WITHOUT_PEOPLE)
        self.starts = 0
        self._expected: dict[int, Record] = {}
        self._context = multiprocessing.get_context("forkserver")
        light = [f"assay.flows.{part}" for part in ("cli.main", "evaluation.begin", "evaluation.drive")]
        warm = ["benchmarks.recovery.warm", "boto3"] if servers else light
        self._context.set_forkserver_preload([*warm, "scipy.stats", "pyarrow.dataset"])
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
        url = self.servers.s3.new_url("killed") if self.servers else f"ledger-{self.starts}"
        store = open_store(url if self.servers else str(self.folder / url))
        survivor = Survivor(variant=variant)
        people = self._people(survivor, store, disturbed=kills > 0) if self.servers else nullcontext()
        with people:
            while True:
                survivor.runs += 1
                kill = self._run(variant, url, may_kill=len(survivor.kills) < kills)
                if kill is None:
                    break
                survivor.kills.append(kill)
        self._judge(survivor, store)
        if self.servers:
            self._count_copies(survivor, self.servers.api)
        survivor.seconds = time.monotonic() - began
        return survivor, record_of(store, NAME)

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

    def _run(self, variant: int, store: str, may_kill: bool) -> Kill | None:
        """One process, until it ends (None) or is killed."""
        self.starts += 1
        pipe = self.folder / f"effects-{self.starts}"
        environment = {
            **(self.servers.environment if self.servers else {}), VARIABLE: str(pipe),
            "ASSAY_REPOST_AFTER": REPOST_AFTER, "ASSAY_POLL_FIRST": "0.1", "ASSAY_POLL_LONGEST": "0.4",
        }
        command = ["run", f"spec-{variant}.yaml", "--store", store, "--json"]
        output = self.folder / f"output-{self.starts}"
        follower = Follower(pipe)
        process = self._start(command, environment, output)
        try:
            struck = self._follow(process, follower, self.killer.plan() if may_kill else None)
        finally:
            process.kill()
            process.wait()
        follower.read(0)
        follower.close()
        if not struck or process.returncode == 0:
            assert process.returncode == 0, f"exit code {process.returncode}: {output.read_text()[-3000:]}"
            output.unlink()
            return None
        output.unlink(missing_ok=True)
        inside = tuple(begun_and_not_ended(follower.lines))
        self.killer.killed.update(inside[-1:])
        return Kill(inside=inside, ended=sum(line.startswith("-") for line in follower.lines))

    def _start(self, command: list[str], environment: Mapping[str, str], output: Path) -> "_Process":
        if self.starts % FROM_NOTHING == 0:
            with output.open("wb") as opened:
                return _Process(subprocess.Popen(
                    [sys.executable, "-m", "assay.flows.cli.main", *command], cwd=self.folder, stdout=opened,
                    stderr=opened, env={**os.environ, **environment},
                ))
        forked = self._context.Process(
            target=_assay, args=(command, str(self.folder), dict(environment), str(output))
        )
        forked.start()
        return _Process(forked)

    def _follow(self, process: "_Process", follower: Follower, plan: tuple[str, Any] | None) -> bool:
        """Follow the process; whether it was struck before it had ended."""
        how, what = plan or ("never", None)
        give_up = time.monotonic() + LONGEST_RUN
        first: float | None = None     # when its first effect began
        count = 0
        while process.running():
            now = time.monotonic()
            inside = begun_and_not_ended(follower.lines)
            assert now < give_up, f"still running after {LONGEST_RUN} s, in {inside}"
            if how == "after" and first is not None and now - first >= what:
                process.kill()
                return True
            for line in follower.read(0.02):
                first = first or now
                name = line.split(" ", 2)[2]
                self.killer.learn(line[0], name, now)
                count += line[0] == "+"
                reached = (how == "at" and count >= what) or (how == "in" and name == what)
                if line[0] == "+" and (reached or (how != "never" and count >= self.killer.most)):
                    time.sleep(self.killer.pause(name))
                    process.kill()
                    return True
        return False


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


class _Process:
    """Started from nothing or forked: the same to us."""

    def __init__(self, process: Any) -> None:
        self._process = process

    def running(self) -> bool:
        forked = hasattr(self._process, "is_alive")
        return self._process.is_alive() if forked else self._process.poll() is None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)

    def wait(self) -> None:
        if hasattr(self._process, "is_alive"):
            self._process.join()
        else:
            self._process.wait()

    @property
    def returncode(self) -> int | None:
        forked = hasattr(self._process, "is_alive")
        return self._process.exitcode if forked else self._process.returncode


def _assay(command: list[str], folder: str, environment: dict[str, str], output: str) -> None:
    """What a forked process does: the command line, with its own environment and output."""
    os.chdir(folder)
    os.environ.update(environment)
    opened = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(opened, 1)
    os.dup2(opened, 2)
    from assay.flows.cli.main import run_command_line

    code = run_command_line(command)
    sys.stdout.flush()
    os._exit(code)


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
