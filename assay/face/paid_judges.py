"""Judges that are functions of the caller: called for rows of a frame, each once, at a price if it has one.

What a function says of a row is kept in the store, under the digest of the judge's name and the rows,
ROWS_KEPT_TOGETHER at a time and in random order: a call that was cut off goes on from there, and more rows
are judged later without those before.  A function that fails is called again.

Where `budget` is an amount of money, a pilot of PILOT random rows is judged and labelled first, in an
evaluation of its own.  It tells how much the judge explains of what predictions, probabilities and other
columns leave open; the rest of the money is split as that asks for (`assay.evalcore.design.two_phase`).  The
pilot's labels are the first round of the evaluation of the rows that are judged, which are a random sample of
the frame.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import iscoroutinefunction
from typing import TypeGuard

import numpy as np
import pyarrow as pa

from assay.evalcore.design.two_phase import Prices, split_of_money
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.held_labels import left_by_guesses
from assay.evalcore.json_values import entries_of
from assay.evalcore.methods.registry import AUTO
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Ints
from assay.face.arguments import QuestionArguments
from assay.face.awaiting import awaited
from assay.face.evaluation import Evaluation
from assay.face.frames import FrameSource, as_source, with_columns
from assay.face.question import COLUMNS, check_frame_columns, functions_in, spec_of
from assay.face.results import Result
from assay.flows.record.fold import Fold, fold
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.weighted import read_sample
from assay.tasks.desks.caller import WaitingItem
from assay.tasks.effects import retrying
from assay.tasks.ledger import layout, open_store, record
from assay.tasks.ledger.stores.store import MemoryStore, Store
from assay.tasks.spec.evaluation import Spec

ROWS_KEPT_TOGETHER = 25   # rows whose judgements are kept together: what a call that is cut off may lose
PILOT = 2 * ROWS_KEPT_TOGETHER   # rows that are judged and labelled before the money is split
JUDGE_ATTEMPTS = 3   # calls of a function that fails
LEAST_LEFT = 0.01   # of the variance, by guesses that 50 labels found no fault with
_LABEL = "pilot_label"
_PILOT = "-pilot"
_ASSISTED = "model-assisted"   # weighs what judges say



Judge = Callable[[dict[str, object]], object]
Begin = Callable[..., Evaluation]   # `assay.begin`


class JudgedArguments(QuestionArguments):
    """The arguments of `evaluate` or `begin`, all of them, with the frame."""

    data: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements:
    """What a judge said of some rows: the record of a key `judged_rows`."""

    judge: str
    rows: tuple[str, ...]         # digests of the rows
    answers: tuple[str | float | None, ...]


class PaidJudges:
    """The functions of one call of `evaluate` or `begin`, with the rows that they are called for."""

    def __init__(self, arguments: JudgedArguments) -> None:
        """Raises BadInput for a file, whose rows nobody has read, and for a store without a name."""
        if isinstance(arguments["data"], str) or not hasattr(arguments["data"], "__len__"):
            raise BadInput("judge: a function is called with the rows of a frame; read the file first")
        if arguments["store"] is not None and arguments["name"] is None:
            raise BadInput("judge: what a function says is kept under the evaluation's name; give name=...")
        judges = arguments["judge"]
        self._judges = entries_of(judges)
        given: Mapping[str, object] = arguments
        columns = {name: given[name] for name in COLUMNS if name != "judge"}
        columns |= {"judge": [entry for entry in self._judges if entry not in functions_in(judges)]}
        data, self._columns = with_columns(arguments["data"], columns)
        self._columns["judge"] = list(self._columns["judge"])
        self.source: FrameSource = as_source(data, self._columns["id"], keep=False)
        self.arguments: JudgedArguments = {**arguments}
        self._functions: set[str] = set()     # names of their columns
        self.name = arguments["name"] or "judged"
        self._refuse_what_begin_would()
        rng = stream(int(arguments["seed"]), self.name, purpose="judged rows")
        self.order = rng.permutation(len(self.table))
        self._store: Store = MemoryStore() if arguments["store"] is None else open_store(arguments["store"])

    def _refuse_what_begin_would(self) -> None:
        """Raises BadInput for arguments that are wrong whatever the functions say: before one is called."""
        check_frame_columns(self.source, self._columns)
        functions = [f"judge {number}" for number, _ in enumerate(functions_in(self._judges))]
        budget = self.arguments["budget"]
        by_money = isinstance(budget, Mapping) and "money" in budget
        arguments = {name: value for name, value in self.arguments.items() if name != "data"}
        spec_of(self.source, {
            **arguments, **self._columns, "judge": [*self._columns["judge"], *functions],
            "name": self.name, "budget": {"labels": PILOT} if by_money else budget,
            **({"target": {}} if by_money else {}),
        })

    @property
    def table(self) -> pa.Table:
        """All rows of the frame. Raises ValueError where there is none."""
        if self.source.table is None:
            raise ValueError("a file has no rows in memory")
        return self.source.table

    def asked_of(
        self, judged: int, labels: Mapping[int, object] | None = None, *, by_functions: bool = True,
        **changes: object,
    ) -> dict[str, object]:
        """The arguments of an evaluation of so many random rows, judged by the functions unless said; labels:
        row -> label, where some are there; changes: of other arguments."""
        drawn = self.order[:judged]
        rows = np.sort(drawn)
        table, names = self.table.take(pa.array(rows)), list(self._columns["judge"])
        for function in functions_in(self._judges) if by_functions else ():
            name = _name_of(function, table.column_names)
            answers = self._judged(function, name, drawn)
            table = table.append_column(name, pa.array([answers[row] for row in rows.tolist()]))
            names.append(name)
            self._functions.add(name)
        if labels is not None:
            table = table.append_column(_LABEL, pa.array([labels.get(row) for row in rows.tolist()]))
        columns = {**self._columns, "judge": names or None, "id": self.source.id}
        return {**self.arguments, **columns, "data": table, **changes}

    def evaluation(self, begin: Begin, arguments: Mapping[str, object]) -> Evaluation:
        """The evaluation with these arguments, in which rows and their ids are those of the caller's frame,
        without what the functions said of them."""
        begun = begin(**arguments)
        begun_source = begun.source
        if begun_source is None:
            raise ValueError("an evaluation of a frame has a source")
        return Evaluation(
            begun._store, begun.name, replace(self.source, path=begun_source.path, folder=begun_source.folder)
        )

    def explained(self, opened: Opened, pilot: Fold) -> tuple[float, float]:
        """What part of the first number's variance all guesses explain in the pilot, and what part those that
        cost nothing: predictions, probabilities, columns of judges."""
        if pilot.state.inner.table is None:
            return 0.0, 0.0
        sample = read_sample(opened, folded=pilot)
        names = [name for name in opened.spec.pool.judges if name in self._functions]
        at = np.array([name not in names for name in opened.spec.pool.judges], np.bool_)
        judgements = sample.items.judge
        free_judgements = judgements[:, at] if judgements is not None and at.any() else None
        free = replace(sample.items, judge=free_judgements)
        stack, codes = pilot.state.inner.stack, sample.sample.label
        residual, residual_free = (
            max(left_by_guesses(stack, items, codes), LEAST_LEFT) for items in (sample.items, free)
        )
        return 1 - residual, 1 - residual_free

    def _judged(self, function: Judge, name: str, rows: Ints) -> dict[int, str | float | None]:
        """Row -> what a function says of it, from the store, where it lies under the name of its column, or
        by calling it."""
        answers: dict[int, str | float | None] = {}
        for start in range(0, len(rows), ROWS_KEPT_TOGETHER):
            batch = rows[start : start + ROWS_KEPT_TOGETHER].tolist()
            texts = [self.source._texts[row] for row in batch]
            contents = [self.source.row(text) for text in texts]
            digests = tuple(_digest(content) for content in contents)
            key = layout.judged_rows(self.name, layout.digest(record.to_json([name, *digests])))
            if not self._store.exists(key):
                pending = {
                    row: _called(function, content) for row, content in zip(batch, contents, strict=True)
                }
                replies = [_plain_answer(answer) for answer in awaited(pending).values()]
                judgements = Judgements(judge=name, rows=digests, answers=tuple(replies))
                self._store.put(key, record.encode(judgements))
            stored = record.decode(Judgements, self._store.get(key), key)
            answers |= zip(batch, stored.answers, strict=True)
        return answers


def begin_judged(arguments: JudgedArguments, begin: Begin) -> Evaluation:
    """The evaluation of rows that functions judge: of all rows, or, where `budget` is money, of as many as
    the money is best spent on, after a pilot.

    begin: `assay.begin`.  Raises BadInput for an amount that does not pay for the pilot twice, and for prices
    that are missing.
    """
    judges, budget = PaidJudges(arguments), arguments["budget"]
    if isinstance(budget, Mapping) and "money" in budget:
        return SplitEvaluation(judges, begin, budget)
    return judges.evaluation(begin, judges.asked_of(len(judges.table)))


class SplitEvaluation(Evaluation):
    """An evaluation whose money is split between its judge and people: first the pilot, an evaluation of its
    own; once that is labelled, the evaluation of the rows that are judged, which begins with its labels.

    It asks and is told as any other.  After an interruption `begin` with the same arguments goes on: the
    judge is a function of the caller, which no store has.
    """

    def __init__(self, judges: PaidJudges, begin: Begin, budget: Mapping[str, object]) -> None:
        """Use `begin`."""
        arguments = judges.arguments
        self._money, prices = _amounts(budget)
        functions = len(functions_in(arguments["judge"]))
        self._prices = replace(prices, judge=prices.judge * functions)    # of one row
        if arguments["labels_so_far"] is not None:
            raise BadInput("labels_so_far: where money is split these are the labels of the pilot; give the "
                           "budget as labels")
        self._judges, self._begin, self._is_pilot = judges, begin, True
        items = len(judges.table)
        if items * self._prices.label <= self._money:
            raise BadInput(f"budget.money: {self._money:g} pays for labels of all {items:,} rows at "
                           f"{self._prices.label:g} each, and there is nothing to split; give less, or a "
                           "number of labels")
        pilot, at_least = min(PILOT, len(judges.table)), self._prices.label + self._prices.judge
        if 2 * pilot * at_least > self._money:
            raise BadInput(
                f"budget.money: {self._money:g} does not pay for twice a pilot of {pilot} rows, judged at "
                f"{self._prices.judge:g} and labelled at {self._prices.label:g}; give "
                f"{2 * pilot * at_least:g} or more, or a number of labels"
            )
        self._become(judges.asked_of(
            pilot, name=judges.name + _PILOT, budget={"money": pilot * self._prices.label,
                                                      "price": {"label": self._prices.label}},
            target={}, method=_ASSISTED, limit=None, alerts=None, drive=None, interval=None, about=None,
        ))
        self._go_on()

    @property
    def finished(self) -> bool:
        """Whether it has stopped: the pilot is not all of it."""
        return not self._is_pilot and super().finished

    def waiting(self, annotator: str | None = None) -> list[WaitingItem]:
        """What waits for answers, as values; once the pilot is labelled, of the rest. The judge is called
        for the rows that the split asks for."""
        items = super().waiting(annotator)
        return super().waiting(annotator) if not items and self._go_on() else items

    def tell(self, answers: object, annotator: str = "") -> Result:
        """Give answers, and close the round if it is complete, as any evaluation; where these were the last
        of the pilot, what is returned is of the evaluation that begins with them."""
        result = super().tell(answers, annotator)
        return self._advanced() if self._go_on() else result

    def _go_on(self) -> bool:
        """Begin the evaluation of the rows that are judged, if the pilot is labelled; whether it was."""
        if not self._is_pilot or not super().finished:
            return False
        self._become(self._after_pilot())
        self._is_pilot = False
        return True

    def _become(self, arguments: Mapping[str, object]) -> None:
        """The evaluation with these arguments of `begin`."""
        evaluation = self._judges.evaluation(self._begin, arguments)
        super().__init__(evaluation._store, evaluation.name, evaluation.source)
        self.__dict__.pop("_asked", None)      # of the pilot

    def _after_pilot(self) -> dict[str, object]:
        """The arguments of the evaluation that goes on from the pilot's labels with what money is left."""
        judges, money, prices = self._judges, self._money, self._prices
        opened = open_evaluation(self._store, self._name)
        folded = fold(opened.ledger, opened.statistics)
        items, pilot = len(judges.table), min(PILOT, len(judges.table))
        # items that no measure looks at are judged as well, and tell nothing
        cells = folded.state.inner.cells
        tells = max(float(cells.size[cells.relevant].sum() / cells.size.sum()), 1 / pilot)
        explained, free = judges.explained(opened, folded)
        split = split_of_money(
            money, replace(prices, judge=prices.judge / tells), explained, max(round(items * tells), 1), free
        )
        labels = _labels_of(opened.spec, folded, judges.source)
        so_far = {"label": _LABEL, "drawn": "random"}
        remaining = money - folded.asked * prices.label
        judged = min(round(split.judged / tells), int((remaining - prices.label) / prices.judge), items)
        judged = items if judged == items else max(judged // ROWS_KEPT_TOGETHER * ROWS_KEPT_TOGETHER, pilot)
        paid = {
            "money": money, "price": {"label": prices.label, "judge": prices.judge}, "judged": judged,
            "pilot": folded.asked,
        }
        if not split.judged:
            return judges.asked_of(items, labels, by_functions=False, budget=paid, labels_so_far=so_far)
        about: QuestionArguments = {} if judged == items else {"about": "population"}
        if judges.arguments["method"] == AUTO:     # which may be one that strata serve, without judges
            about["method"] = _ASSISTED
        return judges.asked_of(judged, labels, budget=paid, labels_so_far=so_far, **about)


def _amounts(budget: Mapping[str, object]) -> tuple[float, Prices]:
    """Raises BadInput for amounts that are missing or are none."""
    price = budget.get("price")
    unknown = [key for key in budget if key not in ("money", "price")]
    unknown += [f"price.{key}" for key in price if key not in ("label", "judge")] if isinstance(
        price, Mapping) else []
    if unknown:
        raise BadInput(f"budget: {', '.join(unknown)} has no meaning beside money; leave it out")
    prices = [price.get(key) for key in ("label", "judge")] if isinstance(price, Mapping) else []
    amounts = [amount for amount in (budget.get("money"), *prices) if _is_amount(amount)]
    if len(amounts) < 3:
        raise BadInput("budget: an amount of money needs the price of a label and of a judgement: "
                       "{'money': 500, 'price': {'label': 2.0, 'judge': 0.02}}")
    return float(amounts[0]), Prices(label=float(amounts[1]), judge=float(amounts[2]))


def _is_amount(amount: object) -> TypeGuard[float]:
    return isinstance(amount, int | float) and not isinstance(amount, bool) and 0 < amount < math.inf


def _labels_of(spec: Spec, pilot: Fold, source: FrameSource) -> dict[int, str]:
    """Row -> label, as it is spelled, of what people could decide in the pilot."""
    kind = spec.labels.answers
    labels: dict[int, str] = {}
    for closed in pilot.closed:
        for row in closed.decided or ():
            if row.label is not None:
                labels[source.places[row.item_id]] = kind.text(row.label)
    return labels


def _called(function: Judge, row: dict[str, object]) -> object:
    """What a function says of a row; called again where it fails, JUDGE_ATTEMPTS times in all. Of a coroutine
    function a coroutine that does so."""
    if not iscoroutinefunction(function):
        return retrying(Exception, JUDGE_ATTEMPTS)(function, row)

    async def called() -> object:
        for _ in range(JUDGE_ATTEMPTS - 1):
            with suppress(Exception):
                return await function(row)
        return await function(row)

    return called()


def _plain_answer(answer: object) -> str | float | None:
    """An answer as a column of judgements has it: a text, a number, or nothing."""
    value: object = answer.item() if hasattr(answer, "item") else answer
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise BadInput(f"judge: said {value!r}; a judge says the name of a class, a number, or None")


def _name_of(function: Judge, taken: Sequence[str]) -> str:
    """What the column of a function is called."""
    name = getattr(function, "__name__", type(function).__name__).strip("<>") or "judge"
    while name in taken:
        name += "_said"
    return name


def _digest(row: Mapping[str, object]) -> str:
    text = json.dumps(row, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
