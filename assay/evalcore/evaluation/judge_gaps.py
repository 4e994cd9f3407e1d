"""Whether what a judge leaves open depends on which items are labelled.

A guess corrects an estimate because it is known of all items alike, whoever was labelled.  A judge that was
asked about the labelled items alone, or a column of labels that is given as a judge, is none: the mean of its
guesses over the pool is then not that of the labelled ones, whatever the labels are, and the estimate is
moved by the difference.  One that says the same of every other item says no more.

Where the labels are a random sample, the gaps among them are hypergeometric.  A number of gaps of which
either tail is below REFUSED_BY_CHANCE, shared between the judges and strata, is taken for such a judge.

    J   judges;  H   strata
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.estimators.intervals import at_most_hits
from assay.evalcore.outcomes.items import SILENT
from assay.evalcore.types import Bools, Floats, Ints

REFUSED_BY_CHANCE = 1e-6   # how often at most a judge is refused whose gaps have nothing to do with labels


class JudgedItems(NamedTuple):
    """Some items of a pool: what judges say of each (n, J), whether it is labelled (n,), and its stratum
    (n,), 0 where labels are no sample of strata."""

    judge: Floats
    labelled: Bools
    stratum: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeGaps:
    """How many items there are, labelled and all, and of how many each judge says nothing, or no more than of
    every item without a label.

    items, labelled (H,); gaps, gaps_of_labelled (J, H); same (J,): it says the same of every item without a
    label.
    """

    items: Ints
    labelled: Ints
    gaps: Ints
    gaps_of_labelled: Ints
    same: Bools

    @staticmethod
    def counted(pieces: Iterable[JudgedItems], strata: int = 1) -> "JudgeGaps":
        """Over the pieces of a pool, which has so many strata."""
        items, silent, low, high = np.zeros(strata, np.int64), [], [], []
        codes, of_codes = [], []
        for piece in pieces:
            items += np.bincount(piece.stratum, minlength=strata)
            codes.append(piece.judge[piece.labelled])
            of_codes.append(piece.stratum[piece.labelled])
            open_judge, open_stratum = piece.judge[~piece.labelled], piece.stratum[~piece.labelled]
            silent.append(_by_stratum(open_judge == SILENT, open_stratum, strata))
            low.append(open_judge.min(axis=0, initial=np.inf))
            high.append(open_judge.max(axis=0, initial=-np.inf))
        code, stratum = np.concatenate(codes), np.concatenate(of_codes)
        labels = np.bincount(stratum, minlength=strata)
        lowest, highest = np.min(low, axis=0), np.max(high, axis=0)
        same = (lowest == highest) & (lowest != SILENT)
        gaps_of_labelled = _by_stratum((code == SILENT) | (same & (code == lowest)), stratum, strata)
        gaps = np.where(same[:, None], items - labels, np.sum(silent, axis=0)) + gaps_of_labelled
        return JudgeGaps(
            items=items, labelled=labels, gaps=gaps, gaps_of_labelled=gaps_of_labelled, same=same
        )

    @property
    def chance(self) -> Floats:
        """(J,) how often labels drawn at random make gaps as uneven as these, at most: that of the least
        probable stratum, with regard to their number and to both tails."""
        items, labelled = (
            np.broadcast_to(n, self.gaps.shape).ravel().astype(np.float64)
            for n in (self.items, self.labelled)
        )
        gaps, among = self.gaps.ravel().astype(np.float64), self.gaps_of_labelled.ravel().astype(np.float64)
        fewer = at_most_hits(among, labelled, items, gaps)
        more = at_most_hits(labelled - among, labelled, items, items - gaps)
        least = np.minimum(fewer, more).reshape(self.gaps.shape).min(axis=1)
        return np.asarray(np.minimum(2 * len(self.items) * least, 1.0))


def _by_stratum(gap: Bools, stratum: Ints, strata: int) -> Ints:
    """(J, H) how many of these (n, J) are in each stratum."""
    counts = [np.bincount(stratum[of_judge], minlength=strata) for of_judge in gap.T]
    return np.asarray(np.reshape(counts, (gap.shape[1], strata)), np.int64)


def refuse_uneven_gaps(gaps: JudgeGaps, names: Sequence[str], *, at_random: bool) -> None:
    """Refuse a judge that says something of labelled items alone; and where the labels are a random sample
    (of each stratum), one whose gaps are next to impossible if they have nothing to do with the labels.

    names: the columns of the judges.  Raises BadInput that names the first.
    """
    labelled, chance = int(gaps.labelled.sum()), gaps.chance
    others = int(gaps.items.sum()) - labelled
    for number, name in enumerate(names):
        of_labelled = int(gaps.gaps_of_labelled[number].sum())
        of_others = int(gaps.gaps[number].sum()) - of_labelled
        same = gaps.same[number]
        if not same and of_others == others > 0 and of_labelled < labelled:
            heard = plural(labelled - of_labelled, "row")
            raise BadInput(
                f"judge: column {name!r} guesses {heard} with a label, and none without; what a judge knows "
                "of labelled rows alone says nothing of the others: let it guess every row, or leave it out"
            )
        if at_random and chance[number] * len(names) < REFUSED_BY_CHANCE:
            what = "the same" if same else "nothing"
            raise BadInput(
                f"judge: column {name!r} says {what} of {of_others:,} of {others:,} rows without a label, "
                f"and of {of_labelled:,} of {labelled:,} with one; where labels are drawn at random, "
                f"that happens less than once in {1 / REFUSED_BY_CHANCE:,.0f} times. Let it guess all rows "
                "alike, or leave it out; or say how the labelled rows were drawn"
            )
