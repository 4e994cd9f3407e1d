"""Which classes a window predicts at all: classes that are new, classes that are lost, and a collapse to one.

If the items of a window were like those of the windows before it, all k items that are predicted to be of
some class would lie among the m earlier ones, and none among the n new ones, with the chance

    C(m, k) / C(n + m, k)  <=  (m / (n + m))^k

and the other way round for a class that is new.  So a class that is rare anyway is not called lost because
one small window does without it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log


@dataclass(frozen=True, slots=True)
class ChangedClasses:
    """The predicted classes of a window that are new, or lost, against the windows before it, by name."""

    new: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Collapse:
    """All items of a window are predicted to be of one class."""

    name: str
    usual: float    # the share of items that the windows before predicted so


def changed_classes(
    counts_now: Mapping[str, int], before: Sequence[Mapping[str, int]], rate: float
) -> ChangedClasses:
    """The classes that are predicted only now, and those that no longer are.

    counts_now, before   items by predicted class, of the window and of each window before it
    rate                 the chance that chance alone makes any class new or lost
    """
    together = _together(before)
    n, m = sum(counts_now.values()), together.total()
    names = sorted({
        *(name for name, k in counts_now.items() if k),
        *(name for name, k in together.items() if k),
    })
    if not n or not m:
        return ChangedClasses(new=(), lost=())
    price = rate / max(len(names), 1)
    return ChangedClasses(
        new=tuple(c for c in names if not together[c] and _all_on_one_side(counts_now[c], n, m) <= price),
        lost=tuple(
            c for c in names if not counts_now.get(c) and _all_on_one_side(together[c], m, n) <= price
        ),
    )


def collapsed_to(
    counts_now: Mapping[str, int], before: Sequence[Mapping[str, int]], rate: float
) -> Collapse | None:
    """The only class that is predicted, where chance does not explain it; None elsewhere. As above. `rate` is
    the chance of a false alarm in one window."""
    together = _together(before)
    n, m = sum(counts_now.values()), together.total()
    predicted = [name for name, k in counts_now.items() if k]
    if len(predicted) != 1 or not m:
        return None
    other_items = m - together[predicted[0]]
    if not other_items or _all_on_one_side(other_items, m, n) > rate:
        return None
    return Collapse(name=predicted[0], usual=together[predicted[0]] / m)


def _together(counts_of_windows: Sequence[Mapping[str, int]]) -> Counter[str]:
    total = Counter[str]()
    for counts in counts_of_windows:
        total.update(counts)
    return total


def _all_on_one_side(k: int, n_own: int, n_other: int) -> float:
    """The chance that k of own + other items are all among the own ones, at most."""
    return exp(k * (log(n_own) - log(n_own + n_other)))
