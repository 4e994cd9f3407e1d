"""Recycled samples: the precision of several classifiers from fewer labels than one sample each.

"Estimating precisions for multiple binary classifiers under limited samples" (ECML PKDD 2020, applied track).
An ensemble (the parent) and its components (the children) predict overlapping sets of positives.  A sample of
the parent's positives contains a sample of each overlap; those labels are recycled, and only what a child's
sample lacks is labelled anew.

Cut the pool into atoms, the items with the same predictions by all S systems:

    A atoms of sizes N_a;  member[a, s] where system s calls atom a positive;  N_s = Σ_{a in s} N_a

A simple random sample of n_s of a system's positives falls on its atoms as a multivariate hypergeometric
count m_sa, and is a simple random sample in each.  So let every atom have one random order, and give each
system the first m_sa items of it: each system's sample is exactly a simple random sample of its positives,
and together they need only max_s m_sa labels of each atom.

    option "exact"     a system's precision is the plain mean of its own sample: unbiased, with the variance
                       and interval of a simple random sample
    option "all"       it is Σ_a N_a/N_s · (mean of all labels of atom a), every atom having at least one
                       label: unbiased as well, and no label of an overlap goes unused

This is a design of our own with the paper's aim.  The paper's own Algorithms 1 and 2, which draw with
replacement, are in `evalcore.recycled.printed`; docs/papers/recycled-samples.md has their figures.  With
equal sample sizes and overlaps PIR = |P ∩ C|/|P| and CIR = |P ∩ C|/|C|, a share min(PIR, CIR) of the
child's labels is recycled, less a little for chance, as in the paper's Table 1.  Live evaluations and
replays of several systems go through the method `recycle` (evalcore.methods.recycled), which takes option
"all".

This module plans; `evalcore.recycled.rates` estimates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from assay.evalcore.errors import BadInput
from assay.evalcore.types import Array, Bools, Ints

RecycleOption: TypeAlias = Literal["exact", "all"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overlaps:
    """How the predicted positives of several systems lie over each other."""

    member: Bools  # (A, S) whether the system calls the atom's items positive
    size: Ints     # (A,)

    @property
    def positives(self) -> Ints:
        """Predicted positives N_s (S,) of each system."""
        return np.asarray((self.member * self.size[:, None]).sum(axis=0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecycledPlan:
    """How many items of each atom are asked, in the atom's own random order."""

    overlaps: Overlaps
    option: RecycleOption
    sample: Ints  # (S, A) items of each atom in each system's sample: the first so many
    ask: Ints     # (A,) labels the plan needs

    @property
    def labels(self) -> int:
        """Labels bought in all."""
        return int(self.ask.sum())

    @property
    def separate(self) -> int:
        """Labels that a sample for each system would have bought."""
        return int(self.sample.sum())

    @property
    def recycled(self) -> int:
        """Labels that served more than one system, counted once for every further one."""
        return self.separate - int(self.sample.max(axis=0).sum())

    @property
    def saved(self) -> float:
        """The share of `separate` that was not bought."""
        return 1 - self.labels / self.separate if self.separate else 0.0


def overlaps_of(predictions: Array) -> tuple[Overlaps, Ints]:
    """The atoms of predictions (N, S) of 0 and 1, and the atom (N,) of each item.

    Atoms come in the order of their prediction patterns, read as binary numbers with the first system first.
    Raises BadInput for anything but 0 and 1.
    """
    predictions = np.asarray(predictions)
    if predictions.ndim != 2 or not np.isin(predictions, (0, 1)).all():
        raise BadInput("predictions of several systems are a table of 0 and 1, one column a system")
    patterns, atom = np.unique(predictions.astype(np.int8), axis=0, return_inverse=True)
    size = np.bincount(atom.ravel(), minlength=len(patterns))
    return Overlaps(member=patterns == 1, size=size.astype(np.int64)), atom.ravel().astype(np.int64)


def sample_size(n_items: int, margin: float = 0.05, confidence: float = 0.95, rate: float = 0.5) -> int:
    """Items for a rate within ± margin: n₀ = z² p(1-p)/margin², corrected for the finite pool, rounded up
    (Cochran 1977, sec. 4.4). Raises BadInput for a margin, confidence or rate outside (0, 1)."""
    if not 0 < margin < 1 or not 0 < confidence < 1 or not 0 < rate < 1:
        raise BadInput(f"margin, confidence and rate lie between 0 and 1, got {margin}, {confidence}, {rate}")
    wanted = ndtri(0.5 + confidence / 2) ** 2 * rate * (1 - rate) / margin**2
    return min(n_items, int(np.ceil(wanted / (1 + (wanted - 1) / n_items)))) if n_items else 0


def plan_recycled(
    overlaps: Overlaps, sizes: Sequence[int], option: RecycleOption, rng: np.random.Generator
) -> RecycledPlan:
    """Draw the samples of all systems.  sizes: n_s, cut to N_s.

    Nothing depends on labels, so a plan is drawn once and its labels may come in any order.
    Raises BadInput for a size below 1 or another number of sizes than systems.
    """
    n_systems = overlaps.member.shape[1]
    if len(sizes) != n_systems or min(sizes) < 1:
        raise BadInput(f"{n_systems} systems need as many sample sizes, each at least 1, got {list(sizes)}")
    sample = np.stack([
        rng.multivariate_hypergeometric(
            np.where(overlaps.member[:, s], overlaps.size, 0),
            min(int(sizes[s]), int(overlaps.positives[s])),
            method="marginals",
        )
        for s in range(n_systems)
    ])
    ask = sample.max(axis=0)
    if option == "all":
        ask = np.maximum(ask, overlaps.member.any(axis=1))
    return RecycledPlan(overlaps=overlaps, option=option, sample=sample, ask=ask)
