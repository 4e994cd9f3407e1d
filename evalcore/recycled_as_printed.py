"""Recycled samples as the paper prints them: Algorithms 1 and 2, and the ensemble that is its own parent.

"Estimating precisions for multiple binary classifiers under limited samples" (ECML PKDD 2020, applied track),
sections 4.1 and 5.1. A sequence is an array of item numbers, in the order drawn, in which items may repeat.

`evalcore.recycled` has our own design, which gives every system a simple random sample without
replacement and asks about each overlap once. This module is the published one, to compare with and to cite.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.types import Ints

Mixing: TypeAlias = Literal["sample", "shuffle"]   # the paper's UniformSample and UniformShuffle


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChildSample:
    """What Algorithm 1 returns, before anybody has labelled it."""

    sequence: Ints            # (n_C,) S_C: item numbers, in order
    recycled: int             # its draws that come from the parent's sample: Lemma 3's savings
    variance_factor: float    # Var(p̂_C) is up to this times p (1 - p) / n_C: 1 for "shuffle", at most 2

    @property
    def saved(self) -> float:
        """The share of the child's sample that needs no label of its own; section 5.1's %Savings / 100."""
        return self.recycled / len(self.sequence) if len(self.sequence) else 0.0


def recycle_for_precision(
    parent: Ints, child: Ints, size: int, parent_sample: Ints, mixing: Mixing, rng: np.random.Generator
) -> ChildSample:
    """Algorithm 1, RecycleSamplesForPrecision, lines 1 to 7.

    parent, child    A_P and A_C: the numbers of the items that each predicts positive, each once
    size             n_C, the length of the child's sample
    parent_sample    S_P: draws from A_P, uniform, with replacement
    mixing           "sample" draws from S+ + S- with replacement; "shuffle" puts it in random order: a
                     stratified sample (Lemma 2)

    Every draw is uniform over A_C by either. Lemma 1 says that those of "sample" are independent as well.
    They are so given S+ + S- only: with A_P = A_C = {a, b} and n_P = n_C = 2 the two are equal with chance
    3/4, not 1/2. Var(p̂_C) is that of the mean of S+ + S- and that of drawing from it, together up to
    1 + min(n_C / |S|, |S| / n_C) times p (1 - p) / n_C, where |S| = |S+| + |S-|. So an interval for
    independent draws is too narrow; with this factor (`variance_factor`) in its variance it covers. The
    factor is ours; docs/measured/papers/errata.md derives it.

    Line 2 asks for |A_C - A_P| |S+| / |A_P ∩ A_C| draws, which is rarely whole; the lemmas take it as whole.
    It is rounded up or down at random, with the chances that keep its mean. The overlap is then drawn
    too often: at most by 1 / (4 |S|²) of its share.

    Raises BadInput for an empty A_C, a size below 1, and draws that are not from A_P.
    """
    if not len(child) or size < 1:
        raise BadInput("a child needs at least one predicted positive, and a sample of at least 1")
    if not np.isin(parent_sample, parent).all():
        raise BadInput("the parent's sample holds items that the parent does not predict positive")
    overlap, rest = np.intersect1d(parent, child), np.setdiff1d(child, parent)
    kept = parent_sample[np.isin(parent_sample, overlap)]                                        # line 1
    wanted = len(rest) * len(kept) / len(overlap) if len(overlap) else 0.0
    added = uniform_sample(rest, int(wanted + rng.random()), rng)                                # line 2
    remain = uniform_sample(child, max(0, size - len(kept) - len(added)), rng)                   # line 3
    length = len(kept) + len(added)
    order = mix_sequence(np.arange(length), mixing, rng)                                         # line 4
    mixed = np.concatenate([kept, added])[order]
    return ChildSample(
        sequence=np.concatenate([mixed, remain])[:size],                                         # lines 5-7
        recycled=int((order[:size] < len(kept)).sum()),
        variance_factor=1 + min(length, size) / max(length, size) if mixing == "sample" else 1.0,
    )


def recycle_down(
    ensemble: Ints, children: Mapping[str, Ints], size: int, mixing: Mixing, rng: np.random.Generator
) -> dict[str, ChildSample]:
    """The recursion of section 4.1: an ensemble's sample of `size` draws, recycled by its members.

    The paper takes "sample", so that a member's draws are independent and it may be a parent in its turn.
    They are not (see `recycle_for_precision`), and each level adds the variance of one more drawing.
    "shuffle" adds none.

    Names -> samples; the ensemble's own has the name "". Raises BadInput as `recycle_for_precision` does.
    """
    if not len(ensemble):
        raise BadInput("an ensemble needs at least one predicted positive")
    own = uniform_sample(ensemble, size, rng)
    found = {"": ChildSample(sequence=own, recycled=0, variance_factor=1.0)}
    for name, child in children.items():
        found[name] = recycle_for_precision(ensemble, child, size, own, mixing, rng)
    return found


def uniform_sample(population: Ints, size: int, rng: np.random.Generator) -> Ints:
    """UniformSample: `size` independent draws with replacement. An empty population gives none."""
    if not len(population):
        return population[:0]
    return population[rng.integers(len(population), size=size)]


def mix_sequence(sequence: Ints, mixing: Mixing, rng: np.random.Generator) -> Ints:
    """Algorithm 2, MixSequence: as many draws with replacement, or the same draws in random order."""
    if mixing == "sample":
        return uniform_sample(sequence, len(sequence), rng)
    return np.asarray(rng.permutation(sequence))
