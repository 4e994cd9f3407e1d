"""Label Studio fails: through a proxy before a real server, at one request of an evaluation.

An undisturbed evaluation is run first, to learn its requests and its record. Then for each fault: one trial
per position, a position being the number of the request that meets it. Positions are drawn from a seed, the
imports of both rounds first, because losing one of those is the hard case.
"""

import csv
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from doubles.small_pool import small_spec
from services.faulty_proxy import (
    Exchange,
    Fault,
    FaultyProxy,
    Request,
    commit_late,
    cut_reply,
    drop_reply,
    drop_request,
    faulty_proxy,
    hang,
    posted_items,
    say,
    then_what_is_late,
)
from services.ledger_record import Record

from assay.evalcore.annotators.answers import class_answers
from assay.tasks.desks.desk import DeskError
from assay.tasks.desks.kind import Labelling
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.desk import LabelStudioDesk
from assay.tasks.desks.label_studio.local import LocalLabelStudio, SimulatedPerson
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore, Store
from assay.tasks.spec.evaluation import Spec
from benchmarks.recovery.trials import FaultKind, Trial, judge, run_through

NAME = "faulted"
TIMEOUT = 6.0          # seconds our client waits for a reply; a minute in production

ANY_REQUEST: dict[str, tuple[str, Fault]] = {
    "answers 502": ("the proxy answers in its stead", say(502)),
    "answers 429 with Retry-After": ("the proxy answers in its stead", say(429, Retry_After="1")),
    "does it, and its reply is lost": ("the proxy passes on and hangs up", drop_reply),
    "does it, and a gateway answers 502": ("the proxy passes on and answers 502", say(502, after=True)),
    "answers half": ("the proxy sends half of the reply and hangs up", cut_reply),
    "never hears of it": ("the proxy hangs up", drop_request),
    "hangs past the timeout": (
        f"the proxy is silent for {TIMEOUT + 1:.0f} s, the client waits {TIMEOUT:.0f}", hang(TIMEOUT + 1),
    ),
    "does it, and hangs past the timeout": (
        "the same, after the server has done it", lambda exchange: _done_then_silent(exchange),
    ),
}


class DeskStage:
    """A real Label Studio behind a proxy; evaluations on it, each in a project of its own."""

    def __init__(self, folder: Path, label_studio: LocalLabelStudio, proxy: FaultyProxy) -> None:
        self.label_studio, self.proxy = label_studio, proxy
        self.spec: Spec = small_spec(
            folder, n=60, name=NAME, budget={"labels": 4}, batch_size=2,
            desk={"kind": "label-studio", "url": "http://127.0.0.1:1"},   # the same for every server
        )
        with (folder / "labels.csv").open(newline="") as opened:
            self.truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
        self.api = LabelStudioApi(label_studio.url, label_studio.token)
        self.store: Store = MemoryStore()
        self.imported: Counter[str] = Counter()
        self.requests: list[str] = []      # of an undisturbed evaluation
        undisturbed = Trial(kind=FaultKind(service="", fault="", injected=""))
        self.expected: Record | None = None
        self.expected = self.evaluate(undisturbed, at=None, fault=None)
        assert not undisturbed.said, undisturbed
        assert undisturbed.as_if_nothing_had_happened, undisturbed

    def positions(self, many: int, draw: random.Random) -> list[int]:
        """So many requests of an evaluation by number, imports first, then one of each kind, then any."""
        imports = [n for n, request in enumerate(self.requests) if request.endswith("/import")]
        others = [n for n in range(len(self.requests)) if n not in imports]
        draw.shuffle(others)
        kinds = {_kind_of(self.requests[n]): n for n in others}
        rest = [n for n in others if n not in kinds.values()]
        return [*imports, *sorted(kinds.values()), *rest][:many]

    def trial(self, name: str, at: int) -> Trial:
        """One of ANY_REQUEST at one request."""
        injected, fault = ANY_REQUEST[name]
        trial = Trial(kind=FaultKind(service="Label Studio", fault=name, injected=injected))
        self.evaluate(trial, at=at, fault=fault)
        return trial

    def late_commit(self) -> Trial:
        """The import is lost and posted again after ten minutes, and then the first one commits after all."""
        trial = Trial(kind=FaultKind(
            service="Label Studio", fault="commits an import minutes late, after it was posted again",
            injected="the proxy hangs up, and lets the import through after the next one",
        ))

        def choose(request: Request) -> Fault | None:
            if request.method != "POST" or not request.path.endswith("/import"):
                return None
            if self.proxy.late:
                return then_what_is_late
            if trial.injected:
                return None
            trial.injected = True
            return commit_late

        self.evaluate(trial, choose=choose)
        return trial

    def later_commit(self) -> Trial:
        """The same, but the first import commits only when its round was closed."""
        trial = Trial(kind=FaultKind(
            service="Label Studio", fault="commits an import after its round was closed",
            injected="the proxy hangs up, and lets the import through when the next round is posted",
        ))
        imports: list[str] = []

        def choose(request: Request) -> Fault | None:
            if request.method != "POST" or not request.path.endswith("/import"):
                return None
            imports.append(request.path)
            if len(imports) == 1:
                trial.injected = True
                return commit_late
            return then_what_is_late if len(imports) == 3 else None

        self.evaluate(trial, choose=choose)
        return trial

    def deleted_project(self) -> Trial:
        """Somebody deletes the project; an operator makes one with the same mark again."""
        trial = Trial(kind=FaultKind(
            service="Label Studio", fault="loses the project: somebody deletes it",
            injected="deleted through the API during the second round; made again with its mark after the "
            "error",
        ))
        backup: dict[str, str] = {}

        def people() -> None:
            if read_labels(Ledger(self.store, NAME), 1) is None or trial.injected:
                self.answer()
                return
            trial.injected = True
            (project,) = self.api.projects(NAME)
            whole = self.api.get_json(f"api/projects/{project['id']}/")
            backup.update({name: whole[name] for name in ("title", "description", "label_config")})
            self.api.change("DELETE", f"api/projects/{project['id']}/")
            self.imported.clear()   # items posted again are no copies: the first ones are gone

        def restore() -> None:
            if not list(self.api.projects(NAME)):
                self.api.change("POST", "api/projects/", backup)

        self.evaluate(trial, people=people, recover=restore)
        return trial

    def restart(self, draw: random.Random) -> Trial:
        """The server is killed while it imports, and started again."""
        trial = Trial(kind=FaultKind(
            service="Label Studio", fault="is killed during an import and restarts",
            injected="SIGKILL up to 0.3 s after the import came in; started again on the same data",
        ))

        def die(exchange: Exchange) -> None:
            importing = Thread(target=exchange.pass_on, daemon=True)
            importing.start()
            importing.join(draw.uniform(0.0, 0.3))
            self.label_studio.restart(killed=True)
            self.proxy.upstream = self.label_studio.url
            self.api = LabelStudioApi(self.label_studio.url, self.label_studio.token)
            exchange.hang_up()

        def choose(request: Request) -> Fault | None:
            if trial.injected or request.method != "POST" or not request.path.endswith("/import"):
                return None
            trial.injected = True
            return die

        self.evaluate(trial, choose=choose, timeout=600.0)
        return trial

    def answer(self) -> None:
        """A person answers what is open."""
        person = SimulatedPerson(self.api, NAME, self.truth)
        number = 1
        while (planned := read_plan(Ledger(self.store, NAME), number)) is not None:
            if read_labels(Ledger(self.store, NAME), number) is None:
                with suppress(DeskError):
                    person.answer(planned)
            number += 1

    def evaluate(
        self,
        trial: Trial,
        at: int | None = None,
        fault: Fault | None = None,
        *,
        choose: Callable[[Request], Fault | None] | None = None,
        people: Callable[[], None] | None = None,
        recover: Callable[[], None] = lambda: None,
        timeout: float = TIMEOUT,
    ) -> Record:
        """A whole evaluation with the fault at one request, judged; its record."""
        self.store = MemoryStore()
        self.imported.clear()
        came: list[str] = []

        def by_number(request: Request) -> Fault | None:
            came.append(f"{request.method} {request.path}")
            if at is None or len(came) - 1 != at:
                return None
            trial.injected = True
            return fault

        self.proxy.choose = choose or by_number
        self.proxy.heard = lambda request, reply: self.imported.update(
            data["assay_item"] for data in posted_items(request, reply)
        )
        identity = uuid.uuid4().hex

        def desk() -> LabelStudioDesk:
            return LabelStudioDesk(
                LabelStudioApi(self.proxy.url, self.label_studio.token, timeout=timeout),
                Labelling(
                    evaluation=NAME, answers=class_answers("match", "no match"), display=["text"], show_as={},
                    id_column="item_id", seed=0,
                ),
                identity=identity,
            )

        run_through(trial, self.spec, self.store, desk, people or self.answer, recover)
        self.proxy.choose = None
        self.proxy.commit_what_is_late()
        record = judge(trial, self.store, NAME, self.truth, self.expected)
        self._count_copies(trial)
        if not self.requests:
            self.requests = came
        return record

    def _count_copies(self, trial: Trial) -> None:
        trial.copies_made = sum(copies - 1 for copies in self.imported.values())
        copies: dict[str, list[bool]] = {}
        for project in list(self.api.projects(NAME)):
            for task in self.api.tasks(int(project["id"])):
                copies.setdefault(task["data"]["assay_item"], []).append(bool(task["annotations"]))
            self.api.change("DELETE", f"api/projects/{project['id']}/")
        trial.copies_left = sum(len(touched) - max(sum(touched), 1) for touched in copies.values())


@contextmanager
def desk_stage(folder: Path, label_studio: LocalLabelStudio) -> Iterator[DeskStage]:
    """A stage with a proxy of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    with faulty_proxy(label_studio.url) as proxy:
        yield DeskStage(folder, label_studio, proxy)


def _kind_of(request: str) -> str:
    """The request without numbers."""
    return "".join(character for character in request if not character.isdigit())


def _done_then_silent(exchange: Exchange) -> None:
    exchange.pass_on()
    hang(TIMEOUT + 1)(exchange)
