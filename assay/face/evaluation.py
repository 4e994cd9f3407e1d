"""An evaluation in the hands of its caller: ask for the items that wait, tell the answers, read estimates."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.evalcore.errors import BadInput
from assay.face.frames import Source, as_source, default_backend, frame_of, table_of
from assay.face.question import spec_of
from assay.face.results import Estimate, Result, result_of
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin as begin_spec
from assay.flows.evaluation.extend import extend
from assay.flows.record.opened import desk_of, open_evaluation
from assay.flows.record.standing import Standing, current_standing
from assay.tasks.desks.blind import BlindDesk
from assay.tasks.desks.caller.desk import CallerDesk, WaitingItem
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.memory import MemoryStore
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.report.data import ReportData
from assay.tasks.settings import Settings
from assay.tasks.spec.evaluation import Spec, load_spec


class Evaluation:
    """One evaluation. Everything it knows is in its store; this object holds nothing that could be lost."""

    def __init__(self, store: Store, name: str, source: Source | None = None) -> None:
        """Use `begin` or `load`."""
        self._store, self._name, self._source = store, name, source
        self._backend = source.backend if source else default_backend()

    @property
    def name(self) -> str:
        """Its name in the store."""
        return self._name

    @property
    def budget(self) -> int:
        """The most labels it may buy."""
        return open_evaluation(self._store, self._name).rule.budget

    def row(self, waiting: WaitingItem) -> dict[str, Any]:
        """All that this object may know of an item: its row of the frame, else its id and shown columns."""
        known = self._source.row(waiting.item.item_id) if self._source else {}
        return known or {"item_id": waiting.item.item_id, **waiting.item.shown}

    def ask(self) -> Any:
        """What waits for answers: a frame of `item_id` and the shown columns, empty once it is finished.

        Closes rounds and plans the next one where that is due.
        """
        items = self.waiting()
        shown = list(items[0].item.shown) if items else []
        columns: dict[str, list[Any]] = {"item_id": [one.item.item_id for one in items]}
        columns |= {name: [one.item.shown[name] for one in items] for name in shown}
        return frame_of(columns, self._backend)

    def waiting(self, annotator: str | None = None) -> list[WaitingItem]:
        """What waits for answers, as values. `annotator`: leave out what this person has answered."""
        if advance(self._store, self._name).state == "finished":
            return []
        return self._desk().ask(annotator)

    def tell(self, answers: Any, annotator: str = "") -> Result:
        """Give answers, and close the round if it is complete.

        answers     a frame with the columns `item_id` and `label`, or {item_id: label}; None for an item
                    that cannot be decided
        annotator   tells people apart where several answer an item

        Of two answers that are compared the label is A, B or tie as they are shown, or the name of one.

        Raises BadInput for an item that was not asked about and for an answer that labels cannot be.
        """
        said = answers if isinstance(answers, Mapping) else _answers(answers)
        spec = open_evaluation(self._store, self._name).spec
        spelled = {str(item): _spelled(label, spec.labels.spellings) for item, label in said.items()}
        pair = spec.labelling.pair
        if pair is not None:
            spelled = {item: pair.side(item, label) for item, label in spelled.items()}
        self._desk().tell(spelled, annotator)
        return result_of(advance(self._store, self._name), self._backend, self._store)

    @property
    def result(self) -> Result:
        """Where it stands, from its record alone."""
        return result_of(self._standing(), self._backend, self._store)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates after the last closed round, the first measure first; () before the first round."""
        return self.result.estimates

    @property
    def finished(self) -> bool:
        """Whether it has stopped."""
        return self._standing().state == "finished"

    @property
    def stopped_by(self) -> str | None:
        """Why it has stopped: half_width, variance, budget or pool; None while it goes on."""
        return self._standing().stopped_by

    def extend(self, labels: int, *, by: str = "", reason: str = "") -> Result:
        """Give it a larger budget after it has finished; `ask` then goes on.

        labels       the new budget in all, labels bought so far included: the same call twice extends once
        by, reason   who asks for it, and why: for the record

        Intervals are wider from then on (docs/stopping.md). Raises CannotExtend, which says why not.
        """
        extend(self._store, self._name, labels, by=by, reason=reason)
        return self.result

    def report(self, path: str | Path) -> Path:
        """Write the report, one HTML file without links to elsewhere."""
        from assay.tasks.report import write_files
        from assay.tasks.report.page import report_html

        path = Path(path)
        write_files({path.name: report_html(self.report_data())}, path.parent)
        return path

    def report_data(self) -> ReportData:
        """What a report says, as a value. Raises NothingToReport before the first round has closed."""
        from assay.flows.report.gather import report_data

        opened = open_evaluation(self._store, self._name)
        return report_data(opened, current_standing(opened))

    @cached_property
    def _asked(self) -> Spec:
        """Its spec, which never changes."""
        return open_evaluation(self._store, self._name).spec

    def _standing(self) -> Standing:
        return current_standing(open_evaluation(self._store, self._name))

    def _desk(self) -> CallerDesk:
        spec = self._asked
        desk = desk_of(self._store, spec)
        desk = desk.desk if isinstance(desk, BlindDesk) else desk
        if not isinstance(desk, CallerDesk):
            raise BadInput(
                f"evaluation {self._name!r} asks people at its desk ({spec.desk.kind}); to ask and tell from "
                "Python begin one with desk: {kind: caller}"
            )
        return desk

    def __repr__(self) -> str:
        return f"<Evaluation {self._name!r} in {self._store.url}>"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


def begin(
    data: Any,
    *,
    outcome: Any = None,
    measures: str | Mapping[str, Any] | Sequence[Any] | None = None,
    id: str | None = None,
    show: str | Sequence[str] = (),
    segments: str | Sequence[str] = (),
    target: float | Mapping[str, float] = 0.05,
    budget: int | None = None,
    name: str | None = None,
    store: str | None = None,
    prediction: str | None = None,
    score: str | None = None,
    probability: str | Mapping[str, str] | None = None,
    threshold: float | None = None,
    judge: str | Sequence[str] | None = None,
    cluster: str | None = None,
    systems: Mapping[str, Any] | None = None,
    baseline: str | None = None,
    pairs: str | None = None,
    **more: Any,
) -> Evaluation:
    """Begin an evaluation, or find it begun with the same question. Nobody is asked yet.

    data         a frame (pandas, polars, pyarrow), the path or address of a file with predictions, the path
                 of a spec (.yaml), or a spec as a mapping
    outcome      what a label is: the positive and the negative class, or see docs/python.md
    measures     one or several; the first drives what is asked
    id           the column that names an item; `item_id`, or the number of a frame's row
    show         the columns that are shown to whoever answers, and leave the frame
    target       the half-width of the interval at which it stops
    budget       the most labels it may buy; 500, or every row of a smaller frame
    store        where its record is kept; in memory, gone with this object, unless named
    prediction, score, probability, threshold, judge, cluster, systems, baseline, pairs   as under `pool` in
                 a spec
    more         further keys of a spec: method, seed, batch_size, desk, adjudication ...; a limit for
                 the measure is limit={"min": 0.8}, which a spec calls `threshold`

    Raises BadInput naming what is wrong, NameTaken if the store has another evaluation of this name.

    >>> import assay, pyarrow
    >>> texts = ["Win!", "Cheap!", "Lunch?", "Minutes"]
    >>> mails = pyarrow.table({"score": [0.9, 0.8, 0.3, 0.2], "text": texts})
    >>> evaluation = assay.begin(mails, outcome=["spam", "ham"], score="score", threshold=0.5,
    ...                          measures=["f1"], show="text")
    >>> len(evaluation.ask())
    4
    >>> evaluation.tell({"0": "spam", "1": "spam", "2": "ham", "3": "ham"}).value
    1.0
    """
    columns = {
        "prediction": prediction, "score": score, "probability": probability, "threshold": threshold,
        "judge": judge, "cluster": cluster, "systems": systems, "baseline": baseline, "pairs": pairs,
    }
    written = _spec(data)
    if written is not None:
        where = open_store(store or written.store or Settings().store)
        return Evaluation(where, begin_spec(where, written).name)
    source = as_source(data, id, keep=store is not None)
    if "limit" in more:
        more["threshold"] = more.pop("limit")
    if name is not None:
        more["name"] = name
    spec = spec_of(
        source, outcome=outcome, measures=measures, target=target, budget=budget, columns=columns,
        show=show, segments=segments, more=more,
    )
    place: Store = MemoryStore() if store is None else open_store(store)
    with _of_frame(source):
        return Evaluation(place, begin_spec(place, spec).name, source)


def load(name: str, *, store: str | None = None) -> Evaluation:
    """An evaluation that has begun, here or elsewhere, by a spec or from Python.

    store   where its record is; ASSAY_STORE, or ./assay-ledger, unless given

    Raises UnknownEvaluation, which names those that the store has.
    """
    place = open_store(store or Settings().store)
    return Evaluation(place, open_evaluation(place, name).name)


@contextmanager
def _of_frame(source: Source) -> Iterator[None]:
    """What is wrong with a frame is said of the frame, not of the file that was made of it."""
    try:
        yield
    except BadInput as error:
        if source.table is None or source.path not in str(error):
            raise
        raise BadInput(str(error).replace(source.path, "the frame")) from None


def _spec(data: Any) -> Spec | None:
    """The spec that `data` is, or None if it is predictions."""
    if isinstance(data, Mapping) and "pool" in data:
        return Spec.from_json(data, origin="assay")
    if isinstance(data, str | Path) and Path(data).suffix in (".yaml", ".yml"):
        return load_spec(Path(data))
    return None


def _answers(frame: Any) -> dict[str, Any]:
    table, _ = table_of(frame)
    for column in ("item_id", "label"):
        if column not in table.column_names:
            raise BadInput(f"the answers have no column {column!r}; give a frame with item_id and label")
    items, labels = (table.column(name).to_pylist() for name in ("item_id", "label"))
    return dict(zip(map(str, items), labels, strict=True))


def _spelled(label: Any, spellings: Mapping[str, str]) -> Any:
    """An answer as the desk takes it: names of classes in their own words, None for undecided."""
    value = label.item() if hasattr(label, "item") and getattr(label, "ndim", 0) == 0 else label
    if value is None or value != value or (isinstance(value, Iterable) and not isinstance(value, str)):
        return None if value is None or value != value else value
    return spellings.get(str(value), value if isinstance(value, str) else str(value))
