"""Systems that are compared: which is better by the first measure, and what is open.

A difference is judged by its simultaneous interval: the intervals of all systems hold together, so with many
systems none is called better by chance more often than the confidence says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from typing_extensions import TypedDict

from assay.evalcore.evaluation.best import SystemRanks
from assay.evalcore.evaluation.estimate import Comparison, MeasureEstimate
from assay.evalcore.printed import printed
from assay.tasks.report import wording
from assay.tasks.report.rendering import BAND, LIMIT, LINE, SOFT, Picture, is_narrow, picture, shortened_name
from assay.tasks.report.standing import StateName

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from assay.tasks.report.data import ComparedSystems, ReportData

_NAMED_WINNERS = 5   # systems that a sentence names, those that won most first
_MIRRORED: Mapping[str, str] = {"better": "worse", "worse": "better"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTable:
    """The differences of one measure: a row and a column for each system."""

    systems: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]   # system -> a cell for each system


def pair_table(
    systems: Sequence[str], pairs: Sequence[tuple[MeasureEstimate, Comparison]]
) -> PairTable | None:
    """None where the measure has several numbers, which do not fit into one cell."""
    if any(row.class_name is not None for row, _ in pairs):
        return None
    cells = {(row.system, row.versus): _pair_cell(row, c.verdict, 1) for row, c in pairs}
    cells |= {
        (row.versus, row.system): _pair_cell(row, _MIRRORED.get(c.verdict, c.verdict), -1) for row, c in pairs
    }
    return PairTable(
        systems=systems, rows=[(name, [cells.get((name, base), "") for base in systems]) for name in systems]
    )


def pairs_in_words(pairs: Sequence[tuple[MeasureEstimate, Comparison]]) -> str:
    """`Of 66 pairs compared by F1, 40 are decided and 26 are open. a is better than 9 others, ...` Systems
    that beat many others are named first."""
    open_ones = sum(c.verdict == "open" for _, c in pairs)
    decided, name = len(pairs) - open_ones, wording.measure_name(pairs[0][0].measure)
    parts = [f"Of {len(pairs)} pairs compared by {name}, {decided} {'is' if decided == 1 else 'are'} decided "
            f"and {open_ones} {'is' if open_ones == 1 else 'are'} open."]
    wins: dict[str, int] = {}
    for row, c in pairs:
        winner = {"better": row.system, "worse": row.versus}.get(c.verdict)
        if winner is not None:
            wins[winner] = wins.get(winner, 0) + 1
    winners = sorted(wins.items(), key=lambda item: (-item[1], item[0]))[:_NAMED_WINNERS]
    if winners:
        text = ", ".join(f"{system} {'is ' if i == 0 else ''}better than {wording.plural(n, 'other')}"
                         for i, (system, n) in enumerate(winners))
        parts.append(text + ".")
    return " ".join(parts)


def _pair_cell(row: MeasureEstimate, verdict: str, sign: int) -> str:
    if row.value is None:
        return "undefined"
    return f"{wording.number(sign * row.value, wording.digits_for(row))} {verdict}"


_TOLD_SYSTEMS = 3   # systems that are told of in a sentence each
_WORDS = {
    "better": "better", "worse": "worse", "different": "different", "tie": "the same", "open": "open",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonLine:
    """One difference between two systems as a table prints it: measure, systems, value, its own and its
    simultaneous interval, the chance that the new system is better, and the verdict in words."""

    name: str            # the measure
    of: str              # the system and the class
    segment: str         # "" for the whole pool
    undefined: str | None
    value: str
    interval: str
    together: str        # the simultaneous interval
    chance: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSection:
    """Everything the template prints where systems are compared: the figure of differences from the
    baseline, a line for each difference in the pool and in segments, and how often predictions agree
    without any label."""

    baseline: str
    figure: Picture
    lines: Sequence[ComparisonLine]
    agreeing: Sequence[str]   # what is known of the predictions without any label
    together: int             # intervals that hold together
    positive: str | None      # the class that measures count; None where all stand equal
    all_pairs: bool
    pairs: PairTable | None   # where every pair is compared
    by_segment: Sequence[ComparisonLine]


def levels_of(rows: Sequence[MeasureEstimate]) -> list[MeasureEstimate]:
    """The estimates of single systems on the whole pool: rows without a segment and without a comparison.
    They are in the order of the systems."""
    return [row for row in rows if row.segment is None and row.comparison is None]


def differences_of(rows: Sequence[MeasureEstimate]) -> list[tuple[MeasureEstimate, Comparison]]:
    """The differences between systems, of the whole pool, with what they say."""
    return [(row, row.comparison) for row in rows if row.segment is None and row.comparison is not None]


def differences_by_segment(rows: Sequence[MeasureEstimate]) -> list[tuple[MeasureEstimate, Comparison]]:
    """The differences between systems within segments, each with what it says of which is better; those of
    the whole pool are left out. A table of the report is made of them."""
    return [
        (row, row.comparison) for row in rows if row.segment is not None and row.comparison is not None
    ]


def first_differences(rows: Sequence[MeasureEstimate]) -> list[tuple[MeasureEstimate, Comparison]]:
    """The differences of the first measure: what the comparison is judged by."""
    differences = differences_of(rows)
    return [(row, c) for row, c in differences if row.measure == differences[0][0].measure]


def decided(rows: Sequence[MeasureEstimate]) -> bool:
    """Whether every difference of the first measure has a verdict other than open; True where there are no
    differences. An evaluation that compares systems has then answered what was asked."""
    return all(c.verdict != "open" for _, c in first_differences(rows))


def finding(data: "ReportData") -> str:
    """Which systems are better than the baseline, and what is open; from how many labels. One sentence a
    difference, or a count of both where there are many."""
    differences = first_differences(data.estimates)
    if len(differences) <= _TOLD_SYSTEMS:
        parts = [verdict_in_words(row, c) for row, c in differences]
    else:
        all_pairs = data.systems is not None and data.systems.all_pairs
        parts = [pairs_in_words(differences) if all_pairs else _in_numbers(differences)]
    based = (
        f"From {wording.plural(data.labels, 'label', 'labels')} on a pool of "
        f"{wording.grouped_digits(data.pool.n)} items."
    )
    return " ".join([*parts, based])


_SHORT = {
    "better": "{new} is better", "worse": "{new} is worse", "different": "They differ", "tie": "The same",
    "open": "Open",
}


def verdict_of_all(data: "ReportData") -> tuple[str, str] | None:
    """The finding of the first measure in a word or two, and what it rests on; None without systems. Both are
    texts for the head of the report."""
    differences = first_differences(data.estimates)
    if not differences:
        return None
    row, c = differences[0]
    if len(differences) > 1:
        open_ = sum(difference.verdict == "open" for _, difference in differences)
        word = "All decided" if not open_ else f"{open_} of {len(differences)} open"
        return word, _in_numbers(differences) if data.systems is None or not data.systems.all_pairs \
            else pairs_in_words(differences)
    alone = wording.percent(row.confidence)
    rests = "the whole interval of the difference lies on one side of 0" if c.verdict in _ONE_SIDE else (
        "no label is left that could change it" if c.verdict == "tie"
        else "the interval of the difference holds 0"
    )
    ground = f"By {wording.measure_name(row.measure)}, at {alone}: {rests}."
    return _SHORT[c.verdict].format(new=row.system), ground


_ONE_SIDE = ("better", "worse", "different")


def verdict_in_words(row: MeasureEstimate, c: Comparison) -> str:
    """`v2 is better than v1: F1 is higher by 0.043 (0.010 to 0.076).`"""
    name, at = wording.measure_name(row.measure), f" for {row.class_name}" if row.class_name else ""
    name += at
    if row.value is None:
        return f"{row.system} and {row.versus} cannot be compared yet: {name} is undefined " \
               f"({row.undefined_reason})."
    by = wording.number(abs(row.value), wording.digits_for(row))
    than = "higher" if row.value > 0 else "lower"
    if c.verdict == "tie":
        return f"{row.system} and {row.versus} have the same {name}: no label is left that could change it."
    if c.verdict == "open":
        hint = f" About {wording.plural(c.more_labels, 'more label')} would decide." if c.more_labels else ""
        chance = "" if c.chance_better is None else \
            f", and {row.system} is better with a chance of {chance_in_words(c)}"
        return (
            f"It is open whether {row.system} or {row.versus} is better: {name} of {row.system} is {than} by "
            f"{by}{_ends(row, c)}{chance}.{hint}"
        )
    word = "differs from" if c.verdict == "different" else f"is {c.verdict} than"
    return f"{row.system} {word} {row.versus}: {name} is {than} by {by}{_ends(row, c)}."


def chance_in_words(c: Comparison) -> str:
    """The chance that the new system is better, such as `97%`, `under 1%` or `over 99%`: 0% and 100% stand
    only where that is certain, and `–` where the chance is not known."""
    if c.chance_better is None:
        return "–"
    if c.chance_better in (0.0, 1.0):
        return wording.percent(c.chance_better)
    if c.chance_better < 0.01 or c.chance_better > 0.99:
        return "under 1%" if c.chance_better < 0.5 else "over 99%"
    return wording.percent(round(c.chance_better, 2))


def comparison_section(data: "ReportData") -> ComparisonSection | None:
    """The section of the page; None where no systems are compared."""
    differences = differences_of(data.estimates)
    if data.systems is None or not differences:
        return None
    first_rows = first_differences(data.estimates)
    levels = [row for row in levels_of(data.estimates) if row.measure == first_rows[0][0].measure]
    baseline, systems = data.systems.baseline, data.systems.others
    drawn = [(row, c) for row, c in first_rows if row.versus == baseline]   # every pair would be too many
    return ComparisonSection(
        baseline=baseline,
        figure=forest_figure(levels, drawn, baseline),
        lines=[comparison_line(row, c) for row, c in differences],
        agreeing=agreeing(data.systems, data.pool.n),
        together=first_rows[0][1].together,
        positive=data.systems.positive,
        all_pairs=data.systems.all_pairs,
        pairs=pair_table([baseline, *systems], first_rows) if data.systems.all_pairs else None,
        by_segment=[comparison_line(row, c) for row, c in differences_by_segment(data.estimates)],
    )


def comparison_line(row: MeasureEstimate, c: Comparison) -> ComparisonLine:
    """One difference between systems as texts for a table. Its verdict says, where known, about how many more
    labels would decide. One row of the report's table."""
    hint = f"; about {wording.plural(c.more_labels, 'more label')} would decide" if c.more_labels else ""
    return ComparisonLine(
        name=wording.measure_name(row.measure),
        of=replace(row, versus=None).of if row.segment is None else row.of,
        segment=row.segment or "",
        undefined=row.undefined_reason,
        value=wording.value_or_reason(row),
        interval=wording.interval(row),
        together=wording.ends_in_words(row.value, c.lower, c.upper),
        chance=chance_in_words(c),
        verdict=_WORDS[c.verdict] + hint,
    )


def difference_in_words(row: MeasureEstimate, c: Comparison) -> str:
    """The line for a terminal, after the measure and the systems."""
    line = comparison_line(row, c)
    if line.undefined:
        return f"undefined: {line.undefined}"
    together = f", for all together {line.together}" if c.together > 1 else ""
    return (
        f"{line.value}, {wording.percent(row.confidence)} interval {line.interval}{together}; better with a "
        f"chance of {line.chance}: {line.verdict}"
    )


def agreeing(systems: "ComparedSystems", items: int) -> list[str]:
    """What the predictions alone say: how often each system says what the baseline says."""
    return [
        f"{name} and {systems.baseline} predict the same for "
        f"{wording.percent(round(1 - systems.differing[name] / items, 4))} of the pool; they differ on "
        f"{wording.plural(systems.differing[name], 'item')}."
        for name in systems.others if name in systems.differing
    ]


class ComparedJson(TypedDict):
    """What `assay compare --json` prints: the estimates of several systems on one pool, their differences
    from the baseline or from each other, and both by segment. `decided` is true once no difference of the
    first measure is open."""

    evaluation: str
    state: StateName
    labels: int
    rounds: int
    items: int                       # of the pool
    baseline: str
    systems: list[str]               # the baseline first
    differing: dict[str, int]        # system -> items that it predicts otherwise than the baseline
    pairs: Literal["all", "baseline"]  # which differences there are
    decided: bool                    # every difference of the first measure
    estimates: list[MeasureEstimate]    # of each system
    differences: list[MeasureEstimate]
    by_segment: list[MeasureEstimate]   # both in each segment, where the spec names any
    ranks: SystemRanks | None        # by the first measure; null where it is of several numbers


def comparison_json(data: "ReportData", systems: "ComparedSystems") -> ComparedJson:
    """The object that `assay compare --json` prints: systems, estimates and differences of the pool, then
    both in each segment, from the data of a report."""
    return {
        "evaluation": data.evaluation,
        "state": data.state,
        "labels": data.labels,
        "rounds": data.rounds,
        "items": data.pool.n,
        "baseline": systems.baseline,
        "systems": [systems.baseline, *systems.others],
        "differing": dict(systems.differing),
        "pairs": "all" if systems.all_pairs else "baseline",
        "decided": decided(data.estimates),
        "estimates": [printed(row) for row in levels_of(data.estimates)],
        "differences": [printed(row) for row, _ in differences_of(data.estimates)],
        "by_segment": [printed(row) for row in data.estimates if row.segment is not None],
        "ranks": printed(data.ranks),
    }


def _in_numbers(differences: Sequence[tuple[MeasureEstimate, Comparison]]) -> str:
    """`Of 13 systems, 2 are better than v1 by F1, 3 are worse and 8 are open: a, b are better.`"""
    row = differences[0][0]
    by_verdict = {word: [r.of for r, c in differences if c.verdict == word] for word in _WORDS}
    counts = [
        f"{len(names)} {'is' if len(names) == 1 else 'are'} {_WORDS[word]}"
        for word, names in by_verdict.items() if names
    ]
    better = [r.system or "" for r, c in differences if c.verdict == "better"]
    better_text = f" Better: {', '.join(better)}." if better else ""
    return (
        f"Of {len(differences)} systems compared with {row.versus} by {wording.measure_name(row.measure)}, "
        f"{', '.join(counts)}.{better_text}"
    )


def _ends(row: MeasureEstimate, c: Comparison) -> str:
    """The simultaneous interval of the size of a difference, in brackets."""
    if c.lower is None or c.upper is None or c.lower == c.upper:
        return ""
    ends = (c.lower, c.upper) if (row.value or 0) > 0 else (-c.upper, -c.lower)
    return f" ({wording.percent(row.confidence)} interval {wording.ends_in_words(row.value, *ends)})"


_LONGEST_FIGURE_NAME = 24   # characters of a name


def forest_figure(
    levels: Sequence[MeasureEstimate], differences: Sequence[tuple[MeasureEstimate, Comparison]],
    baseline: str,
) -> Picture:
    """Two panels: every system, and every difference; a thin line is the simultaneous interval."""
    height = 1.1 + 0.28 * max(len(levels), len(differences))
    return picture(
        partial(_draw_forest, levels, differences, baseline), (7.2, height), _forest_in_words(differences),
        style={"font.size": 8.5, "axes.labelsize": 9}, narrow=2 * height,
    )


def _draw_forest(
    levels: Sequence[MeasureEstimate], differences: Sequence[tuple[MeasureEstimate, Comparison]],
    baseline: str, figure: "Figure",
) -> None:
    level_ax, gap_ax = figure.subplots(2, 1) if is_narrow(figure) else figure.subplots(1, 2)
    name = wording.measure_name(levels[0].measure)
    _forest_panel(level_ax, levels, [_forest_name(row) for row in levels])
    level_ax.set_xlabel(name)
    rows = [row for row, _ in differences]
    for y, (_, c) in enumerate(differences):
        if c.lower is not None and c.upper is not None:
            gap_ax.plot([c.lower, c.upper], [y, y], color=SOFT, linewidth=1.0, solid_capstyle="butt")
    _forest_panel(gap_ax, rows, [_forest_name(row) for row in rows])
    gap_ax.axvline(0, color=LIMIT, linewidth=1.0, dashes=(3, 2))
    gap_ax.set_xlabel(f"{name}, minus that of {shortened_name(baseline, _LONGEST_FIGURE_NAME)}")


def _forest_panel(ax: "Axes", rows: Sequence[MeasureEstimate], names: Sequence[str]) -> None:
    from matplotlib.ticker import MaxNLocator

    for y, row in enumerate(rows):
        if row.lower is not None and row.upper is not None:
            ax.plot([row.lower, row.upper], [y, y], color=BAND, linewidth=6, solid_capstyle="butt", zorder=1)
        if row.value is not None:
            ax.plot([row.value], [y], marker="o", markersize=4.2, color=LINE, zorder=3)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.grid(axis="x")


def _forest_name(row: MeasureEstimate) -> str:
    parts = [shortened_name(part, _LONGEST_FIGURE_NAME) for part in (row.system, row.class_name) if part]
    return ", ".join(parts)


def _forest_in_words(differences: Sequence[tuple[MeasureEstimate, Comparison]]) -> str:
    """The forest plot in words."""
    text = "; ".join(
        f"{row.of} {wording.row_in_short(row)}" for row, _ in differences
    )
    return f"Differences of {wording.measure_name(differences[0][0].measure)}: {text}."
