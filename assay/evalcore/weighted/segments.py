"""The measures of an evaluation in each of its segments, from the labels of the segment and their weights.

Within a cell the items asked are a random part of it, whatever segment they are in.  So what a labelled item
stands for in the pool it stands for in its segment, and the estimates are those of `weighted.estimate`: of
the segment's labels alone, with no label model, which may be wrong in a segment.

*Where systems are compared* every difference is estimated by segment too.  Whether one is better is judged by
intervals that hold together (Bonferroni, as for the whole pool: `evaluation.estimates`): a family is all
differences of one measure in all segments of one column.  So if no system differs from another in any of
them, the chance that any is called better somewhere is at most 1 less the confidence.

    S   values of one segment column;  Q   the numbers of a family
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators.importance import WeightSums, estimate_of_draws
from assay.evalcore.estimators.intervals import KIND, TOO_FEW, interval_of
from assay.evalcore.estimators.linearised import interval_ends
from assay.evalcore.evaluation.estimate import MeasureEstimate, why_undefined
from assay.evalcore.evaluation.estimates import EstimatedDifference, chance_above, comparison_of
from assay.evalcore.evaluation.nonresponse import adjusted, response
from assay.evalcore.evaluation.population import IntervalsAbout, about_of, rows_about
from assay.evalcore.evaluation.questions import asks_several, each_question
from assay.evalcore.evaluation.state import Chances, LabelledRound, Question, Segments, State, chances_of
from assay.evalcore.measures import two_classes
from assay.evalcore.measures.by_group import of_predictions
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.two_classes import Measure, by_prediction
from assay.evalcore.methods.two_classes.base import is_exact
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED, is_outcome
from assay.evalcore.outcomes.items import joined_items
from assay.evalcore.pool.strata import Cells
from assay.evalcore.recalibration.sequential import RoundSums
from assay.evalcore.types import Bools, Floats, Ints
from assay.evalcore.weighted.estimate import Labelled, Linearised, row_as_told, weighted_rows
from assay.evalcore.weighted.pooled_segments import (
    PredictedSegments,
    SegmentColumn,
    predicted_of_counts,
    predicted_of_guesses,
    with_pooled,
)
from assay.evalcore.weighted.sample import WeightedSample, weighted_sample

_LEAST_LEVEL = 1e-6   # a confidence, below which Student's quantile is nothing but rounding
MOST_NUMBERS = 50   # of a measure that is estimated by segment: no confusion matrix of eight classes
MOST_POOLED = 12    # of one whose segments share what they know: each number takes a tenth of a second


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Number:
    """One number of a measure in one segment."""

    measure: OutcomeMeasure
    part: int
    fit: Linearised
    row: MeasureEstimate

    @property
    def variance(self) -> float:
        """With what the sampling of the pool adds, where the interval is about the population. (S,) for S
        segments."""
        sample_variance, pulls = float(self.fit.variance[self.part]), self.fit.pulls
        if self.row.about == "pool" or self.fit.clusters is not None or pulls is None:
            return sample_variance
        return sample_variance + float(pulls().variance[self.part])


def estimates_by_segment(
    question: Question, state: State, rounds: Sequence[LabelledRound], segments: Segments
) -> tuple[MeasureEstimate, ...]:
    """By column, then measure, then value, then the measure's classes; rounds: all that were closed.

    A positive and a negative class have estimates of their own (`segment_rows`).  Nothing
    before the first label of other outcomes.
    """
    if not segments:
        return ()
    if question.stack is None:
        segment_estimates = segment_rows(question, state, rounds, segments)
        return rows_about(question, state, rounds, segments, segment_estimates)
    if asks_several(question):
        return tuple(
            replace(row, question=labelled_round.name)
            for labelled_round in each_question(question, state)
            for row in estimates_by_segment(
                labelled_round.question, labelled_round.state, labelled_round.rounds(rounds), segments
            )
        )
    if not state.labels:
        return ()
    sample = weighted_sample(question, state, rounds)
    with_label = [(labelled_round, is_outcome(labelled_round.code)) for labelled_round in rounds]
    items = joined_items([labelled_round.items.at(at) for labelled_round, at in with_label])
    if about_of(question, state) == "pool":
        items = replace(items, cluster=None)
    rows: list[MeasureEstimate] = []
    for column, values in segments.items():
        place = np.concatenate([labelled_round.segment[column][at] for labelled_round, at in with_label])
        parts = {
            f"{column}={value}": Labelled(items=items, among=place == i) for i, value in enumerate(values)
        }
        rows += _of_column(question, state, sample, parts, predicted_of_guesses(question, column, values))
    return tuple(rows)


def _of_column(
    question: Question, state: State, sample: WeightedSample, parts: Mapping[str, Labelled],
    segments: PredictedSegments,
) -> list[MeasureEstimate]:
    """Of the segments of one column, by name."""
    short_measures = [measure for measure in question.measures.measures if len(measure.parts) <= MOST_NUMBERS]
    subject = IntervalsAbout(about=about_of(question, state), beside=question.beside)
    numbers = [
        _Number(measure=measure, part=part, fit=fit, row=row_as_told(
            _named(question, measure, part, name, row), fit, part, measure, subject
        ))
        for measure in short_measures
        for name, of in parts.items()
        for part, (row, fit) in enumerate(
            weighted_rows(question.measures.kind, measure, sample, of, question.confidence)
        )
    ]
    families: dict[tuple[str, tuple[str | None, ...]], list[int]] = {}
    for q, number in enumerate(numbers):
        if number.measure.versus is not None:
            families.setdefault((number.measure.name, number.measure.parts), []).append(q)
    rows = [number.row for number in numbers]
    for family in families.values():
        for q, difference in zip(
            family, _differences([numbers[q] for q in family], question.confidence), strict=True
        ):
            comparison = comparison_of(difference, len(family), state.labels, question.cells.n_items)
            rows[q] = replace(rows[q], comparison=comparison)
    worth = np.array([_worth(sample.weight[of.among]) for of in parts.values()])
    n_segments, at = len(parts), 0
    unseen = np.maximum(1 - np.minimum(worth / np.maximum(segments.items, 1.0), 1.0), 1e-6)
    for measure in short_measures:
        pooled_parts = len(measure.parts) if len(measure.parts) <= MOST_POOLED else 0
        predicted = segments.predicted_values(measure)
        for part in range(pooled_parts):
            places = [at + s * len(measure.parts) + part for s in range(n_segments)]
            fits = [numbers[q].fit for q in places]
            pooled = with_pooled(SegmentColumn(
                rows=[rows[q] for q in places], value=np.array([fit.value[part] for fit in fits]),
                variance=np.array([
                    # `DirectEstimates` takes that of the labels alone, and divides by what is unseen
                    numbers[q].variance * (left if rows[q].about == "population" else 1.0)
                    for q, left in zip(places, unseen.tolist(), strict=True)
                ]), labels=worth, items=segments.items,
                predicted=predicted[:, part], bounds=measure.bounds, is_error=measure.is_error,
                population=any(rows[q].about == "population" for q in places),
            ), question.confidence)
            for q, row in zip(places, pooled, strict=True):
                rows[q] = row
        at += n_segments * len(measure.parts)
    return rows


def _worth(weight: Floats) -> float:
    """(Σ w)² / Σ w²: what labels of these weights are worth in a random sample (Kish 1965); 0 of none."""
    return float(weight.sum() ** 2 / (weight @ weight)) if len(weight) else 0.0


def _named(
    question: Question, measure: OutcomeMeasure, part: int, segment: str, row: MeasureEstimate
) -> MeasureEstimate:
    """The row with the segment, the systems and the threshold that it is of."""
    if measure.points:
        point = measure.points[part]
        row = replace(row, measure=point.measure, at=point.at, curve=measure.name)

    def name(system: int | None) -> str | None:
        return None if system is None or not question.systems else question.systems[system]

    return replace(row, segment=segment, system=name(measure.system), versus=name(measure.versus))


def _differences(family: Sequence[_Number], confidence: float) -> list[EstimatedDifference]:
    """The differences of a family, with intervals that hold together; NaN of those that have no value."""
    estimated = [number for number in family if number.row.value is not None]
    value = np.array([[number.row.value for number in estimated]], np.float64)
    settled = np.array([[number.row.interval == "exact" for number in estimated]])
    variance = np.array([[number.variance for number in estimated]])
    df, skew = (
        np.array([[getattr(number.fit, name)[number.part] for number in estimated]])
        for name in ("steady_df", "skew")
    )
    bounds = np.array([number.measure.bounds for number in estimated], np.float64).reshape(-1, 2)

    def interval(level: Floats) -> tuple[Floats, Floats]:
        lower, upper = interval_ends(
            value, np.maximum(variance, 1e-30), df, skew, np.maximum(level, _LEAST_LEVEL),
            (bounds[:, 0], bounds[:, 1]),
        )
        return np.where(settled, value, lower), np.where(settled, value, upper)

    lower, upper = interval(np.full(value.shape, 1 - (1 - confidence) / len(family)))
    above = chance_above(value, interval)
    differences = iter(
        EstimatedDifference(measure=number.measure, value=x, lower=low, upper=high, chance_above=chance)
        for number, x, low, high, chance in zip(
            estimated, *(of[0].tolist() for of in (value, lower, upper, above)), strict=True
        )
    )
    return [
        EstimatedDifference(measure=number.measure) if number.row.value is None else next(differences)
        for number in family
    ]



@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentDraws:
    """The T labelled draws of an evaluation, one row each: segment, prediction, label and weight, with each
    segment's share of the pool.

    Segments of two classes, whose labels are counted by cell (`segment_rows`): the arithmetic of weighted
    draws (`segment_estimates`), and that of designs without replacement whose items had different chances
    (`difference_estimates`).

    T   draws of all rounds;  S values of one segment column

    A segment is a domain in the sense of survey sampling (Cochran 1977, on subpopulations): its items came
    into the sample with the chances the whole design gave them.  n draws weigh w = 1 / (N q); of a segment
    with N_s items

        R̂_s = (N / N_s) Σ w ℓ / n,   the sum over its own draws, draws elsewhere counting 0

    N_s is known, so it is not estimated by Σ w: a proposal may never repeat a labelled item whose loss is 0,
    and then Σ w falls short of N_s.  Where every item had the same chance, the segment's labels are a simple
    random sample of it, and their plain mean is used instead.  Nothing here steers sampling: a small segment
    may have few draws, and then its interval says so.

        S   segments;  T draws of all closed rounds, undecided ones left out
    """

    segment: Ints        # (T,) index of the item's segment, 0 .. S-1
    prediction: Ints     # (T,) 0 or 1
    label: Ints          # (T,) 0 or 1
    weight: Floats | None  # (T,) 1 / (N q); None where every item had the same chance
    first: Bools         # (T,) the draw on which the item was asked
    census: Bools        # (T,) drawn because everything left was asked
    share: Floats        # (S,) N_s / N, the part of the pool each segment is
    made: int            # n: draws of all rounds but a census, undecided ones included


def segment_estimates(
    measures: Sequence[Measure],
    draws: SegmentDraws,
    confidence: float,
    exact: Sequence[bool],
) -> list[EstimateArrays]:
    """The estimate of each measure in each segment, as arrays (S,).

    exact: for each measure, whether every label that can change it is known; then the segments' values are
    exact too.  A segment without a draw has no value (NaN).  The draws of a census carry no weight: until
    the census is complete they are no sample.
    """
    n_segments, sampled = len(draws.share), ~draws.census
    at = (draws.segment[sampled], draws.prediction[sampled], draws.label[sampled])
    alike = draws.weight is None
    w = np.ones(len(at[0])) if draws.weight is None else draws.weight[sampled] / draws.share[at[0]]
    weight, squared = np.zeros((n_segments, 2, 2)), np.zeros((n_segments, 2, 2))
    np.add.at(weight, at, w)
    np.add.at(squared, at, w**2)
    count = np.bincount(at[0], minlength=n_segments)
    made = count if alike else np.full(n_segments, draws.made)
    sums = WeightSums(
        weight=weight,
        squared=squared,
        crossed=weight,
        say=made.astype(np.float64),
        say_squared=made.astype(np.float64),
        draws=count,
    )
    label_counts = np.zeros((n_segments, 2, 2))
    np.add.at(
        label_counts, (draws.segment[draws.first], draws.prediction[draws.first], draws.label[draws.first]), 1
    )
    return [
        _exactly(m, label_counts)
        if settled
        else estimate_of_draws(m, sums, confidence, self_normalised=alike)
        for m, settled in zip(measures, exact, strict=True)
    ]


def _exactly(measure: Measure, label_counts: Floats) -> EstimateArrays:
    value = measure.of_confusion(label_counts)
    return EstimateArrays(
        value=value, lower=value, upper=value, variance=np.zeros(len(value)), diagnostics={}
    )


_NO_CHANCE = 1e-12     # of an item that could not be drawn: a round tells next to nothing of its cell
_LEAST_RATE = 1e-3     # the model may be wrong in a segment: no rate is believed to be nearer to 0 or 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentCounts:
    """What is known of the segments, and what the rounds so far add up to.

    Estimates by segment under designs without replacement whose items had different chances.

    Within a cell the items of a round are a simple random part of the unlabelled ones, whatever segment they
    are in; so for a segment with N_sc items in cell c, every item has the inclusion probability of its cell.
    The difference estimate of a round (`evalcore.recalibration.sequential`) then holds for the segment as it
    does for the pool: it is unbiased whatever the label model believes, also of a segment where the model is
    wrong.

        size of a segment in a cell, N_sc     known since the pool was frozen
        variance                              the larger of the scatter of its labels and the model's
                                              prediction
        interval                              of the effective number of labels (`evalcore.estimators`)
        too few labels for one                the whole range, and that is said

    Items that people could not decide are out of the segment, as they are out of the pool.

        S   values of one segment column, the rows of all arrays;  C   cells;  T   draws of a round
    """

    size: Ints        # (S, C) items
    labelled: Ints    # (S, C, 2) by label
    undecided: Ints   # (S, C)
    sums: RoundSums   # R = S, Q measures

    @property
    def left(self) -> Ints:
        """The number of items without a label by segment and cell, (S, C), without undecided ones. S counts
        segments and C cells."""
        return np.asarray(self.size - self.labelled.sum(axis=2) - self.undecided)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentEstimates:
    """The estimates of one measure in every segment, (S,) each, with the labels they rest on, and whether
    these are all that matter, or too few for an interval."""

    arrays: EstimateArrays
    labels: Ints      # items of the segment with a label
    variance: Floats  # of few labels too
    exact: Bools      # every label that can change the measure is known
    too_few: Bools    # labels for an interval: it is the whole range

    def interval(self, i: int) -> str:
        """The kind of interval of segment number i: "exact", the whole range where labels are too few, or
        that of weighted labels."""
        return "exact" if self.exact[i] else TOO_FEW if self.too_few[i] else KIND


def difference_estimates(
    measures: Sequence[Measure], cells: Cells, rounds: Sequence[LabelledRound], column: str, size: Ints,
    confidence: float,
) -> list[SegmentEstimates]:
    """Each measure in every value of a segment column; size (S, C): its items by value and cell.

    Raises NothingToStandFor for a round with gaps where a prediction was asked and gave no answer.
    """
    n_segments, n_cells = size.shape
    quantities = of_predictions(measures, cells.prediction.astype(np.float64))
    counts = SegmentCounts(
        size=size,
        labelled=np.zeros((n_segments, n_cells, 2), np.int64),
        undecided=np.zeros((n_segments, n_cells), np.int64),
        sums=RoundSums.none(n_segments, quantities),
    )
    answered: set[tuple[int, int]] = set()
    for labelled_round in rounds:
        counts = add_round(counts, measures, cells, labelled_round, column, answered)
    return [_difference_estimate(m, q, cells, counts, confidence) for q, m in enumerate(measures)]


def add_round(
    counts: SegmentCounts, measures: Sequence[Measure], cells: Cells, labelled_round: LabelledRound,
    column: str,
    answered_before: set[tuple[int, int]],
) -> SegmentCounts:
    """With one more round; answered_before: the addresses of items answered before it, to which its own are
    added. The sums themselves are changed, as rounds come in order."""
    plan = labelled_round.plan
    address = list(zip(plan.cell.tolist(), plan.rank.tolist(), strict=True))
    fresh = np.array([item not in answered_before for item in address], np.bool_)
    answered_now = plan.ask & fresh & (labelled_round.code != UNANSWERED)
    answered_before.update(
        item for item, answered in zip(address, answered_now.tolist(), strict=True) if answered
    )
    decided, undecided = (
        answered_now & is_outcome(labelled_round.code),
        answered_now & (labelled_round.code == UNDECIDED),
    )
    new, gone = np.zeros_like(counts.labelled), np.zeros_like(counts.undecided)
    segment = labelled_round.segment[column]
    np.add.at(new, (segment[decided], plan.cell[decided], labelled_round.label[decided]), 1)
    np.add.at(gone, (segment[undecided], plan.cell[undecided]), 1)
    sums = counts.sums.add(
        of_predictions(measures, cells.prediction.astype(np.float64)), counts.labelled,
        _design_of(counts, cells, labelled_round),
        RoundLabels(new=new, drawn_new=new, drawn_known=np.zeros_like(new)),
        gone,
    )
    return replace(
        counts, labelled=counts.labelled + new, undecided=counts.undecided + gone, sums=sums
    )


def _design_of(counts: SegmentCounts, cells: Cells, labelled_round: LabelledRound) -> CountedDesign:
    """The design of a round in every segment: its own items, the chances and rates of their cells."""
    plan, shape = labelled_round.plan, counts.size.shape
    design: CountedDesign = plan.design
    if labelled_round.gaps:
        round_response = response(cells, plan.cell[plan.ask], labelled_round.code[plan.ask] != UNANSWERED)
        # a census with gaps is a sample again
        design = adjusted(
            design, cells, round_response, np.isin(np.arange(cells.n_cells), plan.cell[plan.ask])
        )
    return replace(
        design,
        size=counts.size,
        left=counts.left,
        unlabelled=np.broadcast_to(np.maximum(design.unlabelled, _NO_CHANCE), shape),
        model=np.broadcast_to(np.clip(design.model, _LEAST_RATE, 1 - _LEAST_RATE), shape),
        census=np.full(shape[0], bool(design.census[0])),
    )


def _difference_estimate(
    measure: Measure, q: int, cells: Cells, counts: SegmentCounts, confidence: float
) -> SegmentEstimates:
    predicted = cells.prediction.astype(np.float64)
    matters = measure.label_matters()[cells.prediction]
    open_items = by_prediction(counts.left.astype(np.float64), predicted)
    positives = by_prediction(counts.labelled[..., 1].astype(np.float64), predicted)
    items = by_prediction((counts.size - counts.undecided).astype(np.float64), predicted)
    exact: Bools = np.asarray((counts.left * matters).sum(axis=1) == 0)
    totals, empirical, modelled = counts.sums.totals[q].combined()
    totals = np.where(exact[:, None], positives, np.clip(totals, positives, positives + open_items))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = two_classes.of_totals(measure, totals[:, 1], totals[:, 0], items)
    possible = positives, positives + open_items
    variance = _variance(measure, totals, np.maximum(empirical, modelled), possible, items)
    relevant = (counts.labelled.sum(axis=2) * matters).sum(axis=1)
    rated = interval_of(value, variance, relevant, np.full(len(value), np.inf), confidence, measure.bounds)
    too_few = ~exact & rated.too_few
    return SegmentEstimates(
        arrays=EstimateArrays(
            value=value,
            lower=np.where(exact, value, rated.interval.lower),
            upper=np.where(exact, value, rated.interval.upper),
            variance=np.where(exact | too_few, 0.0, variance),
            diagnostics={"effective_labels": np.where(exact, 0.0, rated.number)},
        ),
        labels=counts.labelled.sum(axis=(1, 2)), variance=np.where(exact, 0.0, variance), exact=exact,
        too_few=too_few,
    )


def _variance(
    measure: Measure, totals: Floats, spread: Floats, possible: tuple[Floats, Floats], items: Floats
) -> Floats:
    """The variance (S,) of the measure at these totals (S, 2), by the delta method.

    spread (S, 2): the variance of the totals.  Where a total is uncertain the measure may be much steeper
    nearby, as recall is where hardly a miss is left; so it is the largest of the variances at the totals and
    at those a standard error below and above, kept to what the labels leave possible.
    """
    error = np.sqrt(np.where(np.isfinite(spread), spread, 0.0))
    largest = np.zeros(len(totals))
    for steps in (0.0, -1.0, 1.0):
        at = np.clip(totals + steps * error, *possible)
        slope = two_classes.slopes_by_prediction(measure, at[:, 1], at[:, 0], items)
        largest = np.maximum(largest, (slope**2 * np.where(slope != 0, spread, 0.0)).sum(axis=1))
    return largest


def segment_rows(
    question: Question, state: State, rounds: Sequence[LabelledRound], segments: Segments
) -> tuple[MeasureEstimate, ...]:
    """Every measure in every value of every column: by column, then measure, then value.

    Where draws were made with replacement each is weighted by its own probability; where every item had the
    same chance all labels count alike; under other designs without replacement the difference estimates of
    `evalcore.weighted.segments` hold.  A method whose designs leave items out for good gives no
    estimates by segment, and they say so.

    Raises NothingToStandFor for a round with gaps where a prediction was asked and gave no answer.

    An estimate of every measure in every segment, from the draws of the closed rounds.

    The arithmetic is above; here the rounds of an evaluation are put into its arrays,
    and what comes out becomes an `Estimate`, or the reason why there is none.

        T   draws of all rounds;  S values of one segment column
    """
    exact = [bool(is_exact(state.inner, m)[0]) for m in question.measures]
    chances = chances_of(rounds)
    result: list[MeasureEstimate] = []
    for column, values in segments.items():
        if chances is not None or all(exact):
            result += _from_draws(question, rounds, column, values, chances, exact)
        elif question.method.capabilities.whole_pool_only:
            reason = f"the method {question.method.name} gives no estimates by segment"
            result += [
                _no_estimate(question, measure, f"{column}={value}", reason)
                for measure in question.measures for value in values
            ]
        else:
            result += _from_differences(question, rounds, column, values)
    return tuple(result)


def _from_draws(
    question: Question, rounds: Sequence[LabelledRound], column: str, values: Mapping[str, int],
    chances: Chances | None, exact: Sequence[bool],
) -> list[MeasureEstimate]:
    """Of one column, where single draws say what they stand for."""
    weighted = chances == "weighted"
    draws = segment_draws(question, rounds, column, values, weighted=weighted)
    estimates = segment_estimates(question.measures, draws, question.confidence, exact)
    labels = np.bincount(draws.segment[draws.first], minlength=len(values))
    result = []
    for measure, arrays, settled in zip(question.measures, estimates, exact, strict=True):
        kinds = ["exact" if settled else "delta-normal"] * len(values)
        if weighted and not settled:
            arrays, kinds = _by_effective_number(question, measure, arrays, labels)
        direct = [
            _estimate(question, measure, arrays, i, f"{column}={value}", kinds[i], int(labels[i]))
            for i, value in enumerate(values)
        ]
        evidence = _SegmentEvidence(rounds=rounds, column=column, values=values, variance=arrays.variance)
        result += _beside_others(question, measure, direct, evidence)
    return result


def _by_effective_number(
    question: Question, measure: Measure, arrays: EstimateArrays, labels: Ints
) -> tuple[EstimateArrays, list[str]]:
    """The estimates (S,) of weighted draws with the interval of their effective number, and its kinds.

    The few draws of a segment may hold no error, or one of an untypical weight, and a normal interval is then
    far too narrow.  They are believed to be worth no more than their weights say: (Σw)² / Σw².
    """
    effective_draws = np.asarray(arrays.diagnostics["effective_draws"], dtype=np.float64)
    rated = interval_of(
        arrays.value, arrays.variance, labels, effective_draws, question.confidence, measure.bounds
    )
    kinds = [TOO_FEW if few else KIND for few in rated.too_few.tolist()]
    return replace(arrays, lower=rated.interval.lower, upper=rated.interval.upper), kinds


def _from_differences(
    question: Question, rounds: Sequence[LabelledRound], column: str, values: Mapping[str, int]
) -> list[MeasureEstimate]:
    """Of one column, where items had different inclusion probabilities."""
    estimates_by_measure = difference_estimates(
        question.measures, question.cells, rounds, column, question.by_segment[column], question.confidence
    )
    rows: list[MeasureEstimate] = []
    for measure, of in zip(question.measures, estimates_by_measure, strict=True):
        direct = [
            _estimate(
                question, measure, of.arrays, i, f"{column}={value}", of.interval(i), int(of.labels[i])
            )
            for i, value in enumerate(values)
        ]
        evidence = _SegmentEvidence(rounds=rounds, column=column, values=values, variance=of.variance)
        rows += _beside_others(question, measure, direct, evidence)
    return rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SegmentEvidence:
    """What estimates of two classes in the segments of one column rest on."""

    rounds: Sequence[LabelledRound]
    column: str
    values: Mapping[str, int]
    variance: Floats     # (S,)


def _beside_others(
    question: Question, measure: Measure, rows: Sequence[MeasureEstimate], evidence: _SegmentEvidence
) -> list[MeasureEstimate]:
    """The rows of a measure in every segment, each with its pooled estimate."""
    return with_pooled(SegmentColumn(
        rows=rows, population=question.about == "population",
        value=np.array([np.nan if row.value is None else row.value for row in rows], np.float64),
        variance=evidence.variance, labels=np.array([row.labels for row in rows], np.float64),
        items=np.array(list(evidence.values.values()), np.float64),
        predicted=predicted_of_counts(
            question, evidence.rounds, evidence.column, measure, len(evidence.values)
        ),
        bounds=measure.bounds, is_error=measure.is_error,
    ), question.confidence)


def segment_draws(
    question: Question, rounds: Sequence[LabelledRound], column: str, values: Mapping[str, int], *,
    weighted: bool,
) -> SegmentDraws:
    """The draws of all rounds by the segment of one column; values: each with its items in the pool (S,).

    Draws of items without a label are left out.  A draw with replacement has probability q, a draw of a
    simple random sample 1/N, both times the response rate of its cell.

    Raises NothingToStandFor as `segment_rows`.
    """
    n_items = question.cells.n_items
    label = np.concatenate([r.label for r in rounds])
    decided = label >= 0
    probability = np.concatenate([_probability(r, n_items) * r.response(question.cells) for r in rounds])
    census = np.concatenate([np.full(len(r.label), r.plan.census) for r in rounds])
    return SegmentDraws(
        segment=np.concatenate([r.segment[column] for r in rounds])[decided],
        prediction=np.concatenate([r.prediction for r in rounds])[decided],
        label=label[decided],
        weight=1 / (n_items * probability[decided]) if weighted else None,
        first=np.concatenate([r.plan.ask for r in rounds])[decided],
        census=census[decided],
        share=np.array(list(values.values())) / n_items,
        made=int((~census).sum()),
    )


def _probability(labelled_round: LabelledRound, n_items: int) -> Floats | float:
    return labelled_round.plan.probability if labelled_round.plan.design.replacement else 1 / n_items


def _estimate(
    question: Question, measure: Measure, arrays: EstimateArrays, i: int, segment: str, interval: str,
    labels: int,
) -> MeasureEstimate:
    """The i-th segment's, which is undefined where its value is NaN."""
    value, lower, upper = (float(a[i]) for a in (arrays.value, arrays.lower, arrays.upper))
    if not np.isfinite(value):
        reason = why_undefined(f"{measure.undefined_when} in this segment", exact=interval == "exact")
        return _no_estimate(question, measure, segment, reason, labels)
    return MeasureEstimate(
        measure=measure.name, value=value, undefined_reason=None, lower=lower, upper=upper,
        confidence=question.confidence, interval=interval, labels=labels, variance=float(arrays.variance[i]),
        segment=segment, class_name=question.of_class,
    )


def _no_estimate(
    question: Question, measure: Measure, segment: str, reason: str, labels: int = 0
) -> MeasureEstimate:
    return MeasureEstimate(
        measure=measure.name, value=None, undefined_reason=reason, lower=None, upper=None,
        confidence=question.confidence, interval="none", labels=labels, variance=None, segment=segment,
        class_name=question.of_class,
    )
