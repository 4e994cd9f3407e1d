"""Lines of the page's tables: numbers as they are printed, and their place on a drawn scale."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor

from assay.evalcore.estimators.random_sampling import RandomSampling
from assay.tasks.report import price, sentences, wording
from assay.tasks.report.data import EstimateRow, ReportData
from assay.tasks.report.figures.convergence import whole_pool_rows

_BAR = (150, 14)     # of the little interval drawings, in CSS pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An interval drawn on a scale from `scale_from` to `scale_to`: CSS pixels from the left."""

    width: int
    height: int
    value: float | None
    lower: float | None
    upper: float | None
    thresholds: tuple[float, ...]
    truth: float | None
    scale_from: str
    scale_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateLine:
    """One estimate."""

    name: str
    meaning: str
    of: str                  # the further system and the class it is of; "" for the pool's own predictions
    segment: str | None
    undefined: str | None    # why there is no value
    value: str
    interval: str
    half_width: str
    kind: str                # of the interval, in words
    kind_name: str
    confidence: str
    labels: int
    revision: int
    bar: Bar


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceLine:
    """What stands beside one estimate: see `tasks.report.price`."""

    name: str
    random: str
    model: str
    unseen: str
    wide: str | None
    check: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthLine:
    """One estimate beside the true value."""

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
    target: str | None
    needed: str | None       # labels for the target


def estimate_line(data: ReportData, row: EstimateRow, lowest: float, highest: float = 1.0) -> EstimateLine:
    """The estimate in words, and its place on a scale from `lowest` to `highest`."""
    return EstimateLine(
        name=wording.measure_name(row.measure),
        meaning=sentences.measure_meaning(row.measure, data),
        of=", ".join(part for part in (row.of, row.place.strip()) if part),
        segment=row.segment,
        undefined=row.undefined_reason,
        value=wording.value(row),
        interval=wording.interval(row),
        half_width=wording.half_width(row),
        kind=sentences.interval_kind(row.interval),
        kind_name=row.interval,
        confidence=wording.percent(row.confidence),
        labels=row.labels,
        revision=row.revision,
        bar=_bar(data, row, lowest, highest),
    )


def lowest_of(rows: Iterable[EstimateRow]) -> float:
    """Where a drawn scale begins: at 0, or at −1 or the next whole number below anything negative on it."""
    lowest = min([0.0, *(x for row in rows for x in (row.value, row.lower) if x is not None)])
    return 0.0 if lowest == 0 else float(min(floor(lowest), -1))


def highest_of(rows: Iterable[EstimateRow]) -> float:
    """Where a drawn scale ends: at 1, or at the next whole number above everything on it."""
    return float(ceil(max([1.0, *(x for row in rows for x in (row.value, row.upper) if x is not None)])))


def price_line(data: ReportData, row: EstimateRow) -> PriceLine:
    """What random sampling would have needed, and what the labels leave open."""
    return PriceLine(
        name=wording.measure_name(row.measure) + (f" of {row.class_name}" if row.class_name else ""),
        random=price.random_labels(row),
        model=price.rests_on_model(row),
        unseen=price.unseen(row, data.positive),
        wide=price.wide(row),
        check=price.model_check(row),
    )


def truth_lines(data: ReportData) -> list[TruthLine]:
    """The measures whose true value is known."""
    lines = []
    for row in whole_pool_rows(data):
        true = (data.truth or {}).get(row.measure)
        if true is None or row.system or row.class_name:
            continue
        digits = wording.digits_for(row)
        inside = None if row.lower is None or row.upper is None else bool(row.lower <= true <= row.upper)
        lines.append(TruthLine(
            name=wording.measure_name(row.measure),
            value="undefined" if row.value is None else wording.value(row),
            interval=wording.interval(row),
            truth=wording.number(true, digits),
            error="–" if row.value is None else wording.number(row.value - true, digits),
            inside={None: "no interval", True: "yes", False: "no"}[inside],
        ))
    return lines


def random_sampling_line(data: ReportData, sample: RandomSampling) -> RandomSamplingLine:
    """What a random sample would have given, beside what this evaluation did."""
    needed = sample.labels_needed
    mine = next((row for row in whole_pool_rows(data) if row.measure == sample.measure), None)
    return RandomSamplingLine(
        name=wording.measure_name(sample.measure),
        labels=sample.labels,
        mine="–" if mine is None else wording.half_width(mine),
        half_width=f"{sample.half_width:.2g}",
        positives=f"{sample.expected_positives:.2g}",
        undefined=wording.percent(round(sample.chance_undefined, 3)),
        target=None if sample.target_half_width is None else f"{sample.target_half_width:.2g}",
        needed=None if needed is None else wording.count(price.two_figures(needed)),
    )


def _bar(data: ReportData, row: EstimateRow, lowest: float, highest: float) -> Bar:
    def at(x: float) -> float:
        return round(2 + (x - lowest) / (highest - lowest) * (_BAR[0] - 4), 2)

    def known(x: float | None) -> float | None:
        return None if x is None else at(x)

    edges = (data.threshold_min, data.threshold_max) if row.same(data.estimates[0]) else ()
    return Bar(
        width=_BAR[0],
        height=_BAR[1],
        value=known(row.value),
        lower=known(row.lower),
        upper=known(row.upper),
        thresholds=tuple(at(edge) for edge in edges if edge is not None),
        truth=known((data.truth or {}).get(row.measure)) if row.segment is None else None,
        scale_from=wording.plain(lowest),
        scale_to=wording.plain(highest),
    )
