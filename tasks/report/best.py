"""The best of several systems, in words and as a part of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.evalcore.evaluation.best import BestSystem, RankedSystem
from assay.tasks.report import wording

_MOST_NAMED = 6


def best_in_words(best: BestSystem, *, finished: bool) -> str:
    """Which system is the best, or that none is known to be, and how sure that is."""
    measure, margin = wording.measure_name(best.measure), wording.plain_number(best.margin)
    sure = f"with {wording.percent(best.confidence)} confidence over all looks"
    if best.winner is not None and best.better_than_all:
        return f"{best.winner} is the best of {len(best.systems)} systems by {measure}, {sure}."
    if best.winner is not None:
        return (
            f"{best.winner} is the best of {len(best.systems)} systems by {measure} within {margin}: no "
            f"other is better by more, {sure}."
        )
    still = best.contenders
    named = ", ".join(still[:_MOST_NAMED]) + (f" and {len(still) - _MOST_NAMED} more"
                                              if len(still) > _MOST_NAMED else "")
    within = f" within {margin}" if best.margin else ""
    if len(still) == 1:      # ahead of all, and not known at a look that counts
        return f"No winner{within} {'is' if finished else 'is yet'} known: {named} is ahead."
    ended = "is known" if finished else "is known yet"
    return (f"No winner{within} {ended}: {len(still)} of {len(best.systems)} systems may be the best by "
            f"{measure} ({named}).")


def ranked_line(one: RankedSystem) -> str:
    """A system, its value, the interval that holds together with those of all, and whether it is out."""
    value = wording.value_and_interval(one.value, one.lower, one.upper)
    return f"{one.system}: {value}{', out: another is better' if one.out else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BestLine:
    """One system in the table."""

    system: str
    value: str
    together: str
    standing: str
    strength: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BestSection:
    """The part of the page about the best system."""

    said: str
    measure: str
    confidence: str
    looks: int
    lines: Sequence[BestLine]
    strengths: bool


def best_section(
    best: BestSystem | None, strengths: Mapping[str, float], *, finished: bool
) -> BestSection | None:
    """None where nobody asked; strengths: of Bradley and Terry, where systems are compared two by two."""
    if best is None:
        return None
    return BestSection(
        said=best_in_words(best, finished=finished), measure=wording.measure_name(best.measure),
        confidence=wording.percent(best.confidence), looks=best.looks, strengths=bool(strengths),
        lines=[
            BestLine(
                system=one.system, value=wording.estimate_text(one.value, one.lower, one.upper),
                together=wording.ends_in_words(one.value, one.lower, one.upper),
                standing="named" if one.system == best.winner else "out" if one.out else "in",
                strength="" if one.system not in strengths else f"{strengths[one.system]:+.2f}",
            )
            for one in best.systems
        ],
    )
