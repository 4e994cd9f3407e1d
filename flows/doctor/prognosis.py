"""What a pool would cost, in labels by the method and by random sampling; and which methods suit it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.evalcore.errors import AssayError, BadInput
from assay.evalcore.estimators.random_sampling import chance_undefined, random_sampling_equivalent
from assay.evalcore.evaluation.state import Question, begin
from assay.evalcore.forecast.goals import Forecast, Goal
from assay.evalcore.forecast.labels_needed import forecast
from assay.evalcore.forecast.worlds import plausible_worlds
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.choice import Choice
from assay.evalcore.methods.registry import METHODS, auto, is_auto, method
from assay.evalcore.pool.partition import Partition, build_partition
from assay.evalcore.randomness import stream
from assay.evalcore.types import Floats
from assay.flows.report.forecasting import forecast_json, in_words
from assay.tasks.doctor.numbers import Numbers
from assay.tasks.report.price import two_figures

HORIZON = 1_500         # labels, where no budget is given
_TRIED = 100_000        # items on which methods are tried: enough to see one refuse


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prognosis:
    """Labels to come, and the methods."""

    method: Choice
    measure: str
    forecasts: list[Forecast]
    random: list[int | None]            # for each forecast's half-width
    undefined_at_100: float             # chance that 100 random labels hold no value of the measure
    methods: list[dict[str, str]]       # name, verdict (chosen | possible | not advised | refused), why

    @property
    def random_does_as_well(self) -> bool:
        """Whether random sampling reaches every half-width with no more labels; rarely so on a rare class."""
        pairs = list(zip(self.forecasts, self.random, strict=True))
        return bool(pairs) and self.method.method != "passive" and all(
            n is not None and n <= (f.horizon if f.labels is None else f.labels) for f, n in pairs
        )

    def to_json(self) -> dict[str, Any]:
        """The keys it adds to an examination."""
        return {
            "method": {"name": self.method.method, "reason": self.method.reason},
            "forecast": [
                {"measure": self.measure, **(forecast_json(f) or {}), "random_labels": n}
                for f, n in zip(self.forecasts, self.random, strict=True)
            ],
            "random_sampling_undefined_at_100_labels": round(self.undefined_at_100, 4),
            "methods": self.methods,
        }

    def lines(self, budget: int | None = None) -> list[str]:
        """For a terminal."""
        told = [f"method {self.method.method}: {self.method.reason}"]
        for f, n in zip(self.forecasts, self.random, strict=True):
            simple = "" if n is None else f"; random sampling about {two_figures(n):,}"
            told.append(f"{self.measure} {in_words(f, budget)}{simple}")
        if self.random_does_as_well:
            told.append(
                "random sampling is forecast to need no more labels than this method here: consider "
                "`method: passive`"
            )
        if self.undefined_at_100 > 0.05:
            told.append(
                f"100 labels of a random sample would hold no value of {self.measure} in "
                f"{self.undefined_at_100:.0%} of samples"
            )
        return told


def prognosis(
    numbers: Numbers,
    name: str,
    targets: Sequence[float],
    *,
    supplied: bool,
    measures: Sequence[Measure] = (),
    confidence: float = 0.95,
    budget: int | None = None,
    batch_size: int = 25,
) -> Prognosis:
    """What half-widths `targets` of the first measure (F1 unless said) will take.

    name: of the method, as in a spec; supplied: whether the probabilities are the file's own; budget: labels
    up to which is looked, HORIZON unless said.
    """
    asked = tuple(measures) or (_first_measure(numbers),)
    chosen = auto(name) if is_auto(name) else Choice(method=name, reason="the spec asks for it")
    how = method(chosen.method)
    partition, _ = build_partition(how, numbers.score, numbers.probability, numbers.prediction)
    question = Question(
        method=how, cells=partition.cells, measures=asked, confidence=confidence, seed=0, evaluation="doctor"
    )
    state = begin(question)
    goals = [Goal(half_width=target) for target in targets]
    found = forecast(question, state, goals, budget or HORIZON, batch_size=batch_size) if goals else []
    tables = _tables(numbers, partition)
    return Prognosis(
        method=chosen,
        measure=asked[0].name,
        forecasts=found,
        random=[_random(asked[0], tables, target, confidence) for target in targets],
        undefined_at_100=_undefined(asked[0], tables),
        methods=_methods(numbers, asked, chosen.method, supplied),
    )


def _first_measure(numbers: Numbers) -> Measure:
    """F1, unless nothing is predicted positive: then recall's companion, accuracy, is all there is."""
    return measure("f1" if numbers.prediction.any() else "accuracy")


def _tables(numbers: Numbers, partition: Partition) -> list[Floats]:
    """Confusion tables (2, 2): the one of the labels, where they are known, or those of plausible worlds."""
    pool = numbers.labelled()
    if pool is not None:
        return [pool.confusion()]
    cells = partition.cells
    nothing = np.zeros((cells.n_cells, 2), np.int64)
    worlds = plausible_worlds(cells, nothing, cells.size, 15, stream(0, "doctor", 0, "worlds"))
    return [
        np.stack([world[cells.prediction == f].sum(axis=0) for f in (0, 1)]).astype(np.float64)
        for world in worlds
    ]


def _random(chosen: Measure, tables: list[Floats], half_width: float, confidence: float) -> int | None:
    """The median over the tables; None where the measure does not exist in most of them."""
    needed = []
    for table in tables:
        try:
            found = random_sampling_equivalent(
                chosen, table, int(table.sum()), 1, confidence, half_width
            ).labels_needed
        except BadInput:
            continue
        needed.append(found or 0)
    return int(np.median(needed)) if len(needed) > len(tables) / 2 else None


def _undefined(chosen: Measure, tables: list[Floats]) -> float:
    sizes = [int(table.sum()) for table in tables]
    chances = [
        chance_undefined(chosen, table / n, n, min(100, n)) for table, n in zip(tables, sizes, strict=True)
    ]
    return float(np.median(chances))


def _methods(
    numbers: Numbers, asked: Sequence[Measure], chosen: str, supplied: bool
) -> list[dict[str, str]]:
    """Every method, tried on a part of the pool, and what there is to say for or against it."""
    step = max(1, -(-len(numbers.score) // _TRIED))
    part = (numbers.score[::step], numbers.probability[::step], numbers.prediction[::step])
    rare = numbers.prediction.mean() < 0.02
    result = []
    for name, how in METHODS.items():
        verdict, why = "possible", ""
        try:
            partition, _ = build_partition(how, *part)
            how.start(partition.cells, asked, 1)
        except AssayError as error:
            verdict, why = "refused", str(error)
        against = _against(how.capabilities, supplied=supplied, rare=rare)
        if verdict == "possible" and against:
            verdict, why = "not advised", against
        if name == chosen.partition(":")[0]:
            verdict, why = "chosen", ""
        result.append({"name": name, "verdict": verdict, "why": why})
    return result


def _against(able: Capabilities, *, supplied: bool, rare: bool) -> str | None:
    """What there is to say against a method here; None if nothing."""
    if able.trusts_probabilities and not supplied:
        return "takes probabilities at their word, and expit(score) is none"
    if able.top_of_ranking:
        return "searches the top of the ranking and misses positives below its cut"
    if able.spreads_evenly and rare:
        return "would label hardly a positive: the class looks rare"
    return None
