"""Several questions about one item: one reading for all of them against one for each.

`python -m benchmarks.several_questions` writes docs/measured/several-questions.md (some minutes).  On the
summeval pool three criteria are asked at once, and each alone by the method that a spec takes for it; RUNS
evaluations of each.  Readings to ±0.05 are those at which half the mean width of the interval has come down
to a twentieth of the measure's range.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.questions import each_question
from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label, observe, plan
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack, StackOfQuestions, stack_of_questions
from assay.evalcore.methods.registry import method_of_questions, outcome_method, with_single_draws
from assay.evalcore.monitoring.evidence import WindowSample, watched_by
from assay.evalcore.monitoring.verdicts import HORIZON_WINDOWS, Promise
from assay.evalcore.outcomes.base import UNANSWERED
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.questions import OneQuestion, SeveralQuestions
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import BudgetSummary, ReplayPlan, simulate, summarise
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.monitoring import ERROR_RATE, STREAMS, first_alarm
from benchmarks.outcomes import pool_path
from benchmarks.pages import write_page

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


# As a monitor reads them: items drawn one after the other, the floor exactly at the true value.

WINDOWS, ROUNDS, BATCH = 400, 4, 25


def watched(asked: Asked, method: str, skipped: float) -> Iterator[list[tuple[WindowSample, Floats]]]:
    """For each window, of every question its sample, and value, lower and upper of its estimate.

    skipped: the share of readings that leave the last question out, whatever its answer is
    """
    pool, kind = asked.pool, asked.kind
    found = outcome_method(with_single_draws(method_of_questions(method), kind))
    cut = found.cut(asked.stack, pool.items)
    order = np.argsort(cut.cell, kind="stable")
    start = np.cumsum([0, *cut.cells.size])
    for w in range(WINDOWS):
        answers = kind.packing.unpack(pool.codes)
        answers[stream(w, "skipped").random(len(answers)) < skipped, -1] = UNANSWERED
        codes = kind.packing.pack(answers)
        question = Question(
            method=found, measures=asked.stack, cells=cut.cells, confidence=0.95, seed=w,
            evaluation="watched",
        )
        state, rounds = before_any_label(question), []
        for _ in range(ROUNDS):
            planned = plan(question, state, BATCH)
            at = order[start[planned.cell] + planned.rank]
            rounds.append(LabelledRound(
                before=state.inner, plan=planned, code=codes[at], items=pool.items.at(at), segment={},
                new=planned.ask,
            ))
            state = observe(question, state, planned, codes[at], pool.items.at(at))
        rows = estimates(question, state)
        yield [
            (WindowSample(
                measured_by=watched_by(one.question), confidence=0.95, estimates=[], segments={},
                rounds=one.rounds(rounds),
            ), np.array([row.value, row.lower, row.upper], np.float64))
            for one, row in zip(each_question(question, before_any_label(question)), rows, strict=True)
        ]


def table_of_windows(asked: Asked) -> list[str]:
    """Of each question how its bets do at the true value, and how often its interval holds it."""
    lines = [
        "| draws | last question left out | question | mean wealth of the smallest bets | false breach in "
        "200 windows | interval covers |", "| --- | --- | --- | --- | --- | --- |",
    ]
    truth = asked.pool.truth(asked.stack)
    for method, skipped in (("auto", 0.0), ("auto", 0.2), ("passive", 0.0)):
        logs: list[list[Floats]] = [[] for _ in truth]
        covered = np.zeros(len(truth))
        for window in watched(asked, method, skipped):
            for q, (sample, (_, lower, upper)) in enumerate(window):
                logs[q].append(sample.from_draws(np.array([truth[q]]), "below", None)[0])
                covered[q] += lower <= truth[q] <= upper
        for q, one in enumerate(asked.kind.each):
            told = np.stack(logs[q])
            wealth = np.exp(told[:, 0])
            rng = stream(5, f"several questions/{method}/{q}")
            alarms = first_alarm(
                Promise(error_rate=ERROR_RATE, test="e-detector", horizon=HORIZON_WINDOWS),
                told[rng.integers(WINDOWS, size=(STREAMS, HORIZON_WINDOWS))],
            )
            lines.append(
                f"| {method} | {skipped:.0%} | {one.name} | {wealth.mean():.3f} ± "
                f"{wealth.std() / np.sqrt(WINDOWS):.3f} | {(alarms <= HORIZON_WINDOWS).mean():.3f} | "
                f"{covered[q] / WINDOWS:.3f} |"
            )
    return lines


def _simulated(method: str, pool: OutcomePool, stack: Stack) -> list[list[BudgetSummary]]:
    truth = pool.truth(stack)
    traces = simulate(outcome_method(method), pool, stack, ReplayPlan(budgets=BUDGETS), repeats=RUNS)
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
    lines += [
        "## In a monitor", "",
        f"Windows of both pools, {ROUNDS * BATCH} readings each, drawn one after the other; {WINDOWS} of",
        f"them, put together into {STREAMS:,} streams of {HORIZON_WINDOWS} windows. The floor of each "
        "question lies",
        f"exactly at its true value, with all of an error rate of {ERROR_RATE:g}: in a monitor questions",
        "share it. Wealth is 1 or less on average where bets are fair.", "",
        *(line for asked in asked_of_summeval() for line in [*table_of_windows(asked), ""]),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    write_page(OUT, table())
