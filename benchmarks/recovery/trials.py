"""A trial: a whole evaluation during which one service fails once, judged against one where none did.

What a trial must show is the same for every fault: the ledger ends as if nothing had happened, every item
asked has one label and the right one, and what people saw on the way was either nothing at all, or an
evaluation that waits, or a message that names the service and says what to do.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from services.ledger_record import Record, record_differences, record_of

from assay.evalcore.errors import AssayError
from assay.flows.evaluation.advance import Timing, advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.desks.desk import Desk
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.spec.evaluation import Spec

REPOST_AFTER = timedelta(minutes=10)
MOST_ATTEMPTS = 12      # runs of `advance` until an evaluation of two rounds is done: 3 undisturbed


@dataclass(frozen=True, kw_only=True)
class FaultKind:
    """One line of the table."""

    service: str        # Label Studio, S3, disk, Prefect
    fault: str          # what happens
    injected: str       # how, and where


@dataclass(kw_only=True)
class Trial:
    """One injection, and what became of it."""

    kind: FaultKind
    injected: bool = False      # the fault really happened
    waited: bool = False        # an advance said that items are not on the desk yet
    said: list[str] = field(default_factory=list)      # errors, as a person would read them
    copies_made: int = 0
    copies_left: int = 0
    labels_lost: int = 0
    labelled_twice: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def happened(self) -> str:
        """retried unnoticed, waited, or said why and went on when run again."""
        return "said why" if self.said else "waited" if self.waited else "unnoticed"

    @property
    def as_if_nothing_had_happened(self) -> bool:
        return not (self.differences or self.labels_lost or self.labelled_twice or self.copies_left)


class Clock:
    """Moves only when told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)


def run_through(
    trial: Trial,
    spec: Spec,
    store: Store,
    desk: Desk | Callable[[], Desk],
    people: Callable[[], None] = lambda: None,
    recover: Callable[[], None] = lambda: None,
) -> None:
    """Begin and advance until finished, as a sweep would: again after every error, later after every wait.

    people    answer what they are asked, between two runs
    recover   whatever an operator does after an error
    """
    clock = Clock()
    for _ in range(MOST_ATTEMPTS):
        try:
            where = desk() if callable(desk) else desk
            begin_evaluation(store, spec, where, clock=clock)
            standing = advance(
                store, spec.name, where, timing=Timing(now=clock, repost_after=REPOST_AFTER)
            )
        except AssayError as error:
            trial.said.append(str(error))
            recover()
            clock.pass_by(minutes=11)
            continue
        if standing.state == "finished":
            return
        if standing.waiting_for and standing.waiting_for.not_on_desk:
            trial.waited = True
            clock.pass_by(minutes=11)
        people()
    raise AssertionError(f"not finished after {MOST_ATTEMPTS} runs: {trial}")


def judge(trial: Trial, store: Store, name: str, truth: Mapping[str, str], expected: Record | None) -> Record:
    """Compare the ledger with the undisturbed one, and every label with the truth; the ledger's record."""
    labelled: Counter[str] = Counter()
    number = 1
    while (planned := read_plan(Ledger(store, name), number)) is not None:
        decided = read_labels(Ledger(store, name), number) or []
        asked = {planned.item_id[t] for t in planned.asked()}
        right = {one.item_id for one in decided if one.label == (truth[one.item_id] == "match")}
        trial.labels_lost += len(asked - right)
        labelled.update(one.item_id for one in decided)
        number += 1
    trial.labelled_twice = sum(times > 1 for times in labelled.values())
    trial.differences += [f"verify: {one.key}: {one.difference}" for one in verify(store, name).differences]
    found = record_of(store, name)
    if expected is not None:
        trial.differences += record_differences(found, expected)
    return found

