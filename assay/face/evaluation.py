"""An evaluation in the hands of its caller: ask for the items that wait, tell the answers, read estimates."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.evalcore.errors import BadInput
from assay.face.frames import (
    ROW,
    FrameSource,
    as_frame,
    default_backend,
    frame_of,
    ids_of_file,
    is_missing,
    table_of,
)
from assay.face.results import Estimate, Result, result_of
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.finish import extend
from assay.flows.people.caller import by_side, caller_desk
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.tasks.desks.caller import CallerDesk, WaitingItem
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report.data import ReportData
from assay.tasks.report.standing import Standing
from assay.tasks.settings import Settings
from assay.tasks.sources.known_labels import no_answer
from assay.tasks.sources.values import NO_VALUE
from assay.tasks.spec.evaluation import Spec


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
        return self._advanced()

    def _advanced(self) -> Result:
        """Where it stands after all that is due was done."""
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


def stands_for_none(evaluation: Evaluation, label: object) -> bool:
    """Whether a value is no label of this evaluation: a missing one, an empty cell, n/a and the like."""
    if is_missing(label):
        return True
    answers = evaluation._asked.labels.answers
    if not isinstance(label, str) or label.strip() not in NO_VALUE:
        return False
    return answers.empty is None and answers.spelled(label) is None


def no_label(evaluation: Evaluation, label: object) -> str | None:
    """Why a text or a number can be no label of this evaluation: `'maybe' is none of the classes (a, b)`.
    None where it can, and for what only the desk can tell: answers to questions, which of two is better."""
    spec, text = evaluation._asked, _spelled(label)
    if spec.questions_asked or spec.labelling.pair is not None or not isinstance(text, str):
        return None
    answers = spec.labels.answers
    is_one = not text.strip() or answers.spelled(text) is not None
    return None if is_one else f"{text!r} is {no_answer(answers)}"


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
