"""What a kind of desk declares: its keys in a spec, how it is opened, and what the rest of Assay must know.

A kind is a folder beside this module. Its `kind.py` holds a subclass of `DeskKind`, which is the `desk:` of
a spec as well; `registry` lists the subclasses. No other module asks which kind a desk is: what differs is a
method or a class variable here.

A kind's module is imported with every spec, so it imports what costs time (an SDK, pyarrow) inside `open`
and `look`.
"""

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from pydantic import Field, field_validator

from assay.evalcore.annotators.surprise import CHANCE, MOVES
from assay.tasks.desks.protocol import Desk
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.schema import Column, Location, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelling:
    """What people are asked, as the spec says it."""

    evaluation: str
    classes: Sequence[str]          # in the order in which people see them; of two, the positive one first
    spellings: Mapping[str, str]    # what files of known labels may hold -> the class it means
    display: Sequence[str]          # the columns people see
    show_as: Mapping[str, str]      # column -> text, image or html; text unless it is there
    id_column: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a desk may use of the process that opens it."""

    store: Store                                 # the ledger's; a desk keeps what it must outside the record
    identity: str = ""                           # tells apart evaluations of one name in different ledgers
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)   # has the tokens
    clock: Callable[[], float] = time.time       # seconds since a moment that is the same for every process


class Gold(Part):
    """Items of known answer, mixed into the batches to see how people do."""

    labels: Location = Field(description="a file with the id, label and display columns")
    rate: float = Field(default=0.05, gt=0, le=0.5, description="their share of what people see")
    id: Column | None = Field(default=None, description="its id column; the pool's id column unless said")
    label: Column = Field(default="label", description="its label column: class names, 0/1 or booleans")


class AskAgain(Part):
    """Which surprising answers go to a second person, where one person answers each item."""

    when: Literal["known", "always", "never"] = Field(
        default="known", description="known: once two people have answered in this evaluation"
    )
    chance: float = Field(
        default=CHANCE, gt=0, le=1, description="surprising: the model gave the answer less than this"
    )
    moves: float = Field(
        default=MOVES, ge=0, le=1, description="and the other answer would move the first measure by more"
    )


class DeskKind(Part):
    """The `desk:` of a spec. A subclass adds `kind`, a Literal of its name, and the keys it needs."""

    example: ClassVar[str]
    """What to write behind `desk:`, on one line of YAML; for the commented spec and the tests."""

    needs_display: ClassVar[bool] = True
    """People see the columns of `pool.display` only, so there must be some."""

    posts_arrive_late: ClassVar[bool] = False
    """A post whose reply was lost may still arrive: wait before items that are missing are posted again.
    Otherwise they are posted again at once, and posting what is there changes nothing."""

    sends_hints: ClassVar[bool] = False
    """The desk can tell us that somebody answered: what `open` gives has `send_hints_to`."""

    by_window: ClassVar[tuple[str, ...]] = ()
    """Keys that may hold a monitor's {date} and the like, and get the window's own."""

    most_shown_bytes: ClassVar[int | None] = None
    """What the shown fields of one item may take, as JSON; None: any."""

    kind: str
    annotators_per_item: int = Field(default=1, ge=1, le=100, description="people who answer each item")
    gold: Gold | None = Field(default=None, description="items of known answer: {labels: FILE, rate: 0.05}")
    ask_again: AskAgain | None = Field(
        default=None, description="true, false or {when:, chance:, moves:}; surprising answers asked again"
    )

    @field_validator("ask_again", mode="before")
    @classmethod
    def _in_a_word(cls, value: Any) -> Any:
        return {"when": "always" if value else "never"} if isinstance(value, bool) else value

    @classmethod
    def named(cls) -> str:
        """What a spec calls this kind."""
        return str(get_args(cls.model_fields["kind"].annotation)[0])

    @property
    def again(self) -> AskAgain:
        """Which answers are asked again: never where every item is answered by several people anyway."""
        if self.annotators_per_item > 1:
            return AskAgain(when="never")
        return self.ask_again or AskAgain()

    def two_classes_only(self) -> list[tuple[str, str]]:
        """(key, what it says) of what this desk was told that makes sense of a positive and a negative class
        only."""
        return []

    @abstractmethod
    def open(self, labelling: Labelling, resources: Resources) -> Desk:
        """The desk of one evaluation. Nothing is sent or written yet: that is `Desk.prepare`.

        Raises DeskRefused if a token is needed and there is none, BadInput for an unusable address.
        """

    @abstractmethod
    def look(self, labelling: Labelling, resources: Resources) -> str:
        """Look whether the desk can be used, and leave it as it is; what was found, for `assay doctor`.

        Raises an AssayError that says what is in the way, and the remedy.
        """
