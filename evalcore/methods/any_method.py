"""What an evaluation, a replay or a monitor asks of a method, whatever people answer.

Two families give it: `evalcore.methods.base.Method` for a positive and a negative class, whose state counts
labels by cell, and `evalcore.outcome_methods.base.OutcomeMethod` for any outcome, whose state has a row for
each labelled item.  What only some methods can do is a protocol of its own beside its only caller, or a
capability.

    R   repeats side by side: 1 in a live evaluation;  C   cells
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from assay.evalcore.design.draws import Draws
from assay.evalcore.design.round import ClosedDraws, EstimateArrays
from assay.evalcore.types import Floats, Ints


class AnyMethod(Protocol):
    """A method of either family.  `measures`, `cells` and `state` are of the family's own classes."""

    @property
    def name(self) -> str:
        """Never `auto`."""
        ...

    @property
    def interval(self) -> str:
        """The kind of interval it reports."""
        ...

    @property
    def interval_note(self) -> str:
        """What intervals of that kind were measured to cover."""
        ...

    @property
    def holds_at_every_look(self) -> bool:
        """Whether its intervals hold all together, however often people look and decide to go on."""
        ...

    @property
    def sampling_note(self) -> str:
        """How items are chosen, in sentences for a report; empty where the name says enough."""
        ...

    @property
    def one_at_a_time(self) -> bool:
        """Whether the items of a batch are drawn one after the other."""
        ...

    @property
    def asks_anew(self) -> bool:
        """Whether every draw asks about its item, labelled before or not, and counts as a label bought."""
        ...

    @property
    def negatively_associated(self) -> bool:
        """Of draws without replacement, whether the chance to miss items is at most the product of theirs."""
        ...

    def least_coverage(self, confidence: float) -> float:
        """The coverage that a replay holds its intervals of this confidence to."""
        ...

    def first_state(self, cells: Any, measures: Any, repeats: int, evidence: Floats | None = None) -> Any:
        """Before any label of this pool; evidence (C, K): pseudo-labels that the label model starts from.

        Raises BadInput for evidence where the label model takes none.
        """
        ...

    def round_size(self, state: Any, size: Ints) -> Ints:
        """How many (R,) items the next round may have, of the `size` (R,) wanted."""
        ...

    def next_round(self, state: Any, size: Ints, rng: np.random.Generator) -> tuple[Any, Draws]:
        """The design and the draws of a round of at most `size` (R,) new items."""
        ...

    def heard(self, state: Any, answered: ClosedDraws) -> Any:
        """The answers of a live round (R = 1) in the form that `learn` takes.

        Raises BadInput for answers that are none, or where what the pool says of the items is missing.
        """
        ...

    def learn(self, state: Any, design: Any, heard: Any, excluded: Ints) -> Any:
        """The state with a round's answers; excluded (R, C): items that stayed undecided."""
        ...

    def spent(self, before: Any, after: Any, size: Ints) -> Ints:
        """Labels (R,) that a round which was to bring `size` counts for."""
        ...

    def with_known(self, state: Any, known: Mapping[tuple[int, int], float]) -> Any:
        """With these codes by (cell, rank) in place of what is counted, in methods that count by cell."""
        ...

    def refit(self, state: Any) -> Any:
        """With the label model, where there is one, fitted to the labels in the state."""
        ...

    def numbers(self, state: Any, confidence: float, rng: np.random.Generator) -> list[EstimateArrays]:
        """The estimate of each number that is asked for, in order; exact where no label can change it."""
        ...
