"""The labelled items of an evaluation, each with the number of items of the pool that it stands for.

With weights w the mean of any function of an item is estimated by Σ w f / Σ w, and the variance of a sum of
small pulls z by

    V(Σ w z) = Σ_i v_i (z_i - z̄_g(i))²          z̄_g: the mean of the group, 0 where an item has no group

v_i says what the design left to chance: 0 for an item that was certain to be asked.
"""

from dataclasses import dataclass

from assay.evalcore.types import Bools, Floats, Ints

NO_GROUP = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedSample:
    """Every item of the evaluation that has a label, once; n of them."""

    cell: Ints           # (n,)
    rank: Ints           # (n,) position of the item inside its cell
    round: Ints          # (n,) in which it was labelled, counted from 1
    draw: Ints           # (n,) the first draw of it in that round, counted from 0
    label: Floats        # (n,) the code of its outcome: see `evalcore.outcomes.codes`
    probability: Floats  # (n,) of that draw, or of the item to be in that round
    weight: Floats       # (n,) items that it stands for, itself included
    factor: Floats       # (n,) v
    group: Ints          # (n,) items whose pulls are centred together; NO_GROUP for none
    reached: Bools       # (C,) cells whose items can be drawn
    exact: bool          # everything that can be drawn is labelled

    def __len__(self) -> int:
        return len(self.cell)
