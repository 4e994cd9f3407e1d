"""What flows ask of the statistics of one evaluation, whatever people answer.

Labels are codes here, and some of them stand for no label: `Statistics.codes` says which.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from assay.evalcore.annotators.quality import Correctable
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.evaluation.estimates import Estimate
from assay.evalcore.evaluation.label_codes import LabelCodes
from assay.evalcore.evaluation.labelled_round import Segments
from assay.evalcore.evaluation.nonresponse import Nonresponse
from assay.evalcore.evaluation.stopping import StoppingRule
from assay.evalcore.forecast.audit import AuditPrice
from assay.evalcore.forecast.labels_needed import Played
from assay.evalcore.forecast.outlook import Outlook
from assay.evalcore.measures.base import Measure
from assay.evalcore.monitoring.evidence.sample import WindowSample
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.types import Array, Bools, Floats
from assay.evalcore.weighted.sample import WeightedSample
from assay.evalcore.weighted.score_axis import ScoreBin
from assay.tasks.desks.kind import AskAgain
from assay.tasks.ledger.rounds.closed import ClosedRound
from assay.tasks.ledger.rounds.designs import Drawn
from assay.tasks.ledger.rounds.estimate import Sensitivity
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.rounds.plan import PlannedRound


class State(Protocol):
    """Where an evaluation stands after its closed rounds, as far as flows look into it."""

    @property
    def round(self) -> int:
        """Rounds closed."""
        ...

    @property
    def labels(self) -> int:
        """Distinct items with a label."""
        ...

    @property
    def undecided(self) -> int:
        """Distinct items people could not decide."""
        ...

    @property
    def exhausted(self) -> bool:
        """Nothing is left whose label could change a measure."""
        ...

    @property
    def nonresponse(self) -> Nonresponse:
        """Of all rounds."""
        ...


class MethodFacts(Protocol):
    """What is told of a method."""

    @property
    def name(self) -> str:
        """Never `auto`."""
        ...

    @property
    def interval_note(self) -> str:
        """What intervals of its kind were measured to cover."""
        ...

    @property
    def holds_at_every_look(self) -> bool:
        """Whether its intervals hold all together, however often people look and decide to go on."""
        ...


AsIf: TypeAlias = tuple[Any, Any] | None
"""The states in which all undecided items are of the one class or of the other; None without any."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relabelled:
    """A closed round with the labels of now."""

    planned: PlannedRound
    then: Array              # (T,) as the plan and the closing had them
    now: Array               # (T,)
    share: Floats | None     # (T,) which part of the answers of now was positive, with two classes


class Statistics(ABC):
    """The question of one evaluation, and what is computed for it."""

    @property
    @abstractmethod
    def method(self) -> MethodFacts:
        """The method in use."""

    @abstractmethod
    def at(self, confidence: float) -> "Statistics":
        """The same with intervals of another confidence."""

    @property
    @abstractmethod
    def sampling_note(self) -> str:
        """How items are chosen, in a sentence; empty: the method is named."""

    @property
    @abstractmethod
    def serves_all(self) -> bool:
        """Whether every measure drives the choice of items, unless the spec says which."""

    @property
    @abstractmethod
    def codes(self) -> LabelCodes:
        """How labels stand in arrays."""

    @property
    @abstractmethod
    def n_parts(self) -> int:
        """How many classes or tags people choose from; 0 where they answer numbers."""

    @abstractmethod
    def counted(self, before: tuple[int, ...], decided: Sequence[Decided]) -> tuple[int, ...]:
        """Labelled items by class or tag, with these."""

    @abstractmethod
    def begin(self) -> State:
        """Before the first round."""

    @abstractmethod
    def plan(self, state: State, size: int) -> Drawn:
        """The draws of the next round, of at most `size` newly asked items."""

    @abstractmethod
    def observe(self, state: State, planned: PlannedRound, labels: Array, share: Floats | None) -> State:
        """The state after a round, with a label for every draw."""

    @abstractmethod
    def revised(self, rounds: Sequence[Relabelled]) -> State:
        """The state after these rounds, with the labels of now."""

    @abstractmethod
    def estimates(self, state: State) -> tuple[Estimate, ...]:
        """Of the whole pool, the numbers of the first measure first."""

    @property
    @abstractmethod
    def leading(self) -> int:
        """How many of `estimates` are of the first measure."""

    @property
    @abstractmethod
    def kind(self) -> OutcomeKind:
        """What people answer, as the core of any outcome takes it."""

    @abstractmethod
    def sample(self, state: State, closed: Sequence[ClosedRound]) -> WeightedSample:
        """The labelled items of these rounds, of which there is one at least, with their weights.

        Raises BadInput where the method's items have no known chances.
        """

    @abstractmethod
    def predictions_of_unreached(self, reached: Bools, *, as_frozen: bool) -> Floats:
        """(m,) what may be predicted of items that cannot be drawn; reached (C,): cells that can.

        as_frozen: by the pool's own predictions.
        """

    @abstractmethod
    def outcomes_seen(self, state: State) -> bool | None:
        """Whether labels differ, and the outcomes are among them that the first measure needs; None where
        `positives` tells."""

    @abstractmethod
    def refuse_gaps(self, planned: PlannedRound, answered: Bools) -> None:
        """Raise NothingToStandFor where the answered items (n,) of those asked cannot stand for the rest."""

    @abstractmethod
    def chance_of_positive(self, planned: PlannedRound) -> Floats:
        """(T,) what the label model gave each draw when it was planned; 0 where classes stand equal."""

    @abstractmethod
    def stands_for(self, planned: PlannedRound) -> Floats:
        """(T,) items of the pool that each draw stands for in its round."""

    @abstractmethod
    def probability_kind(self, planned: PlannedRound) -> str:
        """What the probabilities of a round are: `per draw`, or `inclusion` in the round."""

    @abstractmethod
    def window_sample(
        self, closed: Sequence[ClosedRound], found: Sequence[Estimate], segments: Segments
    ) -> WindowSample:
        """What these rounds, with the labels of now, say to a monitor; found: the estimates they led to, of
        the pool and of its segments."""

    # --- what some kinds of outcome have, and others have nothing of ---

    def as_if(
        self, before: AsIf, state: State, planned: PlannedRound, labels: Array, share: Floats | None
    ) -> AsIf:
        """The states after a round if all undecided items were of one class; None without any, or where
        that says nothing."""
        return None

    def revised_as_if(self, rounds: Sequence[Relabelled]) -> AsIf:
        """`as_if` after these rounds."""
        return None

    def known_labels(self, state: State) -> Mapping[tuple[int, int], int]:
        """(cell, rank) -> label of every item labelled so far that a later round may draw again."""
        return {}

    def systems(self, state: State) -> tuple[Estimate, ...]:
        """Of further systems."""
        return ()

    def by_segment(
        self, state: State, closed: Sequence[ClosedRound], segments: Segments
    ) -> tuple[Estimate, ...]:
        """Of every segment."""
        return ()

    def region(self, state: State) -> JointRegion | None:
        """Of several measures, where the method has one."""
        return None

    def reuse(self, state: State, measures: Sequence[Measure]) -> tuple[Estimate, ...]:
        """Other measures from the same draws, by the method's own estimate.

        Raises BadInput where the method has none.
        """
        raise BadInput("only evaluations of a positive and a negative class reuse draws by the method's own "
                       "estimate; leave out --reuse")

    def sensitivity(self, as_if: AsIf) -> tuple[Sensitivity, ...]:
        """Each measure if all undecided items were of one class; nothing without `as_if`."""
        return ()

    def positives(self, labelled: Sequence[int]) -> int | None:
        """Of labelled items by class, those of the positive class; None where classes stand equal."""
        return None

    def surprising(self, drawn: Drawn, labels_before: int, again: AskAgain) -> Mapping[int, tuple[int, ...]]:
        """Draw -> answers to it that are asked of a second person."""
        return {}

    def along_the_score(
        self, cell: Sequence[int], positive: Sequence[bool], *, by_probability: bool
    ) -> tuple[ScoreBin, ...]:
        """Where the labelled items (n,) went on the axis of the score, or of the probability; () without one.

        positive: whether each is labelled so.
        """
        return ()

    def stratum(self, cell: int) -> int | None:
        """The stratum of a cell; None where cells hang on no strata."""
        return None

    def correctable(self, state: State) -> Correctable | None:
        """What annotators' errors are taken out of; None where that is not done."""
        return None

    def outlook(
        self, state: State, rule: StoppingRule, batch_size: int,
        limits: tuple[float | None, float | None] | None, played: Played | None = None,
        worlds: int | None = None,
    ) -> Outlook | None:
        """How many labels it is likely to take; None where nothing can be said.

        played: told of simulated worlds, where there are any; worlds: how many, as many as it takes unless
        given.
        """
        return None

    def audit_price(self, state: State) -> AuditPrice | None:
        """What more labels spread evenly would do to a wide interval; None where none is announced."""
        return None
