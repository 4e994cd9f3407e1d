"""Numbers and names in words, the same in reports, alerts, histories and the terminal.

Ends of an interval are rounded outwards, so that a printed interval never looks surer than it is, and a
printed comparison with a limit never contradicts the verdict.
"""

import re
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from math import ceil, log10

from assay.evalcore.errors import BadInput
from assay.evalcore.errors import plural as plural  # the templates use it too
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.measures.measure import AskedMeasure, MeasureFamily, OutcomeMeasure
from assay.evalcore.measures.registry import MEASURES_BY_KIND, named
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.questions import SeveralQuestions
from assay.tasks.ledger.life import Ownership

TRUSTS_THE_SCORE = (
    "It trusts the score: no label has shown that positives do not hide where the score is low."
)
_TURNS = {mark: f"[U+{mark:04X}]" for mark in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_OF_WHAT = re.compile(r"(?P<measure>[a-z0-9_]+(\(.*?\))?) of (?P<what>.+ minus .+|[A-Za-z][\w-]*)")


def measure_name(name: str) -> str:
    """`f1` → `F1`, `fbeta(2)` → `F-beta (β = 2)`, `top_k_accuracy(5)` → `Top-k accuracy (5)`,
    `accuracy of new minus old` → `Accuracy of new minus old`, `accuracy of tone` → `Accuracy of tone`."""
    try:
        return named(name).title
    except BadInput:
        whose = _OF_WHAT.fullmatch(name)
        if whose:
            return f"{measure_name(whose['measure'])} of {whose['what']}"
        family, inside = _family(name)
        return family.title + (f" ({inside})" if inside else "")


def meaning_of_outcome(name: str, outcome: OutcomeKind, question: str | None = None) -> str:
    """The measure in half a sentence, of this kind of outcome; question: the one it is of. Raises UnknownName
    for a measure that the kind does not have."""
    return _family(name, _asked(outcome, question))[0].meaning


def measure_bounds(
    name: str, outcome: OutcomeKind | None, question: str | None = None
) -> tuple[float, float]:
    """The smallest and the largest value of a measure; infinite where it has none. question: of several, the
    one it is of. Axes are drawn between them."""
    if outcome is None:
        return named(name).bounds
    return _made(name, _asked(outcome, question)).bounds


def is_error(name: str, outcome: OutcomeKind | None) -> bool:
    """Whether a measure is better the smaller it is, as errors are, for this kind of outcome; None means two
    classes. Its limit then says what it must not be above."""
    return named(name).is_error if outcome is None else _made(name, outcome).is_error


def _made(name: str, outcome: OutcomeKind) -> OutcomeMeasure:
    """The measure, of any class: what is asked of it is the same for every one."""
    family, _ = _family(name, outcome)
    # some measures are of one class alone
    options = {"class": outcome.parts[0]} if "class" in family.options and outcome.parts else {}
    return family.make(AskedMeasure(kind=outcome, pool_size=1, options=options))


def _asked(outcome: OutcomeKind, question: str | None) -> OutcomeKind:
    """The kind of outcome of a question, where several are asked."""
    return outcome.question(question).kind if isinstance(outcome, SeveralQuestions) and question else outcome


def _family(name: str, outcome: OutcomeKind | None = None) -> tuple[MeasureFamily, str]:
    """The measure that calls itself so, of this or any kind of outcome, and what its name has in brackets."""
    base, _, inside = name.removesuffix(")").partition("(")
    kinds = (outcome.name,) if outcome is not None else [kind for kind, _ in MEASURES_BY_KIND]
    return next(MEASURES_BY_KIND[kind, base] for kind in kinds if (kind, base) in MEASURES_BY_KIND), inside


def decimals(value: float | None, lower: float | None, upper: float | None) -> int:
    """Decimals that show two figures of the half-width, and do not print 0.9998 as 1. Between 3 and 6; 4
    where the value is exactly 0 or 1."""
    if lower is not None and upper is not None and upper > lower:
        return min(max(ceil(-log10((upper - lower) / 2)) + 1, 3), 6)
    distance = min(abs((value or 0.0) - end) for end in (0.0, 1.0))
    return 4 if distance == 0 else min(max(ceil(-log10(distance)) + 1, 4), 6)


def digits_for(row: MeasureEstimate) -> int:
    """The decimals that an estimate and its interval are printed with: enough to show two figures of the
    half-width. It is between 3 and 6."""
    return decimals(row.value, row.lower, row.upper)


_ANY_FLOAT = Context(prec=340)    # digits: those of the largest float, and its decimals


def number(x: float, digits: int = 3, rounding: str = ROUND_HALF_EVEN) -> str:
    """A decimal with so many digits after the point and a true minus sign; −0 is printed as 0. `rounding` is
    one of the names of the module `decimal`."""
    rounded = Decimal(repr(float(x))).quantize(Decimal(1).scaleb(-digits), rounding, _ANY_FLOAT)
    return f"{_ANY_FLOAT.add(rounded, Decimal(0)):f}".replace("-", "−")     # + 0: no negative zero


def _of_estimate(x: float, digits: int, rounding: str = ROUND_HALF_EVEN) -> str:
    """As `number`; what is exactly 0 is 0, without decimals."""
    return "0" if x == 0 else number(x, digits, rounding)


def estimate_text(value: float | None, lower: float | None, upper: float | None) -> str:
    """An estimate, to the decimals that its interval calls for; `undefined` without a value."""
    return "undefined" if value is None else _of_estimate(value, decimals(value, lower, upper))


def ends_in_words(
    value: float | None, lower: float | None, upper: float | None, *, between: str = " to ",
    places: int | None = None,
) -> str:
    """The interval of an estimate, `0.842 to 0.932`, rounded outwards; `none` without one. Rounding outwards
    keeps the promise of the interval.

    places decimals; unless said, those that `decimals` gives
    """
    if lower is None or upper is None:
        return "none"
    places = decimals(value, lower, upper) if places is None else places
    low, high = _of_estimate(lower, places, ROUND_FLOOR), _of_estimate(upper, places, ROUND_CEILING)
    return f"{low}{between}{high}"


def in_short(value: float | None, lower: float | None, upper: float | None) -> str:
    """An estimate with its interval in brackets, `0.891 [0.842, 0.932]`, the ends rounded outwards; `0.891`
    without an interval. For tables and figures, where place is short."""
    unknown = lower is None or upper is None
    ends = "" if unknown else f" [{ends_in_words(value, lower, upper, between=', ')}]"
    return estimate_text(value, lower, upper) + ends


def row_in_short(row: MeasureEstimate) -> str:
    """`0.891 [0.842, 0.932]`; `0.6667 exactly`, of which no end is rounded outwards."""
    if row.value is not None and row.lower is not None and row.upper is not None and row.interval == "exact":
        manner = "exactly" if row.undecided is None else _LABELLED
        return f"{estimate_text(row.value, row.lower, row.upper)} {manner}"
    return in_short(row.value, row.lower, row.upper)


def value_and_interval(value: float | None, lower: float | None, upper: float | None) -> str:
    """An estimate with its interval in parentheses, `0.891 (0.842 to 0.932)`, the ends rounded outwards;
    `0.891` without an interval. For sentences and lines of a terminal."""
    unknown = lower is None or upper is None
    ends = "" if unknown else f" ({ends_in_words(value, lower, upper)})"
    return estimate_text(value, lower, upper) + ends


_LABELLED = "of the items that have a label"


def exact_in_words(row: MeasureEstimate) -> str:
    """`exact`; where some items have no label, of which items the value is."""
    return "exact" if row.undecided is None else _LABELLED


def interval(row: MeasureEstimate) -> str:
    """`0.842 to 0.932`, `exact` or `none`; nothing is exact while items have no label."""
    if row.lower is not None and row.upper is not None and row.interval == "exact":
        return exact_in_words(row)
    return ends_in_words(row.value, row.lower, row.upper)


def also_in_words(row: MeasureEstimate) -> str:
    """`for the population 0.81 to 0.93`, beside an interval for the pool; the other way round; or empty. So
    both intervals stand beside each other where the two differ."""
    also = row.also
    if also is None or also.lower is None or also.upper is None:
        return ""
    if also.interval == "exact":
        return f"for the {also.about} {exact_in_words(row)}"
    return f"for the {also.about} {ends_in_words(row.value, also.lower, also.upper)}"


def pooled_in_words(row: MeasureEstimate) -> str:
    """`0.81 (0.70 to 0.88)`, what a segment is with what the others tell of it; or empty. Its interval is
    that of partial pooling over all segments."""
    pooled = row.pooled
    return "" if pooled is None else value_and_interval(pooled.value, pooled.lower, pooled.upper)


def has_interval(row: MeasureEstimate) -> bool:
    """Whether there is an interval to print: both ends are known, and the value is not exact. An exact value
    is printed alone."""
    return row.lower is not None and row.upper is not None and row.interval != "exact"


def value_or_reason(row: MeasureEstimate) -> str:
    """The estimate to the decimals its interval calls for, or `undefined:` and the reason."""
    if row.value is None:
        return f"undefined: {row.undefined_reason}"
    return _of_estimate(row.value, digits_for(row))


def half_width(row: MeasureEstimate) -> str:
    """Half the width of the interval, rounded up, to the estimate's decimals; `–` without an interval. So
    that it never looks smaller than it is."""
    if row.lower is None or row.upper is None:
        return "–"
    return number((row.upper - row.lower) / 2, digits_for(row), ROUND_CEILING)


def percent(share: float) -> str:
    """A share in percent, to four significant figures: `95%`, `99.9%`."""
    return f"{100 * share:.4g}%"


def grouped_digits(n: int) -> str:
    """A whole number with commas between groups of three digits: `251,003`."""
    return f"{n:,}"


def plain_number(x: float) -> str:
    """A number a person wrote, as they wrote it: 0.8, not 0.800."""
    return f"{x:.10g}".replace("-", "−")


def limit_number(x: float) -> str:
    """What a measure is held against: as it was written, or to four decimals where it was computed. No zeros
    stand at its end."""
    return plain_number(round(x, 4))


def allowed(low: float | None, high: float | None) -> str | None:
    """`between 0.8 and 0.9`, `at least 0.8`, `at most 0.9`; None without either."""
    if low is not None and high is not None:
        return f"between {plain_number(low)} and {plain_number(high)}"
    if low is not None:
        return f"at least {plain_number(low)}"
    return None if high is None else f"at most {plain_number(high)}"


def moment(text: str) -> str:
    """A recorded time to the minute: 2026-11-22 16:49 UTC; anything else as it is."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return text


def shown_text(value: object) -> object:
    """For `finalize` of a page's templates: marks that turn around the text after them are spelled out. Such
    marks of right-to-left text could make a value look like another."""
    return value.translate(_TURNS) if type(value) is str else value


def cost_in_words(labels: int, ownership: Ownership) -> str:
    """What these labels and those of a pilot cost and the price of each, `37.50 at 0.25 a label`, and what
    the judges cost; the empty text where no price is known."""
    price, pilot = ownership.price_per_label, ownership.pilot_labels or 0
    if price is None:
        return ""
    judge = "" if ownership.judge_cost is None else f", and {ownership.judge_cost:,.2f} for the judge"
    of_pilot = f", {pilot:,} of the pilot among them" if pilot else ""
    return f"{(labels + pilot) * price:,.2f} at {price:g} a label{of_pilot}{judge}"
