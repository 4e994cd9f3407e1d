"""Repeated answers: from two columns, the item of each row and whether its answer is right, to what they say.

Epochs of one prompt, samples of one question, attempts at one task: a row for each.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.repeats import AnsweredItems, Repeats, repeated_answers
from assay.tasks.report import wording
from assay.tasks.sources.values import as_text

RIGHT, WRONG = frozenset(("true", "1", "1.0")), frozenset(("false", "0", "0.0"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatColumns:
    """Which columns say what, and what is asked of them."""

    item: str                       # names the item of a row: the question, the prompt
    label: str                      # whether the answer is right; empty where nobody has said
    positive: str | None = None     # the label of a right answer; None: true and false, or 1 and 0
    draws: Sequence[int] = (1, 4)   # every k of pass@k
    confidence: float = 0.95
    prices: tuple[float, float] | None = None    # of an item, and of an answer

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        return [self.item, self.label]


def repeats_of_columns(columns: Mapping[str, pa.Array], roles: RepeatColumns) -> tuple[Repeats, int]:
    """What repeated answers say, and how many rows have no label and are left out.

    Raises BadInput for a row without an item, for labels that are none, and as `repeated_answers`.
    """
    names = as_text(columns[roles.item]).to_pylist()
    if None in names or "" in names:
        row = next(i for i, name in enumerate(names) if name in (None, ""))
        raise BadInput(f"column {roles.item!r}: row {row} names no item; every answer is one to an item")
    labels = as_text(columns[roles.label]).to_pylist()
    answers: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for name, label in zip(names, labels, strict=True):
        if label in (None, ""):
            continue
        answers[name] += 1
        right[name] += _is_right(label, roles)
    if roles.positive is not None and not right.total() and answers:
        examples = ", ".join(sorted({str(label) for label in labels if label})[:5])
        raise BadInput(f"column {roles.label!r}: no answer is {roles.positive!r}; its labels are {examples}")
    fewest = min(answers.values(), default=0)
    largest = max(roles.draws)
    few = next((name for name, n in answers.items() if n < largest), None)
    if few is not None:
        raise BadInput(f"item {few!r} has {plural(answers[few], 'answer')} with a label, and k = {largest} "
                       f"needs {largest} of every item; ask for k of {fewest} or less, or leave such items "
                       "out")
    counts = AnsweredItems(
        right=np.array([right[name] for name in answers], np.int64),
        answers=np.array(list(answers.values()), np.int64),
    )
    found_repeats = repeated_answers(counts, roles.draws, roles.confidence, roles.prices)
    return found_repeats, len(labels) - answers.total()


def _is_right(label: str, roles: RepeatColumns) -> bool:
    if roles.positive is not None:
        return label == roles.positive
    written = label.lower()
    if written not in RIGHT | WRONG:
        raise BadInput(f"column {roles.label!r} has {label!r}, which is neither true nor false, 1 nor 0; say "
                       "which label is that of a right answer (positive)")
    return written in RIGHT


def repeats_in_words(repeats: Repeats, unlabelled: int) -> str:
    """Lines for a terminal."""
    lines = [f"{plural(repeats.items, 'item')}, {plural(repeats.answers, 'answer')} with a label"
             + (f"; {plural(unlabelled, 'row')} without one left out" if unlabelled else "")]
    lines += [
        f"  {row.measure:<10} {wording.value_and_interval(row.value, row.lower, row.upper)}"
        for row in repeats.measures
    ]
    share = wording.percent(round(repeats.share_between, 2))
    lines.append(f"  {share} of the variance of an answer is between items, the rest within them")
    if repeats.price is not None:
        price = repeats.price
        lines.append(f"  {plural(price.answers, 'answer')} of an item are worth their price"
                     if price.answers > 1 else "  one answer of an item is worth its price, and no more")
        if price.answers > 1:
            times = f"{price.variance_of_one:.2g}"
            lines[-1] += f": one each would take {times} times the money for the same error"
    return "\n".join(lines)
