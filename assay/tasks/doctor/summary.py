"""What a pool looks like: its scores, whether its probabilities are calibrated, which measures exist."""

from dataclasses import dataclass, field

import numpy as np

from assay.evalcore.measures.registry import every
from assay.evalcore.measures.two_classes import Measure, where_alike
from assay.evalcore.printed import key_as
from assay.evalcore.types import Array
from assay.tasks.doctor.numbers import UsableRows

_BINS = 10
_LEVELS = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)
_MEGABYTES, _BYTES_A_ROW, _ROWS_A_SECOND = 300, 60, 250_000     # of a freeze, as measured


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSummary:
    """The scores of a pool and the predictions made of them: quantiles, distinct values, the largest group
    of items with one score, predicted positives, and the threshold that explains every prediction, if any
    does."""

    quantiles: dict[str, float]      # level -> score
    distinct: int
    largest_tie: int                 # items that share the commonest score
    predicted_positives: int         # of all rows: estimated from the sample, where one was read
    threshold: float | None          # that explains every prediction, if any


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """One bin of a calibration table, of items with neighbouring probabilities: the lowest and the highest
    of these, how many items there are, their mean probability, and the share of positives among them."""

    lowest: float = field(metadata=key_as("from"))    # probability in the bin
    highest: float = field(metadata=key_as("to"))
    items: int
    expected: float                  # mean probability
    observed: float                  # share of positives


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Expected and counted positives, in all and by bins of the probability; of all rows, estimated
    where a sample was read."""

    expected_positives: float
    positives: int
    bins: tuple[CalibrationBin, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureFinding:
    """What the doctor says of one measure on one pool: whether it can exist there, a note for people, and
    its true value where the labels are known."""

    measure: str
    available: bool                  # it can exist
    note: str | None
    true_value: float | None         # where labels are known


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeCost:
    """About what freezing the pool takes, in whole megabytes and seconds; both are estimates."""

    megabytes: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NumbersSummary:
    """What the numbers of a file say: scores, calibration, measures, the cost of a freeze."""

    scores: ScoreSummary
    calibration: Calibration | None  # None without labels
    measures: tuple[MeasureFinding, ...]
    freeze: FreezeCost


def summary_of(numbers: UsableRows, rows: int, times: float = 1.0) -> NumbersSummary:
    """Of the usable rows; `rows`: of the whole source; times: rows of the source for each of those read.
    Counts are scaled up where a sample was read."""
    return NumbersSummary(
        scores=score_summary(numbers, times),
        calibration=calibration(numbers, times),
        measures=tuple(measure_findings(numbers)),
        freeze=FreezeCost(
            megabytes=round(_MEGABYTES + _BYTES_A_ROW * rows / 1e6), seconds=round(1 + rows / _ROWS_A_SECOND)
        ),
    )


def score_summary(numbers: UsableRows, times: float = 1.0) -> ScoreSummary:
    """Quantiles, ties, predicted positives, and whether a threshold explains the predictions."""
    score = numbers.score
    values, counts = np.unique(score, return_counts=True)
    return ScoreSummary(
        quantiles={f"{level:g}": float(np.quantile(score, level)) for level in _LEVELS},
        distinct=len(values),
        largest_tie=int(counts.max()),
        predicted_positives=round(times * int(numbers.prediction.sum())),
        threshold=numbers.threshold,
    )


def calibration(numbers: UsableRows, times: float = 1.0) -> Calibration | None:
    """Expected and counted positives, in all and by bins of the probability; None without labels. Bins hold
    about equally many items each."""
    if numbers.label is None:
        return None
    p, y = numbers.probability, numbers.label
    edges = np.unique(np.quantile(p, np.linspace(0, 1, _BINS + 1)))
    bins = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, max(len(edges) - 2, 0))
    return Calibration(
        expected_positives=times * float(p.sum()),
        positives=round(times * int(y.sum())),
        bins=tuple(
            CalibrationBin(
                lowest=float(p[in_bin].min()), highest=float(p[in_bin].max()),
                items=round(times * int(in_bin.sum())), expected=float(p[in_bin].mean()),
                observed=float(y[in_bin].mean()),
            )
            for b in range(max(len(edges) - 1, 1)) if (in_bin := bins == b).any()
        ),
    )


def measure_findings(numbers: UsableRows) -> list[MeasureFinding]:
    """Every measure: whether it can exist, its exact value where labels are known, and a note. In the order
    of the reference; values are those of the whole file."""
    pool = numbers.labelled()
    result = []
    for chosen in every():
        exists, note = _availability(chosen, numbers.prediction)
        value = None if pool is None else float(chosen.of_confusion(pool.confusion()))
        true_value = value if value is not None and np.isfinite(value) else None
        result.append(
            MeasureFinding(measure=chosen.name, available=exists, note=note, true_value=true_value)
        )
    return result


def _availability(measure: Measure, prediction: Array) -> tuple[bool, str | None]:
    """Whether the measure can exist, and what is known of it where all predictions are alike."""
    alike = np.unique(prediction)
    if len(alike) > 1:
        return True, None
    result = where_alike(measure, int(alike[0]))
    if not result.exists:
        return False, f"does not exist: {measure.undefined_when}"
    if result.value is None:
        return True, None
    every_one = "positive" if alike[0] else "negative"
    return True, f"{result.value:g} wherever it exists, since every item is predicted {every_one}"
