"""An evaluation in the hands of its caller: ask for the items that wait, tell the answers, read estimates."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from assay.evalcore.errors import BadInput, MissingExtra
from assay.face.arguments import USUAL_QUESTION, QuestionArguments, usual_values
from assay.face.frames import (
    ROW,
    FrameSource,
    as_frame,
    as_source,
    default_backend,
    frame_of,
    ids_of_file,
    is_missing,
    table_of,
    with_columns,
)
from assay.face.question import COLUMNS, check_frame_columns, functions_in, in_python, spec_of
from assay.face.results import Estimate, Result, result_of
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import NameTaken
from assay.flows.evaluation.begin import begin_evaluation as begin_spec
from assay.flows.evaluation.finish import extend
from assay.flows.people.caller import by_side, caller_desk
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.tasks.desks.caller import CallerDesk, WaitingItem
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.store import MemoryStore, Store
from assay.tasks.report.data import ReportData
from assay.tasks.report.standing import Standing
from assay.tasks.settings import Settings
from assay.tasks.sources.values import NO_VALUE
from assay.tasks.spec.evaluation import Spec, asked_spec, load_spec


class Evaluation:
    """One evaluation. Everything it knows is in its store; this object holds nothing that could be lost."""

    def __init__(self, store: Store, name: str, source: FrameSource | None = None) -> None:
        """Use `begin` or `load`."""
        self._store, self._name, self._source = store, name, source
        self._backend = source.backend if source else default_backend()

    @property
    def name(self) -> str:
        """The name of the evaluation in its store, under which every command finds it."""
        return self._name

    @property
    def budget(self) -> int:
        """The most labels that the evaluation may buy in all, extensions included; it is read from the
        ledger."""
        return open_evaluation(self._store, self._name).rule.budget

    @property
    def source(self) -> FrameSource | None:
        """The frame or file that it began with in this process; None where it was loaded."""
        return self._source

    def row(self, waiting: WaitingItem) -> dict[str, object]:
        """All that this object may know of an item: its row of the frame, else its id and shown columns."""
        frame_row = self._source.row(waiting.item.item_id) if self._source else {}
        return frame_row or {ROW: self.own_id(waiting.item.item_id), **waiting.item.shown}

    def own_id(self, item_id: str) -> Hashable:
        """An id of the record as the frame or file has it: the label of its index, a whole number, text."""
        return self._source.own_id(item_id) if self._source else self._id_type(item_id)

    def ask(self) -> Any:
        """What waits for answers; empty once it is finished. Closes and plans rounds where that is due.

        Returns:
            A frame of `item_id` and the shown columns. An `item_id` is what the frame's own index has, so
            `frame.loc[batch.item_id]` are the rows; or what the column under `id` has; or a row's number.
        """
        items = self.waiting()
        shown = list(items[0].item.shown if items else self._asked.pool.display)
        columns: dict[str, list[object]] = {ROW: [self.own_id(item.item.item_id) for item in items]}
        columns |= {name: [item.item.shown[name] for item in items] for name in shown}
        return frame_of(columns, self._backend)

    def waiting(self, annotator: str | None = None) -> list[WaitingItem]:
        """What waits for answers, as values.

        Args:
            annotator: leave out what this person has answered.
        """
        if advance(self._store, self._name).state == "finished":
            return []
        return self.posted(annotator)

    def posted(self, annotator: str | None = None) -> list[WaitingItem]:
        """What was posted and waits for answers; nothing is closed or planned.

        Args:
            annotator: leave out what this person has answered.
        """
        return self._desk().ask(annotator)

    def tell(self, answers: object, annotator: str = "") -> Result:
        """Give answers, and close the round if it is complete.

        Of two answers that are compared the label is A, B or tie as they are shown, or the name of one.

        Args:
            answers: a frame with the columns `item_id` and `label`, or {item_id: label}; None for an item
                that cannot be decided. Of several questions a column for each, or
                {item_id: {question: answer}}, with None where one is not answered.
            annotator: tells people apart where several answer an item.

        Raises:
            BadInput: for an item that was not asked about, and for an answer that labels cannot be.
        """
        spec, text_of = self._asked, self._source.text_of if self._source else str
        questions = spec.questions_asked
        labels = answers if isinstance(answers, Mapping) else _answers(answers, list(questions))
        spelled = {
            text_of(item): _spelled_each(label) if questions else _spelled(label)
            for item, label in labels.items()
        }
        self._desk().tell(by_side(spec, spelled), annotator)
        return result_of(advance(self._store, self._name), self._backend, self._store)

    @property
    def result(self) -> Result:
        """Where the evaluation stands now: its estimates, verdict, labels and rounds, read from the ledger
        alone. No desk is asked, and nothing is advanced."""
        return result_of(self._standing(), self._backend, self._store)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates after the last closed round, the first measure first; () before the first round."""
        return self.result.estimates

    @property
    def finished(self) -> bool:
        """Whether the evaluation has stopped; it may be extended all the same."""
        return self._standing().state == "finished"

    @property
    def stopped_by(self) -> str | None:
        """Why it has stopped: half_width, variance, budget or pool; None while it goes on."""
        return self._standing().stopped_by

    def extend(self, labels: int, *, by: str = "", reason: str = "") -> Result:
        """Give it a larger budget after it has finished; `ask` then goes on.

        Intervals are wider from then on (docs/explanation/stopping.md).

        Args:
            labels: the new budget in all, labels bought so far included: the same call twice extends once.
            by: who asks for it, for the record.
            reason: why, for the record.

        Raises:
            BadInput: with the reason why it cannot be extended.
        """
        extend(self._store, self._name, labels, by=by, reason=reason)
        return self.result

    def report(self, path: str | Path) -> Path:
        """The path of the report, written as one HTML file that needs nothing from elsewhere; its folder is
        made where it is missing. Raises ReportNotWritten."""
        from assay.tasks.report.files import write_files
        from assay.tasks.report.page import report_html

        path = Path(path)
        write_files({path.name: report_html(self.report_data())}, path.parent)
        return path

    def report_data(self) -> ReportData:
        """What a report says, as a value.

        Raises:
            NothingToReport: before the first round has closed.
        """
        from assay.flows.report.gather import report_data

        opened = open_evaluation(self._store, self._name)
        return report_data(opened, current_standing(opened))

    @cached_property
    def _id_type(self) -> Callable[[str], Hashable]:
        return ids_of_file(self._asked.pool.source, self._asked.pool.id)

    @cached_property
    def _asked(self) -> Spec:
        """Its spec, which never changes."""
        return open_evaluation(self._store, self._name).spec

    def _standing(self) -> Standing:
        return current_standing(open_evaluation(self._store, self._name))

    def _desk(self) -> CallerDesk:
        return caller_desk(self._store, self._asked)

    def __repr__(self) -> str:
        return f"<Evaluation {self._name!r} in {self._store.url}>"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


@usual_values(USUAL_QUESTION)
def begin(data: object = None, **arguments: Unpack[QuestionArguments]) -> Evaluation:
    """Begin an evaluation, or find it begun with the same question. Nobody is asked yet.

    A *column* is its name, or the values themselves: an array, a Series or a list with one for each row.
    Items are named by the frame's own index (pandas), by the column under `id`, by a column `item_id`, or by
    the number of the row; `ask` gives these names back in their own type.

    Args:
        data: a frame (pandas, polars, pyarrow), or a list of rows as dictionaries; the path or address of a
            file with predictions; the path of a spec (.yaml), or a spec as a mapping; or nothing, where the
            columns are given themselves.
        outcome: what a label is. Two names: the positive and the negative class. More names: classes of equal
            standing. Numbers: grades, from the lowest. `"number"`: any number. Anything else as under
            `labels` in a spec, such as `{"tags": ["war", "arts"]}` or `{"number": {"min": 0}}`.
        measures: one or several: `"f1", "recall(cat)", "fbeta(2)"`, or `{"name": "fbeta", "beta": 2}`. The
            first drives what is asked.
        prediction: column of predictions.
        score: column of numbers, the higher the more likely positive.
        probability: column of probabilities of the positive class, or of the confidence in the prediction; of
            several classes `{"prefix": "p_"}` or `{class: column}`.
        threshold: the score, or probability, from which on an item is predicted positive; instead of
            `prediction`.
        judge: columns that guess the label, but of two classes; with gaps where they say nothing. Or
            functions of a row, called once for each; what they say is kept in the store.
        earlier: columns of results of earlier systems on the same items, as judges.
        covariates: columns of numbers that say more of the items, but of one class.
        spread: column of positive numbers: how uncertain each predicted number is.
        cluster: column that names what items come together in.
        weight: column of numbers, 0 or more: what each item counts for, such as its share of the traffic.
            Measures are then of the weighted pool.
        strata: column that names the stratum of the population that each item was drawn from.
        rank: column of 1, 2, 3 and so on: where a document stands in its query, which `cluster` names.
        systems: the systems to compare: `{name: column of predictions}`, or
            `{name: {"score": column, "threshold": 0.5}}`.
        baseline: the system that others are compared with; the first unless said.
        pairs: `"all"`: every two systems are compared.
        margin: how much worse than another a system may be and be shipped; with a `price` of each system the
            cheapest is named (`ranks.ship` of the result).
        contenders: rows that are one system's answer, or compare two:
            `{"columns": ["model"], "names": ["a", "b", "c"]}`.
        thresholds: of the score, a system each.
        features: columns of numbers, for methods that cut by features.
        id: column that names the items.
        show: columns that are shown to whoever answers; no other leaves the frame.
        show_as: how one is shown: `{"picture": "image"}`.
        segments: columns that split the pool; measures are estimated in each part too.
        target: the half-width of the interval at which it stops, or `{"variance": 0.0004}`, or until the best
            of several systems is known: `{"best_of": 0.01}`, none other being better by more; 0.05, or none
            where the budget is too small for any.
        confidence: of the intervals.
        budget: the most labels it may buy, or `{"labels": 500, "audit": 50}`; 500, or every row of a smaller
            frame. Of `evaluate` also money, split between labels and a judge that is a function where that
            narrows the interval most: `{"money": 500, "price": {"label": 2.0, "judge": 0.02}}`.
        limit: what the first measure must keep, for the verdict: `{"min": 0.8}`, `{"max": 0.1}` or both.
        method: how items are chosen.
        interval: `"guaranteed"`, of even or stratified draws: one that holds for any pool, at every look.
        about: `"population"`: intervals and target are about what the pool is a sample of; else `"pool"`.
        drive: the measures that the choice of items serves.
        batch_size: items in a round.
        seed: with the name, fixes every random choice.
        name: of the evaluation in its store; made of the question and the rows unless given.
        store: where its record is kept; in memory, and gone afterwards, unless named.
        question: what people are asked about every item; as in a spec, and so are the others below.
        guidelines: what people who label are told.
        desk: where people label; the caller unless said.
        adjudication: how labels are made of several answers.
        warm_start: labels of an earlier evaluation.
        labels_so_far: labels of a sample that is there already, as the first round:
            `{"label": "human", "drawn": "random"}`, or its column of chances as `weight`.
        outcomes: labels that come by themselves.
        deadline: how long a round waits.
        skipped: what becomes of items that everybody skipped.
        judges: how judges are looked at in the report: `{"features": ["length(text)", "format"]}`, an audit.
        alerts: who is told of a breach.
        freeze_runner: who freezes a large pool.

    Raises:
        BadInput: naming the argument, or the column and the rows, that are wrong.
        NameTaken: if the store has another evaluation of this name.

    Example:
        >>> import assay, pyarrow
        >>> texts = ["Win!", "Cheap!", "Lunch?", "Minutes"]
        >>> mails = pyarrow.table({"score": [0.9, 0.8, 0.3, 0.2], "text": texts})
        >>> evaluation = assay.begin(mails, outcome=["spam", "ham"], score="score", threshold=0.5,
        ...                          measures=["f1"], show="text")
        >>> len(evaluation.ask())
        4
        >>> evaluation.tell({0: "spam", 1: "spam", 2: "ham", 3: "ham"}).value
        1.0
    """
    values: Mapping[str, Any] = {**arguments}
    store: str | None = values["store"]
    if functions_in(values["judge"]):
        from assay.face.paid_judges import judged_arguments

        return begin(**judged_arguments({"data": data, **values}))
    written = _spec(data)
    if written is not None:
        _refuse_beside_a_spec(values)
        spec_store = open_store(store or written.store or Settings().store)
        return Evaluation(spec_store, begin_spec(spec_store, written).name)
    data, columns = with_columns(data, {name: values[name] for name in COLUMNS})
    source = as_source(data, columns["id"], keep=store is not None)
    check_frame_columns(source, columns)
    spec = spec_of(source, {**values, **columns})
    place: Store = MemoryStore() if store is None else open_store(store)
    with _of_frame(source):
        return Evaluation(place, begin_spec(place, spec).name, source)


def load(name: str, *, store: str | None = None) -> Evaluation:
    """An evaluation that has begun, here or elsewhere, by a spec or from Python.

    Args:
        name: its name in the store.
        store: where its record is; ASSAY_STORE, or ./assay-ledger, unless given.

    Raises:
        UnknownEvaluation: with the names that the store has.

    Example:
        >>> import assay
        >>> try:
        ...     evaluation = assay.load("spam-june", store="./a-folder-without-any")
        ... except assay.errors.UnknownEvaluation as error:
        ...     print("there is none")
        there is none
    """
    place = open_store(store or Settings().store)
    return Evaluation(place, open_evaluation(place, name).name)


@contextmanager
def _of_frame(source: FrameSource) -> Iterator[None]:
    """What is wrong with a frame is said of the frame, not of the file that was made of it."""
    try:
        yield
    except (NameTaken, MissingExtra):
        raise
    except BadInput as error:
        text = in_python(str(error))
        raise BadInput(text if source.table is None else text.replace(source.path, "the frame")) from None


def _spec(data: object) -> Spec | None:
    """The spec that `data` is, or None if it is predictions."""
    if isinstance(data, Mapping) and "pool" in data:
        return asked_spec(data, "the spec")
    if isinstance(data, str | Path) and Path(data).suffix in (".yaml", ".yml"):
        return load_spec(Path(data))
    return None


def _refuse_beside_a_spec(arguments: Mapping[str, object]) -> None:
    """Raise BadInput for an argument that would change nothing: a spec says everything but the store."""
    for name, value in arguments.items():
        if name != "store" and value is not USUAL_QUESTION.get(name):
            raise BadInput(f"{name}: is given beside a spec, which says all; leave it out")


def stands_for_none(evaluation: Evaluation, label: object) -> bool:
    """Whether a value is no label of this evaluation: a missing one, an empty cell, n/a and the like."""
    if is_missing(label):
        return True
    answers = evaluation._asked.labels.answers
    if not isinstance(label, str) or label.strip() not in NO_VALUE:
        return False
    return answers.empty is None and answers.spelled(label) is None


def _spelled_each(label: object) -> Any:
    """Answers to several questions as the desk takes them."""
    if not isinstance(label, Mapping):
        return _spelled(label)
    return {name: _spelled(answer) for name, answer in label.items()}


def _answers(answers: object, questions: Sequence[str] = ()) -> dict[Hashable, object]:
    """Item -> label, of a frame of both; of questions, whose columns it has, what was answered to each.

    Raises BadInput.
    """
    try:
        frame = as_frame(answers)
    except TypeError:
        raise BadInput(
            f"answers: a {type(answers).__name__} is neither a frame with item_id and label nor a mapping"
        ) from None
    columns = (ROW, *questions) if questions else (ROW, "label")
    for column in columns:
        if column not in frame.columns:
            raise BadInput(f"answers: there is no column {column!r}; give a frame with {', '.join(columns)}")
    if questions:
        table, _ = table_of(frame.select(*questions).to_native())
        return dict(zip(frame[ROW].to_list(), table.to_pylist(), strict=True))
    labels, _ = table_of(frame.select("label").to_native())
    return dict(zip(frame[ROW].to_list(), labels.column("label").to_pylist(), strict=True))


def _spelled(label: object) -> Any:
    """An answer as the desk takes it: text, tags, None for undecided."""
    value = label.item() if hasattr(label, "item") and getattr(label, "ndim", 0) == 0 else label
    if is_missing(value):
        return None
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return value if isinstance(value, Iterable) else str(value)
