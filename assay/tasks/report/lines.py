"""Lines of tables of the page: estimates as they are printed, and their intervals as bars.

All bars of a table are drawn on one scale, whose ends are round numbers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, inf, isfinite, log10

from assay.evalcore.estimators.random_sampling import RandomSampling
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.report import price, sentences, wording
from assay.tasks.report.data import TRUE_VALUES, ReportData, whole_pool_rows

_LINE_WIDTH, _HEIGHT = 150, 14   # CSS pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalBar:
    """An interval drawn on a scale from `scale_from` to `scale_to`: CSS pixels from the left."""

    width: int
    height: int
    value: float | None
    lower: float | None
    upper: float | None
    wide_lower: float | None     # of the wide interval, where there is one
    wide_upper: float | None
    limits: tuple[float, ...]
    truth: float | None
    reference: float | None
    scale_from: str
    scale_to: str


def interval_bar(
    row: MeasureEstimate, lowest: float, highest: float, *, limits: Sequence[float | None] = (),
    truth: float | None = None, reference: float | None = None,
) -> IntervalBar:
    """An estimate on a scale from `lowest` to `highest`, with what else is marked on it. Places are shares of
    the scale, from 0 at its lowest end to 1."""
    scale = lowest, highest
    wide_lower, wide_upper = _wide(row)
    return replace(
        plain_bar((row.value, row.lower, row.upper), scale, limits),
        wide_lower=_place(wide_lower, scale),
        wide_upper=_place(wide_upper, scale),
        truth=_place(truth, scale),
        reference=_place(reference, scale),
    )


def plain_bar(
    ends: tuple[float | None, float | None, float | None], scale: tuple[float, float],
    limits: Sequence[float | None] = (),
) -> IntervalBar:
    """A value, its lower and its upper end on a scale, with its limits."""
    value, lower, upper = (_place(x, scale) for x in ends)
    return IntervalBar(
        width=_LINE_WIDTH, height=_HEIGHT, value=value, lower=lower, upper=upper, wide_lower=None,
        wide_upper=None, limits=tuple(x for limit in limits if (x := _place(limit, scale)) is not None),
        truth=None, reference=None, scale_from=wording.plain_number(scale[0]),
        scale_to=wording.plain_number(scale[1]),
    )


def _place(x: float | None, scale: tuple[float, float]) -> float | None:
    """CSS pixels from the left."""
    lowest, highest = scale
    return None if x is None else round(2 + (x - lowest) / (highest - lowest) * (_LINE_WIDTH - 4), 2)


def scale_of_bars(rows: Iterable[MeasureEstimate], outcome: OutcomeKind | None) -> tuple[float, float]:
    """The ends of a scale that these estimates are drawn on: those of their measures, where they have ends.

    A grade from 1 to 5 is drawn from 1 to 5, a share from 0 to 1. A measure without an end ends at the next
    whole number beyond everything that is drawn. What may be negative and is not, such as kappa, begins at 0.
    Differences of systems have 0 in the middle.
    """
    drawn = list(rows)
    wide = [_wide(row) for row in drawn]
    nums = [x for row, ends in zip(drawn, wide, strict=True) for x in (row.value, row.lower, row.upper, *ends)
            if x is not None]
    if drawn and any(row.versus is not None for row in drawn):
        reach = _round_number(max([abs(x) for x in nums], default=0.0))
        return -reach, reach
    low, high = _bounds(drawn, outcome)
    smallest, largest = min(nums, default=0.0), max(nums, default=1.0)
    if not isfinite(low):
        low = 0.0 if smallest >= 0 else float(min(floor(smallest), -1))
    elif low == -1 and smallest >= 0:
        low = 0.0
    return low, high if isfinite(high) else float(max(ceil(largest), 1))


def _round_number(largest: float) -> float:
    """The next of 0.1, 0.2, 0.5, 1 ... beyond it; from 0.01 on."""
    power = 10.0 ** floor(log10(max(largest * 1.1, 0.01)))
    return next(float(f"{step * power:.6g}") for step in (1, 2, 5, 10) if step * power >= largest * 1.1)


def _bounds(rows: Sequence[MeasureEstimate], outcome: OutcomeKind | None) -> tuple[float, float]:
    """From the smallest to the largest value that any of the measures can have."""
    if not rows:
        return -inf, inf
    ends = [wording.measure_bounds(row.measure, outcome, row.question) for row in rows]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _wide(row: MeasureEstimate) -> tuple[float | None, float | None]:
    tag = row.not_excluded
    return (None, None) if tag is None else (tag.wide_lower, tag.wide_upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateLine:
    """One estimate as the page prints it: texts for value, interval, half-width and meaning, the labels it
    rests on, and its interval drawn as a bar. `undefined` says why there is no value."""

    name: str
    meaning: str
    of: str                  # the further system and the class it is of; "" for the pool's own predictions
    segment: str | None
    undefined: str | None    # why there is no value
    value: str
    interval: str
    about: str               # what it is about, where that is the population
    also: str                # the interval about the other, in words, where it is told
    pooled: str              # of a segment, with what the others tell
    together: str            # its interval that holds together with those of all segments
    half_width: str
    kind: str                # of the interval, in words
    kind_name: str
    confidence: str
    labels: int
    revision: int
    bar: IntervalBar


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceLine:
    """What labels bought beside one estimate, as texts: the labels that random sampling would need, the
    share of the pool where nobody labelled anything, what may be unseen, and the wide interval
    (`tasks.report.price`)."""

    name: str
    random: str
    unlabelled: str
    unseen: str
    wide: str | None
    check: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthLine:
    """One estimate beside its true value, as texts: the error is the estimate minus the truth, and `inside`
    says whether the interval holds the truth."""

    name: str
    value: str
    interval: str
    truth: str
    error: str
    inside: str              # whether the interval holds the truth


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSamplingLine:
    """One estimate beside what a random sample of as many labels would have given."""

    name: str
    labels: int
    mine: str                # the half-width of this evaluation
    half_width: str
    positives: str           # expected in the sample
    undefined: str           # chance of a sample without a value


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestTable:
    """Estimates of one measure below each other, drawn on one scale."""

    name: str
    of: str                  # what the rows are
    scale_from: str
    scale_to: str
    rows: Sequence[tuple[str, EstimateLine]]
    worst: str = ""          # of segments: which is the worst, in words

    @property
    def pooled(self) -> bool:
        """Whether what other segments tell stands beside any of the rows."""
        return any(line.pooled for _, line in self.rows)


def table_line(
    data: ReportData, row: MeasureEstimate, lowest: float, highest: float = 1.0,
    reference: float | None = None,
) -> EstimateLine:
    """The estimate in words, and its place on a scale from `lowest` to `highest`.

    reference   a value that the drawing marks, such as the whole pool's
    """
    truth = TRUE_VALUES.value_in(data) or {}
    return EstimateLine(
        name=wording.measure_name(row.measure),
        meaning=sentences.measure_meaning(row.measure, data, row.question),
        of=", ".join(part for part in (row.of, row.place.strip()) if part),
        segment=row.segment,
        undefined=row.undefined_reason,
        value=wording.value_or_reason(row),
        interval=wording.interval(row),
        about=" for the population" if row.about == "population" else "",
        also=wording.also_in_words(row),
        pooled=wording.pooled_in_words(row),
        together="" if row.pooled is None else wording.ends_in_words(
            row.pooled.value, row.pooled.together.lower, row.pooled.together.upper
        ),
        half_width=wording.half_width(row),
        kind=sentences.interval_kind(row.interval),
        kind_name=row.interval,
        confidence=wording.percent(row.confidence),
        labels=row.labels,
        revision=row.revision,
        bar=interval_bar(
            row, lowest, highest, reference=reference,
            limits=(data.limit_min, data.limit_max) if row.same(data.estimates[0]) else (),
            truth=truth.get(row.measure) if row.segment is None and not row.question else None,
        ),
    )


def segment_tables(data: ReportData) -> list[ForestTable]:
    """The segments, a table for each thing that is measured; the whole pool is the first line of each. Lines
    are in the order of the estimates."""
    groups: dict[tuple[str, str | None], list[MeasureEstimate]] = {}
    for row in data.estimates:
        if row.segment is not None:
            groups.setdefault((row.what, row.curve), []).append(row)
    return [_segments(data, rows) for rows in groups.values()]


def _segments(data: ReportData, rows: Sequence[MeasureEstimate]) -> ForestTable:
    key = rows[0].what, rows[0].curve
    pool_row = next(
        (row for row in data.estimates if row.segment is None and (row.what, row.curve) == key), None
    )
    shown = [*([pool_row] if pool_row else []), *rows]
    lowest, highest = scale_of_bars(shown, data.outcome)
    return ForestTable(
        name=sentences.named_row(rows[0]),
        of="Segment",
        scale_from=wording.plain_number(lowest),
        scale_to=wording.plain_number(highest),
        rows=[
            (row.segment or "the whole pool",
             table_line(data, row, lowest, highest, pool_row.value if pool_row else None))
            for row in shown
        ],
        worst=sentences.likely_worst_segment(rows),
    )


def price_line(data: ReportData, row: MeasureEstimate) -> PriceLine:
    """What random sampling would have needed, and what the labels leave open."""
    return PriceLine(
        name=wording.measure_name(row.measure) + (f" of {row.of}" if row.class_name or row.question else ""),
        random=price.random_labels_in_words(row),
        unlabelled=price.share_unlabelled(row),
        unseen=price.unseen(row),
        wide=price.wide(row),
        check=price.model_check(row),
    )


def truth_lines(data: ReportData) -> list[TruthLine]:
    """A line for each measure of the whole pool whose true value is known, as in a demo; measures of a
    further system, class or question are left out."""
    lines = []
    for row in whole_pool_rows(data):
        true = (TRUE_VALUES.value_in(data) or {}).get(row.measure)
        if true is None or row.system or row.class_name or row.question:
            continue
        digits = wording.digits_for(row)
        inside = None if row.lower is None or row.upper is None else bool(row.lower <= true <= row.upper)
        lines.append(TruthLine(
            name=wording.measure_name(row.measure),
            value="undefined" if row.value is None else wording.value_or_reason(row),
            interval=wording.interval(row),
            truth=wording.number(true, digits),
            error="–" if row.value is None else wording.number(row.value - true, digits),
            inside={None: "no interval", True: "yes", False: "no"}[inside],
        ))
    return lines


def random_sampling_line(data: ReportData, sample: RandomSampling) -> RandomSamplingLine:
    """What a random sample would have given, beside what this evaluation did."""
    estimate = next((row for row in whole_pool_rows(data) if row.measure == sample.measure), None)
    return RandomSamplingLine(
        name=wording.measure_name(sample.measure),
        labels=sample.labels,
        mine="–" if estimate is None else wording.half_width(estimate),
        half_width=f"{sample.half_width:.2g}",
        positives=f"{sample.expected_positives:.2g}",
        undefined=wording.percent(round(sample.chance_undefined, 3)),
    )


