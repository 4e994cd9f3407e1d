"""What a method is: a way to cut the pool, a way to choose items, and a way to conclude from their labels.

Every method works on R repeats at once (R = 1 in a live evaluation), so that what runs in production is what
was measured in replay.  A method's state is a value: `observe` returns a new one, and folding the stored
rounds gives the same state again, on any machine.

    R   repeats, the first axis of all arrays;  C   cells;  M   measures
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from assay.evalcore.design.counted import round_labels
from assay.evalcore.design.draws import Draws, either, without_replacement
from assay.evalcore.design.one_at_a_time import (
    draw_one_at_a_time,
    stands_for,
    weights,
    with_cautious_share,
)
from assay.evalcore.design.proposal import relevant_cells
from assay.evalcore.design.round import ClosedDraws, Design, EstimateArrays, RoundLabels
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.joint_region import Region
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.exact import with_exact_values
from assay.evalcore.methods.state import MethodState
from assay.evalcore.outcomes.codes import is_outcome
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.pool.partition_kinds import FeatureTree
from assay.evalcore.recalibration.evidence import Evidence
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Method(ABC):
    """A method: one row of the registry. The fields of a subclass, except the name, are the method's
    settings.

    Shapes are stated here, and hold for every method; a subclass says only what is special about it.
    """

    name: str                                             # in specs, ledgers and tables, settings included

    capabilities: ClassVar[Capabilities] = Capabilities()
    # how far below its confidence an interval may cover before a replay calls it too narrow
    coverage_slack: ClassVar[float] = 0.02

    # --- what every method does ---

    @property
    @abstractmethod
    def interval(self) -> str:
        """The kind of interval it reports."""

    @property
    @abstractmethod
    def interval_note(self) -> str:
        """What intervals of that kind were measured to cover, for people who must rely on one."""

    @property
    def holds_at_every_look(self) -> bool:
        """Whether its intervals hold all together, however often people look and decide to go on."""
        return False

    @property
    def sampling_note(self) -> str:
        """How items are chosen, in sentences for a report; empty where the name says enough."""
        return ""

    def least_coverage(self, confidence: float) -> float:
        """The coverage that a replay holds its intervals of this confidence to."""
        return round(confidence - self.coverage_slack, 9)

    @property
    def feature_tree(self) -> FeatureTree | None:
        """The cut by features, where the settings ask for one; None for a cut by score."""
        return None

    @abstractmethod
    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Interior strata edges for a pool, and the number of leaf slots of its tree.

        positives: the number of predicted positives.
        """

    @abstractmethod
    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> Any:
        """The state before any label; the first measure drives the sampling, unless the measures or the
        capability `serves_all` say otherwise."""

    @abstractmethod
    def propose(self, state: Any, size: Ints) -> Design:
        """The probabilities of the next round, of `size` (R,) new items."""

    @abstractmethod
    def draw(self, state: Any, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """Draw a round of `size` (R,) new items from its design."""

    @abstractmethod
    def observe(self, state: Any, design: Design, labels: RoundLabels, excluded: Ints) -> Any:
        """The state with a round's labels; excluded (R, C): items that stayed undecided and are set aside."""

    @abstractmethod
    def estimate(self, state: Any, confidence: float, rng: np.random.Generator) -> list[EstimateArrays]:
        """The estimate of each measure, in order, as arrays (R,); the rng is for intervals that need
        simulation."""

    # --- what an evaluation asks of it: see `evalcore.methods.any_method` ---

    @property
    def negatively_associated(self) -> bool:
        """See `Capabilities`."""
        return self.capabilities.negatively_associated

    def first_state(
        self, cells: Cells, measures: Sequence[Measure], repeats: int, evidence: Floats | None = None
    ) -> Any:
        """See `AnyMethod`; evidence (C, 2)."""
        if evidence is None:
            return self.start(cells, measures, repeats)
        return self.start_from(cells, measures, repeats, evidence)

    def next_round(self, state: Any, size: Ints, rng: np.random.Generator) -> tuple[Design, Draws]:
        """See `draw_round`."""
        return draw_round(self, state, size, rng)

    def heard(self, state: MethodState, answered: ClosedDraws) -> RoundLabels:
        """The answers counted by cell and label. Raises BadInput."""
        return round_labels(state.cells.n_cells, answered)

    def learn(self, state: Any, design: Design, heard: RoundLabels, excluded: Ints) -> Any:
        """See `observe`."""
        return self.observe(state, design, heard, excluded)

    def spent(self, before: Any, after: Any, size: Ints) -> Ints:
        """What was wanted: a draw of random size may bring more or fewer."""
        return size

    def with_known(self, state: MethodState, known: Mapping[tuple[int, int], float]) -> MethodState:
        """The state in which these items (cell, rank) are labelled, or set aside where they have no label."""
        labelled, excluded = np.zeros_like(state.labelled), np.zeros_like(state.excluded)
        for (cell, _), code in known.items():
            if is_outcome(np.asarray(code)):
                labelled[0, cell, int(code)] += 1
            else:
                excluded[0, cell] += 1
        return replace(state, labelled=labelled, excluded=excluded)

    def numbers(self, state: Any, confidence: float, rng: np.random.Generator) -> list[EstimateArrays]:
        """The measures in order."""
        return with_exact_values(state, self.estimate(state, confidence, rng))

    # --- what some methods do: see `capabilities` ---

    def round_size(self, state: Any, size: Ints) -> Ints:
        """How many (R,) items the next round may have, of the `size` (R,) wanted: at least 1."""
        return size

    @property
    def one_at_a_time(self) -> bool:
        """Whether the items of a batch are drawn one after the other (`evalcore.design.one_at_a_time`)."""
        return False

    @property
    def asks_anew(self) -> bool:
        """Whether every draw asks about its item, labelled before or not, and counts as a label bought."""
        return False

    def start_from(
        self, cells: Cells, measures: Sequence[Measure], repeats: int, evidence: Floats
    ) -> Any:
        """The state before any label of this pool; evidence (C, 2): pseudo-labels by cell and label.

        Raises BadInput where the label model takes none.
        """
        raise BadInput(f"the label model of method {self.name!r} takes no earlier labels")

    def refit(self, state: Any) -> Any:
        """The state with its label model, where there is one, fitted to the labels it holds."""
        return state

    def further_systems(self, state: Any, confidence: float) -> list[list[EstimateArrays]]:
        """For each further system of the pool, the estimate of each measure, as arrays (R,)."""
        return []

    def reachable(self, measures: Sequence[Measure], cells: Cells) -> Bools:
        """Cells (C,) whose every item may be drawn when these measures are asked for."""
        return relevant_cells(measures, cells)

    def region(self, state: Any, confidence: float) -> Region:
        """The joint confidence region of all measures in the first repeat.

        Raises BadInput for a method that has none, and NoRegion while the draws do not determine one.
        """
        raise BadInput(f"method {self.name!r} has no joint region of several measures")

    def evidence(self, state: Any) -> Evidence:
        """What the label model was fitted to, with its fit, in the first repeat.

        Raises BadInput for a method whose label model is another one.
        """
        raise BadInput(f"method {self.name!r} has no recalibrated label model")

    def audited(self, share: float) -> Self:
        """With this share of every batch spread evenly over the items that positives may hide among.

        Raises BadInput for a method that has no such setting.
        """
        raise BadInput(f"method {self.name!r} cannot spread part of a batch evenly")

    def for_forecast(self) -> Self:
        """The method with the settings that a forecast uses: coarser where that saves time."""
        return self


def draw_round(
    method: Method, state: MethodState, size: Ints, rng: np.random.Generator
) -> tuple[Design, Draws]:
    """One round of at most `size` (R,) new items: the method's draw, or all that is left.

    Of exactly `size` draws where the method asks anew.
    """
    if method.asks_anew:
        design = method.propose(state, size)
        return design, method.draw(state, design, size, rng)
    wanted, size = state.wanted, method.round_size(state, size)
    census = wanted.sum(axis=1) <= size
    design = replace(method.propose(state, size), census=census)
    rest = without_replacement(np.where(census[:, None], wanted, 0))
    if census.all():
        return design, rest
    sampled = np.where(census, 0, size)
    if not method.one_at_a_time:
        return design, either(method.draw(state, design, sampled, rng), rest)
    planned = with_cautious_share(replace(
        design, unlabelled=np.where(census[:, None], 0.0, design.unlabelled)
    ), state.cells.prediction)
    weight = weights(planned)
    draws = draw_one_at_a_time(design.left, weight, sampled, rng)
    told = stands_for(design.left, weight, draws.cell)
    return replace(design, unlabelled=planned, stands_for=told), either(draws, rest)
