"""What a replay is asked and what it says; and what a request asks of a pool: its methods, its numbers with
their true values, and its oracles."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from assay.evalcore.errors import BadArgument, BadInput
from assay.evalcore.json_values import JsonObject, entries_of, mapping_of
from assay.evalcore.measures.best_of import Race, pairs_of
from assay.evalcore.measures.contenders import of_contender
from assay.evalcore.measures.measure import OutcomeMeasure, Setting, difference, leading, side_by_side
from assay.evalcore.measures.registry import measure, needs_grid, of_single_items, outcome_measure
from assay.evalcore.measures.stack import Stack, stack_of_questions
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.score_strata import aim_of_rows
from assay.evalcore.methods.method import Method
from assay.evalcore.methods.one_of_several import one_of_several
from assay.evalcore.methods.registry import (
    AUTO,
    auto,
    is_auto,
    method,
    method_for,
    method_of_questions,
    methods_that,
    of_two_classes_alone,
    refuse_weights,
)
from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState
from assay.evalcore.methods.two_classes.choice import Aim, choose
from assay.evalcore.outcomes.items import Items, OneShard, pool_weights
from assay.evalcore.outcomes.questions import SeveralQuestions
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.printed import HIDDEN, IF_ANY, key_as, printed
from assay.evalcore.replay.pool import LabelledPool, OutcomePool, prepared_cells
from assay.evalcore.replay.run import CELLS_OF, BudgetSummary, LabelsTo, Oracle, oracles
from assay.evalcore.types import Bools, Floats, Ints
from assay.tasks.spec.best import BY_CONTENDER
from assay.tasks.spec.goals import named_measure

_WRITTEN = re.compile(r"(?P<name>[\w -]+)(?:\((?P<beta>[0-9.]+)\))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What to simulate on a labelled pool: the methods and measures, rising budgets of labels, how often
    each method is repeated, and how rounds are set up. All random choices follow from `seed`."""

    methods: tuple[str, ...]
    # as they are written: macro_f1, f1(cat), fbeta(2).  Of two classes the first drives the sampling, or all
    # do (capability `serves_all`); of other outcomes all do
    measures: tuple[str, ...]
    budgets: tuple[int, ...]             # rising numbers of distinct labelled items
    repeats: int                         # evaluations of each method
    seed: int = 1
    batch_size: int = 25
    confidence: float = 0.95
    # names of the systems: of two classes of further ones, for methods that judge several; of other outcomes
    # of all, as their predictions are ordered
    systems: tuple[str, ...] = ()
    audit: int = 0                       # labels of the largest budget that are spread evenly
    people: int = 1                      # annotators who answer about each item, where they differ
    half_widths: tuple[float, ...] = (0.10, 0.05)   # to which labels are told, as shares of a measure's range
    drive: tuple[str, ...] = ()          # of several questions, those that the choice of items serves
    divergence: bool = False             # tell how far the proposals are from the best one
    best_of: float | None = None         # the margin within which the best of several systems is to be named

    def check(self) -> None:
        """Raises BadArgument for what makes no sense on any pool.

        Budgets, the batch size and the number of people are checked where they are used.
        """
        if self.repeats < 1:
            raise BadArgument("repeats", f"must be at least 1, got {self.repeats}")
        if not 0 < self.confidence < 1:
            raise BadArgument("confidence", f"must lie between 0 and 1, got {self.confidence:g}")
        for argument in ("methods", "measures", "half_widths"):
            values = getattr(self, argument)
            if not values:
                raise BadArgument(argument, "name at least one")
            if len(set(values)) < len(values):
                raise BadArgument(argument, "the same one is named twice")
        if self.best_of is not None and not 0 <= self.best_of < inf:
            raise BadArgument("best_of", f"is a margin of 0 or more, got {self.best_of:g}")
        if not all(0 < h < inf for h in self.half_widths):
            raise BadArgument("half_widths", f"must be positive numbers, got {list(self.half_widths)}")


def measure_of_two_classes(written: str) -> Measure:
    """The measure of two classes that is written as `f1` or `fbeta(2)`. Raises BadArgument for text that is
    no name of a measure, UnknownName for a measure there is not, and BadInput for a setting it does not
    take."""
    match = _WRITTEN.fullmatch(written)
    if match is None:
        raise BadArgument("measures", f"{written!r} is not the name of a measure; write f1, or fbeta(2)")
    beta = match["beta"]
    try:
        return measure(match["name"], None if beta is None else float(beta))
    except ValueError:
        raise BadArgument("measures", f"{written!r}: {beta!r} is not a number; write fbeta(2)") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """How one method did on one number of a replay: error and coverage at each budget, labels to each
    half-width, seconds a round, and the true value. Each system, class and point of a curve is a number
    of its own."""

    method: str
    system: str | None = field(default=None, metadata=key_as(several=True))   # None: the pool's own
    measure: str
    question: str | None = field(default=None, metadata=IF_ANY)   # of several that are asked of an item
    versus: str | None = field(default=None, metadata=IF_ANY)   # the system it is compared with
    of_class: str | None = field(default=None, metadata=key_as("class", if_any=True))   # or tag
    at: float | None = field(default=None, metadata=IF_ANY)     # the threshold, of a point of a curve
    budgets: tuple[BudgetSummary, ...]
    seconds_per_round: float             # of one evaluation: planning, drawing, learning and estimating
    least_coverage: float                # what its intervals are held to
    labels_to: tuple[LabelsTo, ...]      # one for each half-width asked for
    truth: float = field(metadata=HIDDEN)    # the value on the pool

    @property
    def of(self) -> str:
        """What is measured: `f1`, `f1(cat) of child`, `recall at 0.5`, `accuracy of child versus adult`.
        Tables and JSON name an entry by it."""
        title = self.measure if self.of_class is None else f"{self.measure}({self.of_class})"
        title += "" if self.at is None else f" at {self.at:g}"
        name = name_of(title, self.system or self.question)
        return name if self.versus is None else f"{name} versus {self.versus}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleBudget:
    """The oracle at one budget: the labels, and the width of its interval, not cut to the range of the
    measure."""

    labels: int
    width: float                         # not cut to the measure's range


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleLabels:
    """The labels with which the oracle comes to one half-width; 0 where the rates that it knows tell the
    measure by themselves."""

    half_width: float
    labels: int                          # 0 where the rates alone tell the measure


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleResult:
    """What a stratified sample needs that knows the rate of every cell."""

    system: str | None = field(default=None, metadata=key_as(several=True))   # None: the pool's own
    measure: str
    cells_of: str                        # the method whose cells it samples
    cells: int                           # how many they are
    budgets: tuple[OracleBudget, ...]
    labels_to: tuple[OracleLabels, ...]  # one for each half-width asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class BestReplay:
    """How one method did at naming the best of several systems, with a look at each budget."""

    method: str
    margin: float
    named: tuple[float, ...]             # share of repeats with a winner by each budget
    wrong: float                         # share whose winner another one beats by more than the margin
    labels_mean: float                   # at the look that named one; the largest budget where none did
    labels_median: float
    winners: dict[str, float]            # system -> share of repeats that named it


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """A whole replay: the pool and its true values, how each method did on each measure and, where it is
    known, what an oracle would have needed."""

    pool: str
    n: int                               # its items
    repeats: int                         # evaluations that were simulated for each method
    seed: int
    confidence: float = field(metadata=HIDDEN)
    truth: dict[str, float]              # measure, or "measure of system" -> its value on the pool
    methods: tuple[MethodResult, ...]
    oracle: tuple[OracleResult, ...]     # by system and measure; empty where annotators differ
    audit: int = field(default=0, metadata=IF_ANY)   # labels of the largest budget that were spread evenly
    best: tuple[BestReplay, ...] = field(default=(), metadata=IF_ANY)   # where the best system is asked for

    @property
    def of_systems(self) -> bool:
        """Whether several systems were judged: whether any entry is of a system by name and not of the
        pool's own prediction."""
        return any(entry.system is not None for entry in self.methods)

    def to_json(self) -> JsonObject:
        """What `assay replay --json` prints: the result as plain values of JSON, without the key `system`
        where the pool's own prediction alone was judged."""
        document: JsonObject = printed(self)
        if self.of_systems:
            return document
        return document | {
            key: [
                {name: value for name, value in mapping_of(entry).items() if name != "system"}
                for entry in entries_of(document[key])
            ]
            for key in ("methods", "oracle")
        }


def name_of(measure: str, system: str | None) -> str:
    """What a number of a replay is called: the measure, as in `f1`, or `f1 of child` for a further system or
    for one of several questions."""
    return measure if system is None else f"{measure} of {system}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """One number that is simulated: a measure, its true value on the pool (NaN where it has none), the
    length of its range, and the system, class, threshold or question that it is of."""

    measure: str
    truth: float                  # NaN where it has no value on the pool, and nothing can be compared with it
    range_of: float = 1.0         # the length of its range, or a guess of it
    system: str | None = None
    versus: str | None = None
    of_class: str | None = None
    at: float | None = None
    question: str | None = None


class Simulation(ABC):
    """What a replay request comes to on one pool: its measures, the numbers that are simulated with their
    true values, its methods by name, and the oracles. One subclass is of two classes, one of any outcome."""

    request: ReplayRequest
    measures: Sequence[Measure] | Stack    # as the methods take them
    n_items: int

    @property
    @abstractmethod
    def simulated_numbers(self) -> list[Simulated]:
        """In the order of a replay's traces. Raises BadInput for a measure without a value on the pool. Each
        has the true value, by all labels of the pool."""

    @abstractmethod
    def find_method(self, name: str) -> Method:
        """A method of the request. Raises UnknownName, and BadInput where it cannot do this pool. The message
        then says what to use instead."""

    def named(self, name: str) -> str:
        """How a method of the request is called in the result."""
        return name

    @property
    def systems(self) -> Sequence[str]:
        """The names of several systems that are judged; empty where it is one."""
        return ()

    def winner_is_wrong(self, winner: Ints) -> Bools:
        """(R,) whether another system is better by more than the margin than the one named; never where one
        system is judged."""
        return np.zeros(len(winner), np.bool_)

    def oracles(self) -> dict[str, OracleResult]:
        """Oracles by `name_of`, each with what it needs; empty unless a subclass knows the rates of cells. An
        oracle draws by the true rates, so no method can do better than it in the mean."""
        return {}


def simulation_of(pool: LabelledPool | OutcomePool, request: ReplayRequest) -> Simulation:
    """The request for this pool. Raises BadArgument for what cannot be simulated on it, and UnknownName. Two
    classes and other outcomes have one each, with the same members."""
    request.check()
    return _OfTwoClasses(pool, request) if isinstance(pool, LabelledPool) else _OfAnyOutcome(pool, request)


class _OfTwoClasses(Simulation):
    def __init__(self, pool: LabelledPool, request: ReplayRequest) -> None:
        self._pool, self.request, self.n_items = pool, request, len(pool.label)
        if request.best_of is not None:
            raise BadArgument("best_of", "is of systems with labels of any outcome: say what a label is")
        chosen = [method(name) for name in request.methods]
        self.measures: list[Measure] = [measure_of_two_classes(written) for written in request.measures]
        _refuse_idle(pool, request, chosen, self.measures)
        _check_audit(request, chosen)
        one_system = [sampler.name for sampler in chosen if not sampler.capabilities.judges_systems]
        if request.systems and one_system:
            able = " or ".join(map(repr, methods_that("judges_systems")))
            raise BadArgument("systems", f"need the method {able} alone; {one_system[0]!r} judges one system")

    @property
    def simulated_numbers(self) -> list[Simulated]:
        results = []
        for s, system in enumerate((None, *self.request.systems)):
            confusion = self._pool.confusion(s)
            for m in self.measures:
                truth = float(m.of_confusion(confusion))
                if not np.isfinite(truth):
                    raise _no_value(name_of(m.name, system), m.undefined_when)
                results.append(Simulated(measure=m.name, system=system, truth=truth))
        return results

    def find_method(self, name: str) -> CountingMethod[MethodState]:
        request = self.request
        chosen = method(self._meaning(name))
        return chosen.audited(request.audit / request.budgets[-1]) if request.audit else chosen

    def _meaning(self, name: str) -> str:
        """A method's name, `auto` with what it means for this pool and the largest budget."""
        if not is_auto(name):
            return name
        positives, items = int(self._pool.prediction.sum()), len(self._pool.prediction)
        return auto(name, Aim(
            measures=self.measures, predicted=(items - positives, positives),
            confidence=self.request.confidence, budget=max(self.request.budgets, default=None),
        ), "score" if self.request.audit else None).method

    def oracles(self) -> dict[str, OracleResult]:
        return {
            name_of(oracle.measure.name, system): _figures(oracle, self.request, system)
            for s, system in enumerate((None, *self.request.systems))
            for oracle in oracles(self._pool, self.measures, self.request.confidence, s)
        }


def _refuse_idle(
    pool: LabelledPool, request: ReplayRequest, chosen: Sequence[CountingMethod[MethodState]],
    measures: Sequence[Measure],
) -> None:
    """Raises BadArgument for what is asked and would change nothing."""
    if request.people > 1 and pool.label_probability is None:
        raise BadArgument("people", "answer alike where every item has one label: this pool has no column "
                                    "label_probability")
    _check_features(pool.features, chosen, request)
    if not request.divergence:
        return
    if pool.label_probability is not None:
        raise BadArgument("divergence", "needs one label an item, and the annotators of this pool differ")
    size = np.array([request.batch_size])
    if not any(
        sampler.propose(sampler.start(prepared_cells(sampler, pool)[0], measures, 1), size).replacement
        for sampler in chosen
    ):
        raise BadArgument("divergence", "is told of methods that draw with replacement, as dirichlet-tree, "
                                        f"and not of {_listed(request)}")


def _check_features(features: Floats | None, chosen: Sequence[Method], request: ReplayRequest) -> None:
    if features is not None and not any(sampler.feature_tree for sampler in chosen):
        raise BadArgument("features", f"are looked at by methods that cut the pool by them, as with "
                                      f"partition=kd-tree, and not by {_listed(request)}")


def _listed(request: ReplayRequest) -> str:
    return " and ".join(map(repr, request.methods))


def _check_audit(request: ReplayRequest, chosen: Sequence[CountingMethod[MethodState]]) -> None:
    if not request.audit:
        return
    if not request.budgets or not 0 < request.audit <= request.budgets[-1]:
        raise BadArgument("audit", f"is a part of the largest budget, got {request.audit}")
    unable = [sampler.name for sampler in chosen if not sampler.capabilities.audits]
    if unable:
        able = " or ".join(methods_that("audits"))
        raise BadArgument("audit", f"is for the method {able}; {unable[0]!r} has none")


def _figures(oracle: Oracle, request: ReplayRequest, system: str | None) -> OracleResult:
    return OracleResult(
        measure=oracle.measure.name,
        cells_of=CELLS_OF,
        cells=len(oracle.size),
        budgets=tuple(OracleBudget(labels=b, width=2 * oracle.half_width(b)) for b in request.budgets),
        labels_to=tuple(OracleLabels(half_width=h, labels=oracle.labels_to(h)) for h in request.half_widths),
        system=system,
    )


def has_proposal(method: Method) -> bool:
    """Whether a method of any outcome draws items by a proposal."""
    return isinstance(method, OutcomeMethod) and type(method).item_proposal is not OutcomeMethod.item_proposal


class _OfAnyOutcome(Simulation):
    """Of several systems, every measure is taken of each, and the difference of each from the first."""

    measures: Stack

    def __init__(self, pool: OutcomePool, request: ReplayRequest) -> None:
        if request.audit:
            raise BadArgument("audit", "is for measures of two classes with a score, not "
                                       f"{request.measures[0]!r}")
        if request.people > 1:
            raise BadArgument("people", "answer about items of two classes with a label_probability")
        if request.systems and len(request.systems) != pool.items.systems:
            raise BadArgument("systems", f"{len(request.systems)} names for {pool.items.systems} columns of "
                                         "predictions")
        self._pool, self.request, self.n_items = pool, request, len(pool.items)
        self._weights = pool_weights(OneShard(pool.items))
        chosen = list(map(self.find_method, request.methods))
        _check_features(pool.items.feature, chosen, request)
        if request.divergence and not any(has_proposal(sampler) for sampler in chosen):
            raise BadArgument("divergence", "is told of methods that draw by a proposal, as dirichlet-tree, "
                                            f"and not of {_listed(request)}")
        for name in request.methods:
            compares = bool(pool.contenders) or request.best_of is not None
            if compares and name.partition(":")[0] not in BY_CONTENDER:
                raise BadArgument("methods", f"{name!r} does not tell systems apart so; use one of "
                                             f"{', '.join(BY_CONTENDER)}")
        if isinstance(pool.kind, SeveralQuestions):
            self.measures = _stack_of_questions(pool.kind, request, pool.items)
            return
        if request.drive:
            raise BadArgument("drive", "names those of several questions that drive; all measures of one do")
        if self._weights is not None:
            for name in request.methods:
                refuse_weights(name, pool.kind)
        self.measures = self._stack()
        for name in filter(of_two_classes_alone, request.methods):
            try:
                pool.of_class(one_of_several(pool.kind, self.measures.measures).part)
            except BadInput as error:
                raise BadInput(f"method {name!r} {error}") from None
        if pool.items.judge is not None and all(map(of_two_classes_alone, request.methods)):
            raise BadArgument("judge", "guesses labels for methods of any outcome, and those of two classes "
                                       "look at probabilities alone; leave it out")

    @property
    def simulated_numbers(self) -> list[Simulated]:
        stack: Stack = self.measures
        truth = self._pool.truth(stack)
        if not np.isfinite(truth).any():
            raise _no_value(self.request.measures[0], stack.measures[0].undefined_when)
        return [self._number(stack.measures[m], part, truth[q]) for q, (m, part) in enumerate(stack.parts)]

    def _number(self, measure: OutcomeMeasure, part: int, truth: Floats) -> Simulated:
        point = measure.points[part] if measure.points else None
        return Simulated(
            measure=point.measure if point else measure.name, at=point.at if point else None,
            system=self._name(measure.system), versus=self._name(measure.versus),
            of_class=measure.parts[part], truth=float(truth), range_of=measure.range_of,
            question=measure.question,
        )

    def _name(self, system: int | None) -> str | None:
        names = self._pool.contenders or self.request.systems
        return names[system] if system is not None and names else None

    def find_method(self, name: str) -> Method:
        if isinstance(self._pool.kind, SeveralQuestions):
            return method_for(method_of_questions(name), self._pool.kind)
        return method_for(self._meaning(name) if name == AUTO else name, self._pool.kind)

    def _meaning(self, name: str) -> str:
        """What `auto` means for this pool and the largest budget."""
        request, pool, stack = self.request, self._pool, self._stack()
        counts = np.bincount(
            pool.items.prediction[:, 0].astype(np.int64), minlength=pool.kind.width
        ) if pool.items.systems and pool.kind.name == "classes" else np.zeros(0, np.int64)
        aim = aim_of_rows(
            stack, pool.items.at(slice(0, 0)), counts.tolist(), None, request.confidence,
            max(request.budgets, default=None),
        )
        return name if aim is None else choose(aim).method

    def named(self, name: str) -> str:
        return self.find_method(name).written

    def _stack(self) -> Stack:
        """Where the best of several systems is asked for, the differences of every two of them drive."""
        pool, measures, margin = self._pool, tuple(self._measures()), self.request.best_of
        contenders = len(pool.contenders)
        if margin is None:
            return Stack(kind=pool.kind, measures=measures, weights=self._weights, contenders=contenders)
        systems = [m for m in measures if m.versus is None and m.name == measures[0].name]
        if len(systems) < 2:
            raise BadArgument("best_of", "needs several systems: name each with its column of predictions, "
                                         "or the column of the systems whose rows they are")
        every = side_by_side([systems], all_pairs=True)
        try:
            pairs_of(every)
        except BadInput as error:
            raise BadArgument("best_of", str(error)) from None
        other_measures = tuple(m for m in measures if m.name != measures[0].name)
        race = Race(margin=margin, confidence=self.request.confidence, looks=len(self.request.budgets))
        return Stack(
            kind=pool.kind, measures=(*every, *other_measures), weights=self._weights, race=race,
            drive=(*leading(every), *[False] * len(other_measures)), contenders=contenders,
        )

    def winner_is_wrong(self, winner: Ints) -> Bools:
        stack: Stack = self.measures
        pairs, truth = pairs_of(stack.measures), self._pool.truth(stack)
        value = pairs.sign * truth[pairs.values]
        return np.asarray(value[winner] < value.max() - (self.request.best_of or 0.0) - 1e-12)

    @property
    def systems(self) -> Sequence[str]:
        return self._pool.contenders or self.request.systems

    def _measures(self) -> Iterator[OutcomeMeasure]:
        kind, items = self._pool.kind, self._pool.items
        choices = [named_measure(written) for written in self.request.measures]
        made = grids(kind, items) if any(needs_grid(kind, name) for name, _ in choices) else {}

        def measure_of(name: str, options: dict[str, Setting], system: int) -> OutcomeMeasure:
            return outcome_measure(
                name, kind, len(items), system=system, options=options, grids=made, weights=self._weights
            )

        for name, options in choices:
            base = measure_of(name, options, 0)
            if self._pool.contenders:
                yield from of_contenders(base, len(self._pool.contenders))
                continue
            yield base
            for s in range(1, items.systems if base.system is not None else 1):
                rival = measure_of(name, options, s)
                yield rival
                yield difference(rival, base)


def of_contenders(measure: OutcomeMeasure, systems: int) -> Iterator[OutcomeMeasure]:
    """The measure of each system's rows, and the difference of each from the first."""
    base = of_contender(measure, 0)
    yield base
    for s in range(1, systems):
        rival = of_contender(measure, s)
        yield rival
        yield difference(rival, base)


def _stack_of_questions(kind: SeveralQuestions, request: ReplayRequest, items: Items) -> Stack:
    """The measures, each written behind its question: coherence:mean."""
    weights = pool_weights(OneShard(items))
    by_question: dict[str, tuple[OutcomeMeasure, ...]] = {}
    for written in request.measures:
        question, colon, measure = written.partition(":")
        if not colon:
            raise BadArgument("measures", f"{written!r} does not say which question it is of: "
                                          f"{kind.names[0]}:{written}")
        name, options = named_measure(measure)
        made = outcome_measure(
            name, kind.question(question).kind, len(items), options=options, weights=weights
        )
        by_question[question] = (*by_question.get(question, ()), made)
    return stack_of_questions(kind, by_question, request.drive or None, weights)


def _no_value(what: str, undefined_when: str) -> BadInput:
    return BadInput(f"{what} has no value on this pool: {undefined_when}; nothing can be compared with it")


def asks_for_curves(measures: Sequence[str]) -> bool:
    """Whether a measure, as it is written, is made of scores or probabilities of the items, as curves are.
    The pool must then have a score or a probability."""
    return any(of_single_items(written.partition("(")[0]) for written in measures)
