"""Recycled samples: the precision and recall of several classifiers from fewer labels than one sample each.

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
replacement, are at the end (`recycle_for_precision`); docs/measured/papers/recycled-samples.md has figures.
With equal sample sizes and overlaps PIR = |P ∩ C|/|P| and CIR = |P ∩ C|/|C|, a share min(PIR, CIR) of the
child's labels is recycled, less a little for chance, as in the paper's Table 1.  Live evaluations and
replays of several systems go through the method `recycle` (evalcore.methods.two_classes.recycled), which
takes option "all".

`plan_recycled` plans; `precisions`, `simple_rate` and `recalls` estimate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy

from assay.evalcore.errors import BadInput
from assay.evalcore.pool.strata import Cells
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Array, Bools, Floats, Ints

RecycleOption: TypeAlias = Literal["exact", "all"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overlaps:
    """How the predicted positives of several systems lie over each other."""

    member: Bools  # (A, S) whether the system calls the atom's items positive
    size: Ints     # (A,)

    @property
    def positives(self) -> Ints:
        """The number of predicted positives N_s of each system, (S,)."""
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
        """The number of labels that the plan buys in all."""
        return int(self.ask.sum())

    @property
    def separate(self) -> int:
        """The number of labels that a sample for each system by itself would have bought. Each of them for
        the precision that the plan has."""
        return int(self.sample.sum())

    @property
    def recycled(self) -> int:
        """Labels that served more than one system, counted once for every further one."""
        return self.separate - int(self.sample.max(axis=0).sum())

    @property
    def saved(self) -> float:
        """The share of the `separate` labels that recycling saves, between 0 and 1; 0 where no labels are
        needed. Without recycling it is 0. `labels` are those that are needed with recycling."""
        return 1 - self.labels / self.separate if self.separate else 0.0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RateEstimate:
    """A precision, a recall or a false-omission rate with its interval, its variance, and the number of
    labels that it rests on; the value is None where nothing can be said."""

    value: float | None   # None where nothing can be said
    lower: float
    upper: float
    variance: float
    labels: int           # that this estimate rests on


def precisions(
    plan: RecycledPlan, labels: Sequence[Array], confidence: float = 0.95
) -> list[RateEstimate]:
    """The precision of each of S systems. labels: for each of A atoms its labels (n_a,), 0 or 1, in the order
    asked.

    Raises BadInput when an atom has another number of labels than the plan asked for.
    """
    cumulative = _cumulative(plan, labels)
    return [
        (_exact if plan.option == "exact" else _all)(plan, cumulative, s, confidence)
        for s in range(len(plan.sample))
    ]


def _cumulative(plan: RecycledPlan, labels: Sequence[Array]) -> list[Ints]:
    """Positives among the first 0, 1, 2 ... labels of each atom."""
    lengths = [len(labels_of_atom) for labels_of_atom in labels]
    if lengths != plan.ask.tolist():
        raise BadInput(f"the plan asked for {plan.ask.tolist()} labels of its atoms, got {lengths}")
    return [
        np.concatenate([[0], np.cumsum(np.asarray(labels_of_atom, np.int64))]) for labels_of_atom in labels
    ]


def _exact(plan: RecycledPlan, cumulative: Sequence[Ints], s: int, confidence: float) -> RateEstimate:
    n, total = int(plan.sample[s].sum()), int(plan.overlaps.positives[s])
    positives = sum(
        int(positives_of_atom[m]) for positives_of_atom, m in zip(cumulative, plan.sample[s], strict=True)
    )
    return simple_rate(positives, n, total, confidence)


def _all(plan: RecycledPlan, cumulative: Sequence[Ints], s: int, confidence: float) -> RateEstimate:
    in_system = plan.overlaps.member[:, s] & (plan.overlaps.size > 0)
    if not in_system.any():
        return RateEstimate(value=None, lower=0.0, upper=1.0, variance=0.0, labels=0)
    size, n = plan.overlaps.size[in_system].astype(np.float64), plan.ask[in_system].astype(np.float64)
    mean = np.array([positives_of_atom[-1] for positives_of_atom in cumulative], np.float64)[in_system] / n
    share = size / size.sum()
    value = float(share @ mean)
    # an atom with one or a few labels cannot tell its own spread: it gets the system's
    spread = np.where(n >= 5, mean * (1 - mean), value * (1 - value)) * n / np.maximum(n - 1, 1)
    variance = float(share**2 @ ((1 - n / size) * spread / n))
    return _rate(value, variance, int(n.sum()), bool((n == size).all()), confidence)


def simple_rate(positives: int, n: int, n_items: int, confidence: float = 0.95) -> RateEstimate:
    """The rate of positives from a simple random sample of n of n_items, with the finite-pool variance. The
    estimate is k/n, and its variance (1 - n/N) p(1 - p)/(n - 1)."""
    if n == 0:
        return RateEstimate(value=None, lower=0.0, upper=1.0, variance=0.0, labels=0)
    value = positives / n
    variance = (1 - n / n_items) * value * (1 - value) / max(n - 1, 1)
    return _rate(value, variance, n, n == n_items, confidence)


def _rate(value: float, variance: float, n: int, census: bool, confidence: float) -> RateEstimate:
    """With a Wilson interval at the effective sample size, which no rate of 0 or 1 shrinks to a point."""
    if census:
        return RateEstimate(value=value, lower=value, upper=value, variance=0.0, labels=n)
    effective = value * (1 - value) / variance if variance > 0 else float(n)
    z2 = scipy.special.ndtri(0.5 + confidence / 2) ** 2
    centre = (value + z2 / (2 * effective)) / (1 + z2 / effective)
    half = np.sqrt(z2 * (value * (1 - value) / effective + z2 / (4 * effective**2))) / (1 + z2 / effective)
    return RateEstimate(
        value=value,
        lower=float(max(centre - half, 0.0)),
        upper=float(min(centre + half, 1.0)),
        variance=variance,
        labels=n,
    )


def recalls(
    overlaps: Overlaps,
    precision: Sequence[RateEstimate],
    omission: RateEstimate,
    *,
    parent: int = 0,
    confidence: float = 0.95,
) -> list[RateEstimate]:
    """The recall of each system; None where its precision or the number of positives is not known.

    omission: the false-omission rate of the parent, see `evalcore.recycled.simple_rate`.
    Raises BadInput for a parent that is not among the systems.

    Recall of several systems from their precisions and one false-omission rate.

    With the parent's precision, the children's (`precisions`), and one simple random sample of the items the
    parent calls negative, which gives its false-omission rate φ, everything is known that recall needs:

        T_s = N_s · precision_s                 true positives of system s
        P   = T_parent + (N - N_parent) φ       positives of the pool
        recall_s = T_s / P

    So recall of S systems costs one sample of negatives, not S.  By the delta method, with r = recall_s,

        Var(r) ≈ (Var T_s - 2 r Cov(T_s, T_parent) + r² (Var T_parent + Var((N - N_parent) φ))) / P²

    The labels a child shares with its parent make the covariance; it is left out except for the parent
    itself, which errs to the wide side.
    """
    if not 0 <= parent < len(precision):
        raise BadInput(f"the parent is one of the {len(precision)} systems, got number {parent}")
    n_negative = int(overlaps.size.sum() - overlaps.positives[parent])
    top, n_top = precision[parent], int(overlaps.positives[parent])
    if (top.value is None and n_top) or (omission.value is None and n_negative):
        return [_unknown() for _ in precision]
    missed = n_negative * (omission.value or 0.0)
    total = n_top * (top.value or 0.0) + missed
    var_missed, var_top = n_negative**2 * omission.variance, n_top**2 * top.variance
    estimates = []
    for s, estimate in enumerate(precision):
        n_s = int(overlaps.positives[s])
        if total <= 0 or (estimate.value is None and n_s):
            estimates.append(_unknown())
            continue
        recall = min(n_s * (estimate.value or 0.0) / total, 1.0)
        if s == parent:
            spread = (1 - recall) ** 2 * var_top + recall**2 * var_missed
        else:
            spread = n_s**2 * estimate.variance + recall**2 * (var_top + var_missed)
        variance = float(spread / total**2)
        half = float(scipy.special.ndtri(0.5 + confidence / 2) * np.sqrt(variance))
        sure = variance == 0 and _is_exact(estimate) and _is_exact(top) and _is_exact(omission)
        estimates.append(
            RateEstimate(
                value=recall,
                # a variance of zero from a sample is ignorance: the whole range
                lower=recall if sure else max(recall - half, 0.0) if variance > 0 else 0.0,
                upper=recall if sure else min(recall + half, 1.0) if variance > 0 else 1.0,
                variance=variance,
                labels=estimate.labels + omission.labels,
            )
        )
    return estimates


def _is_exact(estimate: RateEstimate) -> bool:
    return estimate.value is None or estimate.lower == estimate.upper


def _unknown() -> RateEstimate:
    return RateEstimate(value=None, lower=0.0, upper=1.0, variance=0.0, labels=0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Whose samples the cells belong to: for each of G groups which of C cells are in it, and how many items
    it has.

    How samples of several systems share their labels: the allocation behind the method `recycle`.

        S systems, the parent first; C cells, the atoms of equal predictions; G groups of items
        N_g     items of a group: what a system calls positive, or what the parent calls negative
        t_c(n)  max over the groups of cell c of min(n, N_g) N_c / N_g, and at least one item

    t_c(n) is what cell c must be asked so that every group has a proportional sample of n; Σ_c t_c(n) grows
    with n, so a number of labels has a level n.
    """

    size: Ints     # (C,) items of the cells
    member: Bools  # (G, C)
    items: Ints    # (G,) N_g


def calls_of_systems(cells: Cells) -> Ints:
    """What every system calls each cell, (S, C): the parent, then the children by the bits of the stratum. S
    counts systems and C cells, with 0 and 1 as entries."""
    children = max(cells.n_slots - 1, 0).bit_length()
    bits = [(cells.stratum >> s) & 1 for s in range(children)]
    return np.stack([cells.prediction, *bits]).astype(np.int64)


def groups_of(cells: Cells, predicted: Ints, *, negatives: bool) -> Groups:
    """The groups that are not empty. predicted (S, C), 0 or 1; `negatives`: with the parent's predicted
    negatives. S counts systems and C cells; Poms et al. sample each group by itself."""
    rows = [*(predicted == 1), *([predicted[0] == 0] if negatives else [])]
    member = np.stack([row for row in rows if row.any()] or [predicted[0] == 1])
    return Groups(size=cells.size, member=member, items=(member * cells.size).sum(axis=1))


def shares(groups: Groups, n: Floats) -> Floats:
    """The number of items of each cell that the samples take, (R, C), at levels n (R,): the largest share
    that any group wants of it, and at least 1 of every cell that a group has, once n is above 0."""
    sampled = np.minimum(n[:, None], groups.items) / np.maximum(groups.items, 1)      # (R, G)
    largest = (sampled[:, :, None] * groups.member).max(axis=1)                      # (R, C)
    labels = largest * groups.size
    touched = groups.member.any(axis=0) & (n > 0)[:, None]
    return np.where(touched, np.maximum(labels, 1.0), 0.0)


def level(groups: Groups, labels: Ints) -> Floats:
    """The n (R,) whose shares add up to labels (R,); 0 while there is not one label for every cell. R counts
    the repeats, and shares are those of the cells."""
    low: Floats = np.zeros(len(labels))
    high: Floats = np.full(len(labels), float(groups.items.max(initial=1)))
    for _ in range(60):
        middle = (low + high) / 2
        enough = shares(groups, middle).sum(axis=1) >= labels
        low, high = np.asarray(np.where(enough, low, middle)), np.asarray(np.where(enough, middle, high))
    reached = shares(groups, high).sum(axis=1) <= labels + 1e-6
    return np.where(reached, high, 0.0)


def behind(groups: Groups, labelled: Ints, eligible: Ints, size: Ints) -> Floats:
    """How many items (R, C) each cell lacks of its share of all labels so far and `size` (R,) more. labelled,
    eligible (R, C): items labelled so far, and the most that may be added."""
    target = shares(groups, np.maximum(level(groups, labelled.sum(axis=1) + size), 1e-9))
    return np.asarray(np.clip(target - labelled, 0.0, eligible))


def separate_labels(groups: Groups, n: Floats) -> Floats:
    """Labels (R,) that a sample of n for each group would cost."""
    return np.asarray(np.minimum(n[:, None], groups.items).sum(axis=1))


Mixing: TypeAlias = Literal["sample", "shuffle"]   # the paper's UniformSample and UniformShuffle


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChildSample:
    """The sample of a child as Algorithm 1 returns it, before anybody has labelled it: item numbers in
    order, how many come from the parent's sample, and the factor by which its variance may rise.

    Recycled samples as the paper prints them: Algorithms 1 and 2, and the ensemble that is its own parent.

    "Estimating precisions for multiple binary classifiers under limited samples" (ECML PKDD 2020, applied
    track), sections 4.1 and 5.1. A sequence is an array of item numbers, in the order drawn, in which items
    may repeat.

    Our own design, above, gives every system a simple random sample without replacement and asks about each
    overlap once.  This is the published one, to compare with and to cite.
    """

    sequence: Ints            # (n_C,) S_C: item numbers, in order
    recycled: int             # its draws that come from the parent's sample: Lemma 3's savings
    variance_factor: float    # Var(p̂_C) is up to this times p (1 - p) / n_C: 1 for "shuffle", at most 2

    @property
    def saved(self) -> float:
        """The share of the child's sample that needs no label of its own; section 5.1's %Savings / 100.
        Between 0 and 1. It is 0 for a child without a sample."""
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
    overlap, only_child = np.intersect1d(parent, child), np.setdiff1d(child, parent)
    reused = parent_sample[np.isin(parent_sample, overlap)]                                        # line 1
    expected = len(only_child) * len(reused) / len(overlap) if len(overlap) else 0.0
    added = uniform_sample(only_child, int(expected + rng.random()), rng)  # line 2
    remain = uniform_sample(child, max(0, size - len(reused) - len(added)), rng)                   # line 3
    length = len(reused) + len(added)
    order = mix_sequence(np.arange(length), mixing, rng)                                         # line 4
    mixed = np.concatenate([reused, added])[order]
    return ChildSample(
        sequence=np.concatenate([mixed, remain])[:size],                                         # lines 5-7
        recycled=int((order[:size] < len(reused)).sum()),
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
    ensemble_sample = uniform_sample(ensemble, size, rng)
    samples = {"": ChildSample(sequence=ensemble_sample, recycled=0, variance_factor=1.0)}
    for name, child in children.items():
        samples[name] = recycle_for_precision(ensemble, child, size, ensemble_sample, mixing, rng)
    return samples


def uniform_sample(population: Ints, size: int, rng: np.random.Generator) -> Ints:
    """UniformSample: `size` independent draws with replacement. An empty population gives none."""
    if not len(population):
        return population[:0]
    return population[rng.integers(len(population), size=size)]


def mix_sequence(sequence: Ints, mixing: Mixing, rng: np.random.Generator) -> Ints:
    """Algorithm 2, MixSequence: as many draws with replacement, or the same draws in random order. The
    parent's labels are taken first as often as the child's sample allows."""
    if mixing == "sample":
        return uniform_sample(sequence, len(sequence), rng)
    return np.asarray(rng.permutation(sequence))


def precision_of_child(
    positives: int, child: ChildSample, confidence: float = 0.95
) -> RateEstimate:
    """The precision of a classifier from its labelled sample: positives of its draws were positive.

    The share of positives with the variance of independent draws times `variance_factor`, and a Wilson
    interval at the number of independent draws that they are worth.
    """
    n = len(child.sequence)
    value = positives / n
    return _rate(value, child.variance_factor * value * (1 - value) / n, n, False, confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecycledSystem:
    """What the sample of one system is and what its labels say: draws, different items, how many were
    recycled, and the precision with its interval once all labels are there."""

    system: str
    predicted_positive: int    # items
    sample: int                # draws, of which items may repeat
    items: tuple[str, ...]     # the different items that are drawn, in order
    new: int                   # of them, those that no system before it draws
    recycled: int              # draws that come from the parent's sample
    saved: float               # share of the draws that needed no label of their own: equation 1
    variance_factor: float
    unlabelled: int            # items of the sample without a label
    precision: float | None    # None while a label is missing
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recycling:
    """How recycled samples are drawn, the same for all systems: their size, how draws are mixed, the seed,
    and the confidence."""

    size: int                  # draws of each system
    mixing: Mixing = "shuffle"
    seed: int = 1              # the same seed draws the same samples
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.size < 1 or not 0 < self.confidence < 1:
            raise BadInput(f"size is at least 1 and confidence between 0 and 1, got {self.size} and "
                           f"{self.confidence}")


def recycled_systems(
    ids: Sequence[str], called: Mapping[str, Bools], label: Sequence[bool | None], recycling: Recycling
) -> list[RecycledSystem]:
    """The parent's sample and those of the others, by Algorithms 1 and 2, with what labels say of each.

    ids (N,); called: what each system calls positive (N,), the parent first; label (N,): None where there is
    none.  Raises BadInput as `recycle_for_precision`.
    """
    rng = stream(recycling.seed, "recycle", recycling.size, recycling.mixing)
    parent, *other_systems = called
    children = {name: np.flatnonzero(called[name]) for name in other_systems}
    samples = recycle_down(np.flatnonzero(called[parent]), children, recycling.size, recycling.mixing, rng)
    sample_of_system = {parent: samples.pop(""), **samples}
    reports, items_so_far = [], set[int]()
    for name, child in sample_of_system.items():
        distinct = list(dict.fromkeys(child.sequence.tolist()))
        missing = sum(label[i] is None for i in distinct)
        rate = None if missing else precision_of_child(
            sum(bool(label[i]) for i in child.sequence.tolist()), child, recycling.confidence
        )
        reports.append(RecycledSystem(
            system=name, predicted_positive=int(called[name].sum()), sample=len(child.sequence),
            items=tuple(ids[i] for i in distinct), new=len(set(distinct) - items_so_far),
            recycled=child.recycled,
            saved=child.saved, variance_factor=child.variance_factor, unlabelled=missing,
            precision=None if rate is None else rate.value, lower=None if rate is None else rate.lower,
            upper=None if rate is None else rate.upper,
        ))
        items_so_far |= set(distinct)
    return reports
