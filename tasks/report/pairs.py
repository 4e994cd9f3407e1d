"""Systems of which every pair is compared, in words and as a table: row minus column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.evalcore.evaluation.estimate import Comparison
from assay.tasks.report import wording
from assay.tasks.report.data import EstimateRow

_MOST_NAMED = 5
_MIRRORED: Mapping[str, str] = {"better": "worse", "worse": "better"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTable:
    """The differences of one measure: a row and a column for each system."""

    systems: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]   # system -> a cell for each system


def pair_table(systems: Sequence[str], found: Sequence[tuple[EstimateRow, Comparison]]) -> PairTable | None:
    """None where the measure has several numbers, which do not fit into one cell."""
    if any(row.class_name is not None for row, _ in found):
        return None
    cells = {(row.system, row.versus): _cell(row, c.verdict, 1) for row, c in found}
    cells |= {
        (row.versus, row.system): _cell(row, _MIRRORED.get(c.verdict, c.verdict), -1) for row, c in found
    }
    return PairTable(
        systems=systems, rows=[(one, [cells.get((one, other), "") for other in systems]) for one in systems]
    )


def pairs_in_words(found: Sequence[tuple[EstimateRow, Comparison]]) -> str:
    """`Of 66 pairs compared by F1, 40 are decided and 26 are open. a is better than 9 others, ...`"""
    open_ones = sum(c.verdict == "open" for _, c in found)
    decided, name = len(found) - open_ones, wording.measure_name(found[0][0].measure)
    said = [f"Of {len(found)} pairs compared by {name}, {decided} {'is' if decided == 1 else 'are'} decided "
            f"and {open_ones} {'is' if open_ones == 1 else 'are'} open."]
    wins: dict[str, int] = {}
    for row, c in found:
        winner = {"better": row.system, "worse": row.versus}.get(c.verdict)
        if winner is not None:
            wins[winner] = wins.get(winner, 0) + 1
    most = sorted(wins.items(), key=lambda item: (-item[1], item[0]))[:_MOST_NAMED]
    if most:
        told = ", ".join(f"{system} {'is ' if i == 0 else ''}better than {wording.plural(n, 'other')}"
                         for i, (system, n) in enumerate(most))
        said.append(told + ".")
    return " ".join(said)


def _cell(row: EstimateRow, verdict: str, sign: int) -> str:
    if row.value is None:
        return "undefined"
    return f"{wording.number(sign * row.value, wording.digits_for(row))} {verdict}"
