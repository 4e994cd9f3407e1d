"""What every method knows between rounds.

    R   repeats run side by side: 1 in a live evaluation, hundreds in a replay
    C   cells;  y indexes the label, 0 or 1
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypedDict

import numpy as np

from assay.evalcore.design.proposal import relevant_cells
from assay.evalcore.design.round import RoundLabels
from assay.evalcore.measures.base import Measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MethodState:
    """What every method knows.  Methods add fields of their own by inheriting."""

    cells: Cells
    measures: tuple[Measure, ...]  # the first drives the sampling, or those that say so, or all
    labelled: Ints       # (R, C, 2) items labelled so far, by label
    excluded: Ints       # (R, C) items that people could not decide: neither labelled nor asked again
    gaps: bool = False   # a round was closed with items unanswered; kept where no weight of a draw says so

    @property
    def clustered(self) -> bool:
        """Never: cells of two classes know no clusters."""
        return False

    @property
    def left(self) -> Ints:
        """Unlabelled items (R, C) that may still be asked."""
        return np.asarray(self.cells.size - self.labelled.sum(axis=2) - self.excluded)

    @property
    def bought(self) -> Ints:
        """Labels (R,) that were paid for: those of distinct items, unless every draw asks anew."""
        return np.asarray(self.labelled.sum(axis=(1, 2)))

    @property
    def wanted(self) -> Ints:
        """Unlabelled items (R, C) whose label can change a measure."""
        return np.asarray(self.left * relevant_cells(self.measures, self.cells))

    @property
    def answered(self) -> Floats:
        """Labelled items (R, C, 2) by label; by their answers, in methods that count several of an item."""
        return self.labelled.astype(np.float64)

    def with_labels(self, labels: RoundLabels, excluded: Ints) -> Self:
        """The state after a round; excluded (R, C): its undecided items."""
        return replace(
            self,
            labelled=self.labelled + labels.new,
            excluded=self.excluded + excluded,
            gaps=self.gaps or labels.gaps,
        )


class Unlabelled(TypedDict):
    """The fields of `MethodState` before any label."""

    cells: Cells
    measures: tuple[Measure, ...]
    labelled: Ints
    excluded: Ints


def unlabelled(cells: Cells, measures: Sequence[Measure], repeats: int) -> Unlabelled:
    """The fields of `MethodState` before any label, for a method's own state to begin with."""
    shape = (repeats, cells.n_cells)
    return {
        "cells": cells,
        "measures": tuple(measures),
        "labelled": np.zeros((*shape, 2), np.int64),
        "excluded": np.zeros(shape, np.int64),
    }


def unlabelled_state(cells: Cells, measures: Sequence[Measure], repeats: int) -> MethodState:
    """Before any label, for methods whose state is what every method knows."""
    return MethodState(**unlabelled(cells, measures, repeats))
