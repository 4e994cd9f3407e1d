"""Several questions about one item: one reading for all of them against one for each.

`python -m benchmarks.several_questions` writes docs/measured/several-questions.md (some minutes).  On the
summeval pool three criteria are asked at once, and each alone by the method that a spec takes for it; RUNS
evaluations of each.  Readings to ±0.05 are those at which half the mean width of the interval has come down
to a twentieth of the measure's range.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack, StackOfQuestions, stack_of_questions
from assay.evalcore.methods.registry import method_of_questions, outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.questions import OneQuestion, SeveralQuestions
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import BudgetSummary, simulate, summarise
from assay.evalcore.types import Floats
from benchmarks.outcomes import pool_path

OUT = Path(__file__).parent.parent / "docs" / "measured" / "several-questions.md"
RUNS = 200
BUDGETS = (50, 75, 100, 125, 150, 200, 250, 300)
HALF_WIDTH = 0.05
JUDGES = ("gpt-4_rts", "gpt-3.5-turbo_rts", "gpt-3.5-turbo_mcq")
GRADES = Classes(tuple("12345"), values=(1, 2, 3, 4, 5))
YES = Classes(("no", "yes"), positive="yes")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Three criteria at once."""

    says: str
    pool: OutcomePool
    measures: tuple[str, ...]     # of each

    @property
    def kind(self) -> SeveralQuestions:
        """What is asked."""
        kind = self.pool.kind
        if not isinstance(kind, SeveralQuestions):
            raise TypeError("one question")
        return kind

    @property
    def measured(self) -> list[OutcomeMeasure]:
        """The measure of each."""
        return [
            outcome_measure(name, one.kind, len(self.pool.items))
            for name, one in zip(self.measures, self.kind.each, strict=True)
        ]

    @property
    def stack(self) -> StackOfQuestions:
        """Of all."""
        return stack_of_questions(self.kind, {
            one.name: (measure,) for one, measure in zip(self.kind.each, self.measured, strict=True)
        })

    def alone(self, number: int) -> tuple[OutcomePool, Stack]:
        """One of them."""
        codes = self.kind.packing.unpack(self.pool.codes)[:, number]
        one = self.kind.each[number].kind
        items = self.kind.view(number, self.pool.items)
        return OutcomePool(kind=one, items=items, codes=codes), self.stack.each[number]


def asked_of_summeval() -> list[Asked]:
    """Means of three experts with a verdict; and the grades of single experts."""
    table = pq.read_table(pool_path("summeval"))

    def column(name: str) -> Floats:
        return np.array(table[name]).astype(np.float64)

    def judged(what: str) -> Floats:
        return np.stack([column(f"judge_{what}_{judge}") for judge in JUDGES], axis=1)

    coherence, consistency = judged("coherence"), judged("consistency")
    faithful = (column("human_consistency") == 5).astype(np.float64)
    said = (column(f"judge_consistency_{JUDGES[0]}") >= 4.5).astype(np.float64)
    means = SeveralQuestions((
        OneQuestion("coherence", Numbers(1, 5), judges=3),
        OneQuestion("consistency", Numbers(1, 5), judges=3),
        OneQuestion("faithful", YES, predicts=True),
    ))
    grades = SeveralQuestions((
        OneQuestion("coherence", GRADES, judges=3), OneQuestion("consistency", GRADES, judges=3),
        OneQuestion("another expert's coherence", GRADES, judges=3),
    ))
    return [
        Asked(
            says="means of three experts, and whether all found no fault",
            measures=("mean", "mean", "accuracy"),
            pool=OutcomePool(
                kind=means, items=Items(prediction=said[:, None],
                                        judge=np.concatenate([coherence, consistency], axis=1)),
                codes=means.packing.pack(np.stack(
                    [column("human_coherence"), column("human_consistency"), faithful], axis=1
                )),
            ),
        ),
        Asked(
            says="grades of single experts", measures=("mean", "mean", "mean"),
            pool=OutcomePool(
                kind=grades, items=Items(
                    prediction=np.zeros((len(said), 0)),
                    judge=np.concatenate([coherence, consistency, coherence], axis=1) - 1,
                ),
                codes=grades.packing.pack(np.stack([
                    column("human_coherence_1"), column("human_consistency_1"), column("human_coherence_3")
                ], axis=1) - 1),
            ),
        ),
    ]


def readings_to(summaries: list[BudgetSummary], half_width: float) -> float:
    """The readings at which half the mean width is this; infinite beyond the largest budget."""
    half = np.array([one.width / 2 for one in summaries])
    if half[-1] > half_width:
        return float("inf")
    labels = np.log([one.labels for one in summaries])
    return float(np.exp(np.interp(-np.log(half_width), -np.log(half), labels)))


def _simulated(method: str, pool: OutcomePool, stack: Stack) -> list[list[BudgetSummary]]:
    truth = pool.truth(stack)
    traces = simulate(outcome_method(method), pool, stack, BUDGETS, repeats=RUNS)
    return [summarise(trace, truth[q], BUDGETS) for q, trace in enumerate(traces)]


def table() -> str:
    """The page."""
    lines = [
        "# Several questions about one item", "",
        f"Made by `python -m benchmarks.several_questions`: {RUNS} replays of each on summeval (1,200",
        f"summaries; judges: {', '.join(JUDGES)}). Readings to ±{HALF_WIDTH} of each measure's range,",
        "interpolated; coverage is the least over the budgets from 100 on (nominal 0.95).", "",
    ]
    for asked in asked_of_summeval():
        together = {
            name: _simulated(method_of_questions(name), asked.pool, asked.stack)
            for name in ("auto", "passive")
        }
        alone = [
            _simulated("recalibrated", *asked.alone(number))[0] for number in range(len(asked.measures))
        ]
        lines += [
            f"## {asked.says[0].upper()}{asked.says[1:]}", "",
            "| question | measure | alone | together | an even sample | coverage alone | together |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        found: dict[str, list[float]] = {"alone": [], "auto": [], "passive": []}
        for number, (one, measure) in enumerate(zip(asked.kind.each, asked.measured, strict=True)):
            low, high = measure.bounds
            wanted = HALF_WIDTH * (high - low)
            rows = {"alone": alone[number], **{name: some[number] for name, some in together.items()}}
            for name, summaries in rows.items():
                found[name].append(readings_to(summaries, wanted))
            covered = [
                min(s.coverage for s in rows[name] if s.labels >= 100) for name in ("alone", "auto")
            ]
            lines.append(
                f"| {one.name} | {measure.name} | " + " | ".join(f"{found[name][-1]:.0f}" for name in found)
                + f" | {covered[0]:.3f} | {covered[1]:.3f} |"
            )
        hardest, joint = max(found["alone"]), max(found["auto"])
        lines += [
            "", f"All three: {joint:.0f} readings together, {joint / hardest:.2f} times those of the hardest "
            f"alone ({hardest:.0f}); one question at a time {sum(found['alone']):.0f}.", "",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    OUT.write_text(table(), encoding="utf-8")
