"""The demo: a whole evaluation of a record-linkage pool whose truth is known, offline.

Everything is real except the person: the pool is written to disk, frozen into a ledger, and evaluated round
by round through the simulated desk or through a Label Studio that is started for the purpose.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.evalcore.errors import AssayError
from assay.evalcore.estimators.random_sampling import RandomSampling, random_sampling_equivalent
from assay.evalcore.json_values import JsonObject
from assay.flows.evaluation.advance import OnRound, Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import Opened, utc_now
from assay.flows.report.gather import report_data
from assay.tasks.desks.desk import Desk
from assay.tasks.desks.kind import Resources
from assay.tasks.ledger import open_store
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool import febrl
from assay.tasks.report.files import ReportFiles, write_report
from assay.tasks.report.standing import Standing
from assay.tasks.spec.evaluation import Spec

if TYPE_CHECKING:
    from assay.tasks.desks.label_studio.local import LocalLabelStudio

NAME = "demo"
# of the interval that the demonstration asks for, and its confidence
DEMO_HALF_WIDTH, DEMO_CONFIDENCE = 0.15, 0.95
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """A finished demo: the evaluation with its standing, the true value of each measure, what a random
    sample of as many labels would have said, and where its report and its ledger are."""

    opened: Opened
    standing: Standing
    truth: dict[str, float]
    random_sampling: tuple[RandomSampling, ...]
    positives: int              # true matches in the pool
    report: ReportFiles
    ledger: str


def run_demo(
    folder: Path,
    *,
    seed: int = 7,
    label_studio: bool = False,
    on_round: OnRound | None = None,
    say: Say = lambda _line: None,
    note: Say = lambda _line: None,
    clock: Callable[[], datetime] = utc_now,
) -> Demo:
    """Run the demo in a folder: `pool/`, a new `ledger-<time>/`, and the report.

    label_studio   label through a local Label Studio, which is installed the first time (minutes)
    say, note      told what is being done now, and what is worth keeping in sight
    """
    pool = febrl.write_febrl_pool(folder / "pool", seed=seed, progress=say)
    ledger = folder / f"ledger-{clock():%Y%m%d-%H%M%S}"
    store = open_store(str(ledger))
    with _server(label_studio, say, note) as server:
        spec = _spec(pool, seed, server)
        desk, on_wait, patience = _desk(spec, store, pool, server)
        say(f"freezing {pool.n:,} candidate pairs")
        opened = begin_evaluation(store, spec, desk)
        standing = drive(
            store, opened.name, desk, patience=patience, on_round=on_round, on_wait=on_wait
        )
    compared = _random_sampling(spec, pool, standing)
    say("writing the report")
    data = report_data(opened, standing, truth=pool.truth, random_sampling=compared)
    return Demo(
        opened=opened,
        standing=standing,
        truth={measure.name: pool.truth[measure.name] for measure in spec.measures},
        random_sampling=compared,
        positives=pool.positives,
        report=write_report(data, folder),
        ledger=str(ledger),
    )


def _spec(pool: febrl.FebrlPool, seed: int, server: "LocalLabelStudio | None") -> Spec:
    desk: JsonObject = {"kind": "simulated", "labels": str(pool.labels)}
    if server is not None:
        desk = {"kind": "label-studio", "url": server.url}
    return Spec.from_json(
        {
            "name": NAME,
            "pool": {
                "source": str(pool.predictions), "id": "item_id", "score": "score",
                "prediction": "prediction", "display": list(febrl.DISPLAY),
            },
            "labels": {"positive": febrl.POSITIVE, "negative": febrl.NEGATIVE},
            "measure": ["f1", "precision", "recall"],
            "target": {"half_width": DEMO_HALF_WIDTH, "confidence": DEMO_CONFIDENCE},
            "budget": {"labels": 500},
            "batch_size": 25,
            # the default's interval is not to be relied on at a few hundred labels of a class this rare
            "method": "recalibrated",
            "desk": desk,
            "seed": seed,
        },
        origin="the demo's spec",
    )


def _server(label_studio: bool, say: Say, note: Say) -> "AbstractContextManager[LocalLabelStudio | None]":
    if not label_studio:
        return nullcontext()
    from assay.tasks.desks.label_studio.local import LocalLabelStudio

    say("starting Label Studio")
    server = LocalLabelStudio(say=note)
    note(f"Label Studio is at {server.url} until the demo ends; sign in as {server.email} with the password "
         f"{server.password}")
    return server


def _desk(
    spec: Spec, store: Store, pool: febrl.FebrlPool, server: "LocalLabelStudio | None"
) -> tuple[Desk, Callable[[Standing], None], Patience]:
    """The desk, what happens while the evaluation waits for people, and how long it waits."""
    patience = Patience(first=0.05, longest=1.0, in_all=None)
    if server is None:
        desk = spec.desk.open(spec.labelling, Resources(store=store))
        return desk, lambda _standing: None, patience
    from assay.tasks.desks.label_studio.api import TOKEN_VARIABLE, LabelStudioApi
    from assay.tasks.desks.label_studio.local import SimulatedPerson

    person = SimulatedPerson(LabelStudioApi(server.url, server.token), spec.name, _labels(pool.labels))

    def answer(standing: Standing) -> None:
        planned = read_plan(Ledger(store, spec.name), standing.rounds + 1)
        if planned is not None:
            person.answer(planned)

    resources = Resources(store=store, environment={TOKEN_VARIABLE: server.token})
    return spec.desk.open(spec.labelling, resources), answer, patience


def _labels(path: Path) -> dict[str, str]:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["item_id", "label"])
    return dict(zip(table.column("item_id").to_pylist(), table.column("label").to_pylist(), strict=True))


def _random_sampling(
    spec: Spec, pool: febrl.FebrlPool, standing: Standing
) -> tuple[RandomSampling, ...]:
    """What the same number of labels of a simple random sample would give, from the known truth."""
    if standing.labels == 0:
        raise AssayError("the demo ended without a label; this is a mistake in assay")
    return tuple(
        random_sampling_equivalent(
            measure, pool.confusion, pool.n, standing.labels, DEMO_CONFIDENCE, DEMO_HALF_WIDTH
        )
        for measure in spec.measures
    )
