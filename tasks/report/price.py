"""What stands beside every estimate, in words: its price, and what the labels do not exclude."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.recalibration.reporting import (
    AGREE,
    BROKEN_SCORE,
    DISAGREE,
    EARLY,
    MODEL_ONLY,
    NO_POSITIVE,
)
from assay.tasks.report import wording

_REGIMES = {
    AGREE: "it agrees with an estimate that uses no model",
    DISAGREE: "it disagrees with an estimate that uses no model; go by the interval, not by the value",
    EARLY: "labels are too few for one; what was assumed before the first label still matters",
    MODEL_ONLY: "not possible yet; labels are too few for an estimate without the model",
    NO_POSITIVE: "not possible yet; no positive was found, so the value rests on what was assumed before",
    BROKEN_SCORE: "the score looks broken: by the labels it says nothing, or the opposite",
}


def random_labels_in_words(row: MeasureEstimate) -> str:
    """`about 11,000`, or why it cannot be said."""
    tag = row.price_tag
    if tag is None:
        return "not recorded"
    needed = tag.random_labels
    if needed is None:
        return f"cannot be said: {tag.random_labels_reason}"
    return f"all {needed:,}" if row.interval == "exact" else f"about {two_figures(needed):,}"


def unseen(row: MeasureEstimate) -> str:
    """How many positives may not have been found, or why that cannot be said."""
    if row.price_tag is None:
        return "not recorded"
    tag = row.not_excluded
    if tag is None:
        return "–"   # no class is the positive one
    bound, items = tag.unseen_bound, tag.unseen_items
    kind = "" if tag.no_positive_found else " predicted negative"
    if bound is None:
        return f"cannot be said without the model: {tag.unseen_bound_reason}"
    if not items:
        # that may be few labels: no item is predicted negative, or none of those can change the measure
        return f"none: no unlabelled item{kind} can change {wording.measure_name(row.measure)}"
    return (
        f"with {wording.percent(row.confidence)} confidence at most {bound:,} of the "
        f"{wording.plural(items, 'unlabelled item')}{kind}, whatever the model says"
    )


def rests_on_model(row: MeasureEstimate) -> str:
    """Share of the pool in cells where nobody labelled anything."""
    if row.price_tag is None:
        return "not recorded"
    tag = row.not_excluded
    return "–" if tag is None else wording.percent(round(tag.unlabelled_share, 3))


def wide(row: MeasureEstimate) -> str | None:
    """The interval under the wide contamination prior, or None where there is none."""
    tag = row.not_excluded
    if tag is None or tag.wide_lower is None or tag.wide_upper is None:
        return None
    digits = wording.digits_for(row)
    lower, upper = (
        wording.number(end, digits, rounding)
        for end, rounding in ((tag.wide_lower, ROUND_FLOOR), (tag.wide_upper, ROUND_CEILING))
    )
    return f"{lower} to {upper}"


def wide_in_words(row: MeasureEstimate, positive: str) -> str | None:
    """`wide interval 0.332 to 0.979: ...`, or None where it says no more than the interval does."""
    ends = wide(row)
    if ends is None or ends == wording.interval(row):
        return None
    if not positive:
        return f"wide interval {ends}"
    return f"wide interval {ends}: it holds too if some “{positive}” items have scores like all others"


def model_check(row: MeasureEstimate) -> str | None:
    """Which regime the method's model of the labels is in, or None where it has no such model."""
    check = row.price.model_check
    if check is None:
        return None
    said = _REGIMES[check.regime]
    if check.regime != BROKEN_SCORE:
        return said
    chance = check.broken_chance or 0.0
    return f"{said} (chance {wording.percent(min(round(chance, 2), 0.99))})"


def two_figures(n: int) -> int:
    """`about n`: more figures would claim to know more than the formula does."""
    return n if n < 100 else int(float(f"{n:.1e}"))


def price_lines(rows: Sequence[MeasureEstimate], positive: str = "positive") -> list[str]:
    """For a terminal: what random sampling would have needed, then what the first estimate leaves open."""
    told = [row for row in rows if row.segment is None and row.price_tag]
    if not told:
        return []
    needed = "; ".join(
        f"{row.measure}{f' of {row.class_name}' if row.class_name else ''} {random_labels_in_words(row)}"
        for row in told
    )
    return [f"random sampling would have needed, in labels: {needed}", *open_lines(rows, positive)]


def open_lines(rows: Sequence[MeasureEstimate], positive: str = "positive") -> list[str]:
    """What the first estimate leaves open: what rests on the model alone, and what the labels cannot tell."""
    first = next((row for row in rows if row.segment is None and row.price_tag), None)
    if first is None or first.not_excluded is None or first.interval == "exact":
        return []
    hidden = first.not_excluded.unseen_bound is not None
    lines = [
        f"{rests_on_model(first)} of the pool have scores of which nobody labelled an item: there "
        f"{first.measure} rests on the model alone"
        + (f"; “{positive}” items not found yet: {unseen(first)}" if hidden else "")
    ]
    if first.not_excluded.wide_announced:
        lines.append(
            f"if some “{positive}” items have scores like all others, {first.measure} may lie anywhere "
            f"from {wide(first)}: the labels cannot tell"
        )
    if check := model_check(first):
        lines.append(f"check of the model behind {first.measure}: {check}")
    return lines
