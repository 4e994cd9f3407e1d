"""Judges that are functions of the caller: called for rows of a frame, each once, at a price if it has one.

What a function says of a row is kept in the store, under the digest of the judge's name and the rows,
TOGETHER at a time and in random order: a call that was cut off goes on from there, and more rows are judged
later without those before.  A function that fails is called again.

Where `budget` is an amount of money, a pilot of PILOT random rows is judged and labelled first, in an
evaluation of its own.  It tells how much of the labels the judge explains; the rest of the money is split as
that asks for (`assay.evalcore.design.two_phase`).  The pilot's labels are the first round of the evaluation
of the rows that are judged, which are a random sample of the frame.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import iscoroutinefunction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from assay.evalcore.design.two_phase import Prices, split_of_money
from assay.evalcore.errors import BadInput
from assay.evalcore.methods.any_outcome.model_assisted import AssistedNumber
from assay.evalcore.methods.registry import AUTO
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Ints
from assay.face.awaiting import awaited
from assay.face.frames import FrameSource, as_source, with_columns
from assay.face.question import COLUMNS, functions_in
from assay.flows.record.fold import Fold, fold
from assay.flows.record.opened import open_evaluation
from assay.tasks.effects import retrying
from assay.tasks.ledger import layout, open_store, record
from assay.tasks.ledger.stores.store import MemoryStore, Store
from assay.tasks.spec.evaluation import Spec

TOGETHER = 25       # rows whose judgements are kept together: what a call that is cut off may lose
PILOT = 2 * TOGETHER   # rows that are judged and labelled before the money is split
ATTEMPTS = 3        # calls of a function that fails
_LABEL = "pilot_label"
_PILOT = "-pilot"
_ASSISTED = "model-assisted"   # weighs what judges say



class DrivenEvaluation(Protocol):
    """An evaluation that was driven to its end: its name, and where its record is."""

    @property
    def name(self) -> str: ...
    @property
    def _store(self) -> Store: ...


Judge = Callable[[dict[str, Any]], Any]
Run = Callable[[Mapping[str, Any], Any], Any]   # of arguments and an oracle: a `DrivenEvaluation`


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements:
    """What a judge said of some rows: the record of a key `judged_rows`."""

    judge: str
    rows: tuple[str, ...]         # digests of the rows
    answers: tuple[str | float | None, ...]


class PaidJudges:
    """The functions of one call of `evaluate` or `begin`, with the rows that they are called for."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        """Raises BadInput for a file, whose rows nobody has read, and for a store without a name."""
        if isinstance(arguments["data"], str) or not hasattr(arguments["data"], "__len__"):
            raise BadInput("judge: a function is called with the rows of a frame; read the file first")
        if arguments["store"] is not None and arguments["name"] is None:
            raise BadInput("judge: what a function says is kept under the evaluation's name; give name=...")
        judges = arguments["judge"]
        self._judges = list(judges) if isinstance(judges, list | tuple) else [judges]
        columns = {name: arguments[name] for name in COLUMNS if name != "judge"}
        columns |= {"judge": [entry for entry in self._judges if entry not in functions_in(judges)]}
        data, self._columns = with_columns(arguments["data"], columns)
        self._columns["judge"] = list(self._columns["judge"])
        self.source: FrameSource = as_source(data, self._columns["id"], keep=False)
        self.arguments = dict(arguments)
        self.name: str = arguments["name"] or "judged"
        rng = stream(int(arguments["seed"]), self.name, purpose="judged rows")
        self.order = rng.permutation(len(self.table))
        self._store: Store = MemoryStore() if arguments["store"] is None else open_store(arguments["store"])

    @property
    def table(self) -> pa.Table:
        """All rows of the frame. Raises ValueError where there is none."""
        if self.source.table is None:
            raise ValueError("a file has no rows in memory")
        return self.source.table

    def asked_of(
        self, judged: int, labels: Mapping[int, Any] | None = None, *, by_functions: bool = True,
        **changes: Any,
    ) -> dict[str, Any]:
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
        if labels is not None:
            table = table.append_column(_LABEL, pa.array([labels.get(row) for row in rows.tolist()]))
        columns = {**self._columns, "judge": names or None, "id": self.source.id}
        return {**self.arguments, **columns, "data": table, **changes}

    def _judged(self, function: Judge, name: str, rows: Ints) -> dict[int, str | float | None]:
        """Row -> what a function says of it, from the store, where it lies under the name of its column, or
        by calling it."""
        answers: dict[int, str | float | None] = {}
        for start in range(0, len(rows), TOGETHER):
            batch = rows[start : start + TOGETHER].tolist()
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


def judged_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `begin` with a column for each judge that is a function, called for every row."""
    judges = PaidJudges(arguments)
    if isinstance(arguments["budget"], Mapping) and "money" in arguments["budget"]:
        raise BadInput("budget: is money, which `evaluate` splits between judge and labels, as it asks for "
                       "labels itself; here give labels")
    return judges.asked_of(len(judges.table))


def split_arguments(
    arguments: Mapping[str, Any], oracle: Any, run: Run
) -> tuple[dict[str, Any], Any]:
    """The arguments of an evaluation whose money is split between its judge and people, and its oracle.

    run: an evaluation of arguments and an oracle, driven to its end.  Raises BadInput for an amount that does
    not pay for the pilot twice, and for prices that are missing.
    """
    budget = arguments["budget"]
    if not isinstance(budget, Mapping) or "money" not in budget:
        return judged_arguments(arguments), oracle
    money, prices = _amounts(budget)
    prices = replace(prices, judge=prices.judge * len(functions_in(arguments["judge"])))   # of one row
    data = arguments["data"]
    if hasattr(oracle, "__len__") and not isinstance(oracle, str | Mapping):    # values in the order of rows
        data, names = with_columns(data, {"oracle": oracle})
        oracle = names["oracle"]
    judges = PaidJudges({**arguments, "data": data})
    if arguments["labels_so_far"] is not None:
        raise BadInput("labels_so_far: where money is split these are the labels of the pilot; give the "
                       "budget as labels")
    items = len(judges.table)
    pilot = min(PILOT, items)
    if 2 * pilot * (prices.label + prices.judge) > money:
        raise BadInput(
            f"budget.money: {money:g} does not pay for twice a pilot of {pilot} rows, judged at "
            f"{prices.judge:g} and labelled at {prices.label:g}; give "
            f"{2 * pilot * (prices.label + prices.judge):g} or more, or a number of labels"
        )
    pilot_run = run(judges.asked_of(
        pilot, name=judges.name + _PILOT, budget={"labels": pilot}, target={}, method=_ASSISTED,
        limit=None, alerts=None, drive=None, interval=None, about=None,
    ), oracle)
    opened = open_evaluation(pilot_run._store, pilot_run.name)
    folded = fold(opened.ledger, opened.statistics)
    split = split_of_money(money, prices, _explained(folded), items)
    labels = _labels_of(opened.spec, folded, judges.source)
    so_far = {"label": _LABEL, "drawn": "random"}
    prices_given = {"label": prices.label, "judge": prices.judge}
    remaining = money - pilot * prices.label
    judged = min(split.judged, int((remaining - prices.label) / prices.judge))   # and one label more
    judged = items if judged == items else max(judged // TOGETHER * TOGETHER, pilot)
    paid = {"money": remaining, "price": prices_given, "judged": judged}
    if not split.judged:
        return judges.asked_of(items, labels, by_functions=False, budget=paid, labels_so_far=so_far), oracle
    about: dict[str, Any] = {} if judged == items else {"about": "population"}
    if arguments["method"] == AUTO:     # which may be one that strata serve, without what judges say
        about["method"] = _ASSISTED
    return judges.asked_of(judged, labels, budget=paid, labels_so_far=so_far, **about), oracle


def _amounts(budget: Mapping[str, Any]) -> tuple[float, Prices]:
    """Raises BadInput for amounts that are missing or are none."""
    price = budget.get("price")
    unknown = [key for key in budget if key not in ("money", "price")]
    unknown += [f"price.{key}" for key in price if key not in ("label", "judge")] if isinstance(
        price, Mapping) else []
    if unknown:
        raise BadInput(f"budget: {', '.join(unknown)} has no meaning beside money; leave it out")
    amounts = [budget.get("money"), *(
        [price.get(key) for key in ("label", "judge")] if isinstance(price, Mapping) else [None])]
    if len(amounts) < 3 or not all(map(_is_amount, amounts)):
        raise BadInput("budget: an amount of money needs the price of a label and of a judgement: "
                       "{'money': 500, 'price': {'label': 2.0, 'judge': 0.02}}")
    return float(amounts[0]), Prices(label=float(amounts[1]), judge=float(amounts[2]))


def _is_amount(amount: Any) -> bool:
    return isinstance(amount, int | float) and not isinstance(amount, bool) and 0 < amount < math.inf


def _explained(pilot: Fold) -> float:
    """ρ² of the first measure: the part of its pull's variance that the guesses explain in the pilot."""
    state = pilot.state.inner
    if state.table is None:
        return 0.0
    fitted = AssistedNumber.fitted(state, state.table, 0)
    square, residual = float(fitted.square[0]), float(fitted.residual_square[0])
    return min(max(1 - residual / square, 0.0), 0.99) if square > 0 else 0.0


def _labels_of(spec: Spec, pilot: Fold, source: FrameSource) -> dict[int, Any]:
    """Row -> label, as it is spelled, of what people could decide in the pilot."""
    kind, labels = spec.labels.answers, {}
    for closed in pilot.closed:
        for row in closed.decided or ():
            if row.label is not None:
                labels[source.places[row.item_id]] = kind.text(row.label)
    return labels


def _called(function: Judge, row: dict[str, Any]) -> Any:
    """What a function says of a row; called again where it fails, ATTEMPTS times in all. Of a coroutine
    function a coroutine that does so."""
    if not iscoroutinefunction(function):
        return retrying(Exception, ATTEMPTS)(function, row)

    async def called() -> Any:
        for _ in range(ATTEMPTS - 1):
            with suppress(Exception):
                return await function(row)
        return await function(row)

    return called()


def _plain_answer(answer: Any) -> str | float | None:
    """An answer as a column of judgements has it: a text, a number, or nothing."""
    value = answer.item() if hasattr(answer, "item") else answer
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


def _digest(row: Mapping[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
