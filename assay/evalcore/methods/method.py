"""What an evaluation, a replay or a monitor asks of a method, whatever people answer; and what a method can
do.

Two families give it.  `evalcore.methods.two_classes` counts labels by cell, which is all that a positive and
a negative class need; `evalcore.methods.any_outcome` keeps a row for each labelled item.  What only some
methods can do is a capability.

All work on R repeats at once (R = 1 in a live evaluation), so that what runs in production is what was
measured in replay.  A state is a value: `observe` returns a new one, and folding the stored rounds gives the
same state again, on any machine.

    R   repeats side by side: 1 in a live evaluation;  C   cells
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, replace
from functools import cache
from typing import (
    Annotated,
    ClassVar,
    Generic,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from assay.evalcore.design.draws import Draws
from assay.evalcore.design.round import ClosedDraws, Design, EstimateArrays
from assay.evalcore.errors import BadInput, UnknownName, did_you_mean
from assay.evalcore.pool.partition import FeatureTree
from assay.evalcore.types import Bools, Floats, Ints, Trust

# When a target counts as met, unless a method was measured to need less (docs/measured/at-the-stop.md): the
# first narrow interval of many is often a lucky one.
MIN_LABELS, LOOKS_IN_A_ROW = 100, 2


class SizedCells(Protocol):
    """The cells of a pool, of whichever family cut it: how many there are, and how many items each has."""

    @property
    def size(self) -> Ints:
        """The number of items in each cell, (C,)."""

    @property
    def n_cells(self) -> int:
        """The number C of cells that the pool is cut into."""

    @property
    def n_items(self) -> int:
        """The number N of items in the pool."""


class PredictedCells(SizedCells, Protocol):
    """Cells that may say what is predicted of their items, the same of all in a cell."""

    @property
    def prediction(self) -> Ints | None:
        """The code of what is predicted of the items of each cell, (C,); None where it may differ."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledSample(ABC):
    """What every method knows between rounds.  Families and methods add fields by inheriting.

    Labels are counted by outcome as far as the method tells outcomes apart: K is 2 for two classes, and for
    one class against the rest; the number of classes for a tree; and 1 where items are looked at one by one.
    """

    cells: SizedCells    # of the pool as the method cut it
    labelled: Ints       # (R, C, K) items labelled so far, by outcome
    excluded: Ints       # (R, C) items that people could not decide: neither labelled nor asked again

    @property
    @abstractmethod
    def relevant(self) -> Bools:
        """Whether a label of each cell can change a measure, (C,). Items of the other cells are never worth
        asking."""

    @property
    def by_cell(self) -> Ints:
        """The number of labelled items of each cell, (R, C), over all outcomes."""
        return np.asarray(self.labelled.sum(axis=2))

    @property
    def left(self) -> Ints:
        """The number of unlabelled items of each cell that may still be asked, (R, C): without those that
        people could not decide. R counts repeats and C cells; no number is below 0."""
        return np.asarray(self.cells.size - self.by_cell - self.excluded)

    @property
    def wanted(self) -> Ints:
        """The number of unlabelled items of each cell whose label can still change a measure, (R, C)."""
        return np.asarray(self.left * self.relevant)

    @property
    def bought(self) -> Ints:
        """Labels (R,) that were paid for: those of distinct items, unless every draw asks anew."""
        return np.asarray(self.labelled.sum(axis=(1, 2)))

    @property
    def clustered(self) -> bool:
        """Whether items come in clusters, over which intervals are then made. False unless a subclass says
        so."""
        return False

    @property
    def of_the_pool(self) -> Self:
        """As if items came in no clusters: intervals are then of the pool alone."""
        return self


Weighting: TypeAlias = Literal["draws", "rounds", "pooled", "cells", "method", "none"]
"""How labelled items get weights; `evalcore.weighted.sample` says what each word means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Abilities and limits of one method; by default it has none of them."""

    starts_warm: bool = False        # `start_from`: its label model takes labels of an earlier pool
    draws_alone: bool = False        # what its label model starts from steers draws, and is in no estimate
    judges_systems: bool = False     # `further_systems`: judges several systems from the same labels
    reuses_labels: bool = False      # its labels answer for measures they were not drawn for: `reachable`
    serves_several: bool = False     # several measures may drive its sampling
    serves_all: bool = False         # all that are listed do, unless the spec says which; else the first does
    joint_region: bool = False       # `region`: a joint confidence region of its measures
    forecast_worlds: int = 72        # a forecast plays at most; 0: it goes by how intervals shrink
    # may go on from a random sample that is labelled already: its estimates rest on how many items of each
    # cell were asked, whoever drew them
    extends_a_sample: bool = False
    audits: bool = False             # `audited`, `evidence`: spreads part of a batch evenly; a wide interval
    cuts_by_features: bool = False   # its setting `partition` may name a cut by features

    # of its draws without replacement, the indicators of inclusion are negatively associated, as in simple
    # random sampling: the chance to miss a set of items is at most the product of the single chances
    negatively_associated: bool = False
    # its items are drawn one after the other with known probabilities, as a monitor needs: with
    # replacement, or without where its setting `one_at_a_time` asks for it
    single_draws: bool = False
    trusts_probabilities: bool = False   # takes the supplied probabilities at their word
    top_of_ranking: bool = False     # takes every item below a cut in rank for a negative
    whole_pool_only: bool = False    # gives no estimates by segment: a spec with segments is refused
    needs_clusters: bool = False     # draws whole clusters, which the pool has to name
    weighs_guesses: bool = False     # labels weigh guesses, and covariates beside them, in its estimate
    # of which measures its intervals hold also on few labels, so that a monitor calls a window ok by them.
    # Of the others intervals were measured to end too near (docs/measured/monitoring.md): the draws must show
    # it too
    ok_by_interval: Literal["all", "shares", "none"] = "none"
    spreads_evenly: bool = False     # does not look for positives: on a rare class it labels hardly any

    weighting: Weighting = "none"    # "none": its items have no known chance
    # why it cannot take weights of items (`Items.weight`), after "method 'name' "; empty where it can
    no_weights: str = "counts labels by cell, and a count does not say what the items weigh"


class Method(ABC):
    """What every method says of itself: its name and settings, and what it is able to do. What it does with
    cells, states and designs of its own classes is `SamplingMethod`."""

    __slots__ = ()

    capabilities: ClassVar[Capabilities] = Capabilities()
    # how far below its confidence an interval may cover before a replay calls it too narrow
    coverage_slack: ClassVar[float] = 0.02
    sources: ClassVar[tuple[str, ...]] = ()    # publications it comes from, by their keys in `literature`
    published: ClassVar[bool] = True           # False: Assay's own, with parts of its sources
    rests_on: ClassVar[Trust] = "nothing"      # what its interval takes without being shown
    least_labels: ClassVar[int] = MIN_LABELS       # before which no target counts as met
    looks_in_a_row: ClassVar[int] = LOOKS_IN_A_ROW   # at which a target has to be met

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which the method is asked for, as in specs and ledgers; never "auto", which stands for
        a choice between methods."""

    @property
    def written(self) -> str:
        """The name with its settings, which gives the same method again."""
        return self.name

    @property
    @abstractmethod
    def interval(self) -> str:
        """The kind of interval that the method reports, in a word or two, such as "beta" or "score test"."""

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

    @property
    def one_at_a_time(self) -> bool:
        """Whether the items of a batch are drawn one after the other (`evalcore.design.draws`)."""
        return False

    @property
    def asks_anew(self) -> bool:
        """Whether every draw asks about its item, labelled before or not, and counts as a label bought."""
        return False

    @property
    def in_one_array(self) -> bool:
        """Whether repeats can be simulated as one array; not where chance decides how many labels they have,
        of methods that keep a row for each label."""
        return True

    @property
    def repeats_in_a_round(self) -> bool:
        """Whether a round may ask about an item several times: a replay can, people cannot."""
        return False

    def audited(self, share: float) -> Self:
        """With this share of every batch spread evenly over the items that one class may hide among.

        Raises BadInput for a method that has no such setting.
        """
        raise BadInput(f"method {self.name!r} cannot spread part of a batch evenly")

    @abstractmethod
    def with_settings(self, written: str) -> "Method":
        """With the settings of a written name: "name:field=value:field=value".

        Raises as `with_settings_of`, and BadInput for settings that would change nothing.
        """

    @abstractmethod
    def drawn_singly(self, name: str) -> str:
        """The name with items drawn one at a time, of a method that can, which is written `name`."""


CellsT = TypeVar("CellsT")           # of the pool as the method cuts it
MeasuresT = TypeVar("MeasuresT")     # that are asked for
StateT = TypeVar("StateT", bound=LabelledSample)
DesignT = TypeVar("DesignT", bound=Design)
AnswersT = TypeVar("AnswersT")       # of a round, as `observe` takes them


class SamplingMethod(Method, Generic[CellsT, MeasuresT, StateT, DesignT, AnswersT]):
    """What a method does: it draws rounds of items and estimates from their labels.

    The parameters are the family's own classes: the cells of a pool, what is asked of it, what is known
    between rounds, the probabilities of a round, and its answers.
    """

    __slots__ = ()

    def serves_all(self, cells: CellsT) -> bool:
        """Whether all measures drive the choice of items in a pool cut so, unless the spec says which."""
        return self.capabilities.serves_all

    @abstractmethod
    def start(self, cells: CellsT, measures: MeasuresT, repeats: int) -> StateT:
        """The state before any label, for so many repeats side by side: what `observe` then folds the rounds
        into."""

    def start_from(self, cells: CellsT, measures: MeasuresT, repeats: int, evidence: Floats) -> StateT:
        """The state before any label of this pool; evidence (C, K): pseudo-labels by cell and label.

        Raises BadInput where the label model takes none.
        """
        raise self.takes_no_earlier_labels

    @property
    def takes_no_earlier_labels(self) -> BadInput:
        """The error of a method whose label model does not start from labels of an earlier pool."""
        return BadInput(f"the label model of method {self.name!r} takes no earlier labels")

    def first_state(
        self, cells: CellsT, measures: MeasuresT, repeats: int, evidence: Floats | None = None
    ) -> StateT:
        """The state before any label of this pool: that of `start`, or that of `start_from` with
        pseudo-labels (C, K) of earlier pools. Raises BadInput where there are some and the label model
        takes none."""
        if evidence is None:
            return self.start(cells, measures, repeats)
        return self.start_from(cells, measures, repeats, evidence)

    @abstractmethod
    def design_of_held(self, state: StateT, labels: int) -> DesignT:
        """The design (R = 1) of a simple random sample of so many items whose labels matter, which was
        labelled before the first round."""

    def round_size(self, state: StateT, size: Ints) -> Ints:
        """How many (R,) items the next round may have, of the `size` (R,) wanted: at least 1."""
        return size

    @abstractmethod
    def propose(self, state: StateT, size: Ints) -> DesignT:
        """The design of the next round, of at most `size` (R,) new items."""

    @abstractmethod
    def draw(self, state: StateT, design: DesignT, size: Ints, rng: np.random.Generator) -> Draws:
        """Draw a round of `size` (R,) new items from its design."""

    @abstractmethod
    def next_round(self, state: StateT, size: Ints, rng: np.random.Generator) -> tuple[DesignT, Draws]:
        """The design and the draws of a round of at most `size` (R,) new items, or of all that is left. Items
        are drawn by cell; the design has the chances by which they came up."""

    @abstractmethod
    def heard(self, state: StateT, answered: ClosedDraws) -> AnswersT:
        """The answers of a live round (R = 1) in the form that `observe` takes.

        Raises BadInput for answers that are none, or where what the pool says of the items is missing.
        """

    @abstractmethod
    def observe(self, state: StateT, design: DesignT, answers: AnswersT, excluded: Ints) -> StateT:
        """The state with a round's answers; excluded (R, C): undecided items, set aside."""

    def spent(self, before: StateT, after: StateT, size: Ints) -> Ints:
        """Labels (R,) that a round which was to bring `size` counts for: as wanted, by default."""
        return size

    def with_known(self, state: StateT, codes: Mapping[tuple[int, int], float]) -> StateT:
        """With these codes by (cell, rank) in place of what is counted, in methods that count by cell."""
        return state

    def further_systems(self, state: StateT, confidence: float) -> list[list[EstimateArrays]]:
        """For each system that is no part of the measures, the estimate of each measure, as arrays (R,)."""
        return []

    def refit(self, state: StateT) -> StateT:
        """With the label model fitted to the labels in the state, where that is not done in every round."""
        return state

    @abstractmethod
    def number_estimates(
        self, state: StateT, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The estimate of each number that is asked for, in order; exact where no label can change it."""


def covered(matching: tuple[int, ...], deduplication: tuple[int, ...], runs: int = 300) -> str:
    """Percent of runs whose interval held the truth, at 50, 100, 300 and 1,000 labels on each pool.

    One sentence for what an interval was measured to cover, the same for every method.

    The runs are replays of F1 at a nominal 95% on two rare pools of record; a run without an estimate is a
    miss.
    """
    return (
        f"At a nominal 95% it covered the true F1 in {_list(matching)} of {runs:,} runs at 50, 100, 300 and "
        "1,000 labels on a product-matching pool with 50 positives among 53,753 items, and in "
        f"{_list(deduplication)} on a deduplication pool with 45 among 149,747."
    )


RANDOM_SIZE = (
    "Every item has a coin of its own, as in the paper, so the size of a batch is random: a budget is met on "
    "average, and may be exceeded."
)


def _list(percent: tuple[int, ...]) -> str:
    *earlier, final = (f"{p}%" for p in percent)
    return f"{', '.join(earlier)} and {final}"


Share: TypeAlias = Annotated[float, "a number between 0 and 1"]
_LARGEST_SETTING = 65_536   # of other numbers: no setting has a use beyond this


class MethodWithSettings(Protocol):
    """A method as a dataclass, whose fields are its settings."""

    __dataclass_fields__: "ClassVar[dict[str, Field[object]]]"

    @property
    def name(self) -> str:
        """The name by which the method is asked for."""


ChosenT = TypeVar("ChosenT", bound=MethodWithSettings)


def with_settings_of(chosen: ChosenT, written: str) -> ChosenT:
    """The method, a dataclass, with the settings that are written behind its name.

    Raises UnknownName for a setting the method does not have, BadInput for a value of the wrong kind.

    Settings of a method in its name: `dirichlet-tree:combination=square-root:depth=6`.

    A method's fields are its settings.  A name with settings is a name like any other: it goes into specs,
    ledgers and tables as it is written, and gives the same method again.
    """
    kinds = _settings(type(chosen))
    values: dict[str, bool | int | float | str] = {}
    for part in written.split(":")[1:]:
        key, equals, text = part.partition("=")
        key = key.replace("-", "_")
        if not equals or key not in kinds:
            has = did_you_mean(key, kinds).strip() or f"its settings: {', '.join(kinds) or 'none'}"
            raise UnknownName(f"method {written!r}: {chosen.name!r} has no setting {part!r}; {has}")
        values[key] = _parse(kinds[key], text, f"method {written!r}: {key}")
    return replace(chosen, **values)


def changed_settings(chosen: MethodWithSettings) -> str:
    """What is to be written behind the name of a method: ":field=value" of every setting that is not the
    default, in alphabetical order. Booleans are written true or false; with no such setting the text is
    empty."""
    default = {f.name: f.default for f in fields(chosen)}
    values = {key: getattr(chosen, key) for key in _settings(type(chosen))}
    return "".join(
        f":{key.replace('_', '-')}={str(value).lower() if isinstance(value, bool) else value}"
        for key, value in values.items() if value != default[key]
    )


@cache
def _settings(kind: type[MethodWithSettings]) -> Mapping[str, object]:
    """The settings that can be written in a name, in alphabetical order, and their types."""
    hints = get_type_hints(kind, include_extras=True)
    names = sorted(f.name for f in fields(kind) if f.name != "name")
    return {name: hints[name] for name in names if _is_written(hints[name])}


def _is_written(kind: object) -> bool:
    return kind in (bool, int, float, Share) or get_origin(kind) is Literal


def _parse(kind: object, text: str, context: str) -> bool | int | float | str:
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise BadInput(f"{context} must be one of {', '.join(get_args(kind))}, got {text!r}")
        return text
    if kind is bool:
        if text not in ("true", "false"):
            raise BadInput(f"{context} must be true or false, got {text!r}")
        return text == "true"
    number: type[int] | type[float] = int if kind is int else float
    try:
        value = number(text)
    except ValueError:
        raise BadInput(f"{context} must be {number.__name__}, got {text!r}") from None
    upper = 1 if kind == Share else _LARGEST_SETTING
    if not 0 <= value <= upper:
        raise BadInput(f"{context} must lie between 0 and {upper:,}, got {text!r}")
    return value
