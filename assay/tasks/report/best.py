"""The best of several systems, in words and as a part of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.evalcore.evaluation.best import BestSystem, RankedSystem
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.report import wording

_NAMED_CONTENDERS = 6   # systems still in that a sentence names


def best_in_words(best: BestSystem, *, finished: bool) -> str:
    """Which system is the best, or that none is known to be, and how sure that is. A sentence; `finished`
    says whether more labels may still change it."""
    measure, margin = wording.measure_name(best.measure), wording.plain_number(best.margin)
    sure = f"with {wording.percent(best.confidence)} confidence over all looks"
    exact = all(row.value is not None and row.lower == row.value == row.upper for row in best.systems)
    if best.winner is not None and best.better_than_all and exact:
        return f"{best.winner} is the best of {len(best.systems)} systems by {measure}, exactly."
    if best.winner is not None and best.better_than_all:
        return (
            f"{best.winner} is the best of {len(best.systems)} systems by {measure}, {sure}. (Were another "
            f"exactly as good, each of the two could be named with a chance of up to "
            f"{wording.percent(1 - best.confidence)}.)"
        )
    if best.winner is not None:
        return (
            f"{best.winner} is the best of {len(best.systems)} systems by {measure} within {margin}: no "
            f"other is better by more, {sure}."
        )
    still = best.contenders
    names = ", ".join(still[:_NAMED_CONTENDERS]) + (f" and {len(still) - _NAMED_CONTENDERS} more"
                                              if len(still) > _NAMED_CONTENDERS else "")
    within = f" within {margin}" if best.margin else ""
    if exact and len(still) > 1 and len({row.value for row in best.systems if not row.out}) == 1:
        return f"No winner: {names} are equally good by {measure}, and all of their labels are known."
    if len(still) == 1:      # ahead of all, and not known at a look that counts
        return f"No winner{within} {'is' if finished else 'is yet'} known: {names} is ahead."
    ended = "is known" if finished else "is known yet"
    return (f"No winner{within} {ended}: {len(still)} of {len(best.systems)} systems may be the best by "
            f"{measure} ({names}).")


def ranked_line(row: RankedSystem) -> str:
    """A system, its value, the interval that holds together with those of all, and whether it is out. One
    line of text, for the terminal and the page."""
    value = wording.value_and_interval(row.value, row.lower, row.upper)
    return f"{row.system}: {value}{', out: another is better' if row.out else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BestLine:
    """One system in the table of the best system, as texts: its value, the interval that holds together with
    those of all, whether it is named, in or out, and its strength in pairwise comparisons."""

    system: str
    value: str
    together: str
    standing: str
    strength: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BestSection:
    """The part of the page about the best system, or systems whose rows the pool has side by side."""

    title: str
    said: str
    measure: str
    confidence: str
    caption: str         # what the search for the best comes to; empty where nobody asked for it
    lines: Sequence[BestLine]
    strengths: bool


def best_section(
    best: BestSystem | None, rows: Sequence[MeasureEstimate], strengths: Mapping[str, float], *,
    finished: bool, outcome: OutcomeKind | None,
) -> BestSection | None:
    """None where nobody asked, and rows are of no systems; strengths: of Bradley and Terry, where systems are
    compared two by two. Its lines stand in the order of the ranking."""
    if best is None:
        return _side_by_side(rows, strengths, outcome)
    return BestSection(
        title="Best system", said=best_in_words(best, finished=finished),
        measure=wording.measure_name(best.measure), confidence=wording.percent(best.confidence),
        strengths=bool(strengths), caption=(
            f"A wrong one is named with a chance of at most {wording.percent(1 - best.confidence)}, over all "
            f"{wording.plural(best.looks, 'look')} that count. A system that is out is worse than another, "
            "and gets no more labels."
        ),
        lines=[
            BestLine(
                system=row.system, value=wording.estimate_text(row.value, row.lower, row.upper),
                together=wording.ends_in_words(row.value, row.lower, row.upper),
                standing="named" if row.system == best.winner else "out" if row.out else "in",
                strength="" if row.system not in strengths else f"{strengths[row.system]:+.2f}",
            )
            for row in best.systems
        ],
    )


def _side_by_side(
    rows: Sequence[MeasureEstimate], strengths: Mapping[str, float], outcome: OutcomeKind | None
) -> BestSection | None:
    """The first measure of systems whose rows the pool has, the best first."""
    apart = [row for row in rows if row.band is not None and row.curve is None and row.system is not None]
    shown_rows = [row for row in apart if row.measure == apart[0].measure]
    if not shown_rows:
        return None
    sign = 1.0 if wording.is_error(shown_rows[0].measure, outcome) else -1.0
    ordered = sorted(shown_rows, key=lambda row: (row.value is None, sign * (row.value or 0.0)))
    measure = wording.measure_name(shown_rows[0].measure)
    return BestSection(
        title="Systems side by side", said=f"{measure} of each system's rows.", measure=measure,
        confidence=wording.percent(shown_rows[0].confidence), caption="", strengths=bool(strengths),
        lines=[
            BestLine(
                system=str(row.system), value=wording.value_or_reason(row), standing="",
                together=wording.ends_in_words(
                    row.value, row.band.lower if row.band else None, row.band.upper if row.band else None
                ),
                strength=f"{strengths[str(row.system)]:+.2f}" if row.system in strengths else "",
            )
            for row in ordered
        ],
    )
