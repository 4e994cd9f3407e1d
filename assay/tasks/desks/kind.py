"""What a kind of desk declares: its keys in a spec, how it is opened, and what the rest of Assay must know.

A kind is a file beside this module, or a folder with a `kind.py`. It holds a subclass of `DeskKind`, which is
the `desk:` of a spec as well; `registry` lists the subclasses. No other module asks which kind a desk is:
what differs is a method or a class variable here.

A kind's module is imported with every spec, so it imports what costs time (an SDK, pyarrow) inside
`opened` and `look`.
"""

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator

from assay.evalcore.annotators.answers import AnswerKind, class_answers
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.evalcore.annotators.rules import CHANCE, MOVES
from assay.evalcore.types import Bools
from assay.tasks.desks.blind import SIDES, BlindDesk, BlindPair, shown_columns, shown_kinds
from assay.tasks.desks.desk import Desk
from assay.tasks.ledger.stores.store import Store
from assay.tasks.schema import Column, Location, Part, wrong

if TYPE_CHECKING:
    import pyarrow as pa

DOCTOR_TIMEOUT_SECONDS = 10.0   # for one reply, where a person waits for `assay doctor`


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelling:
    """What people are asked, as the spec says it: the kind of answers, the columns they see and how, the
    question and the guidelines, and the two columns that are compared, where there are two. A desk is
    opened for it."""

    evaluation: str
    answers: AnswerKind             # what they may answer
    display: Sequence[str]          # the columns people see
    show_as: Mapping[str, str]      # column -> text, image, html or markdown; text unless it is there
    id_column: str
    seed: int
    two_answers: tuple[str, str] | None = None   # the columns of two answers, of which people choose one
    question: str | None = None     # what is asked of every item
    guidelines: str | None = None   # what people are told, lines of text

    @property
    def pair(self) -> BlindPair | None:
        """The two answers that people choose between, with the order in which each item shows them; None
        where no two answers are compared."""
        if self.two_answers is None:
            return None
        return BlindPair(answers=self.two_answers, seed=self.seed, evaluation=self.evaluation)

    @property
    def blind(self) -> "Labelling":
        """The same, where people are not told which of two answers is which."""
        if self.two_answers is None:
            return self
        other_choices = [name for name in self.answers.choices if name not in self.two_answers]
        return replace(
            self, answers=class_answers(*SIDES, *other_choices), two_answers=None,
            question=self.question or f"Which is better, {SIDES[0]} or {SIDES[1]}?",
            display=shown_columns(self.display, self.two_answers),
            show_as=shown_kinds(self.show_as, self.two_answers),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a desk may use of the process that opens it."""

    store: Store                                 # the ledger's; a desk keeps what it must outside the record
    identity: str = ""                           # tells apart evaluations of one name in different ledgers
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)   # has the tokens
    clock: Callable[[], float] = time.time       # seconds since a moment that is the same for every process


def server_address(url: str) -> str:
    """The address of a desk's server as a spec gives it. Raises what pydantic makes an error of, for one that
    is not of http or https, and for one with a query or a fragment."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise wrong(f"{url!r} is not an http:// or https:// address")
    if parts.query or parts.fragment:
        raise wrong("has a query or a fragment ('?', '#'); give the address of the server alone")
    return url


ServerAddress = Annotated[Location, AfterValidator(server_address)]


def one_answer_each(kind: str, answers: AnswerKind) -> list[tuple[str, str]]:
    """What `DeskKind.unlike` says for a kind of desk that takes one answer an item: nothing, or, of several
    questions, that another desk has to ask them."""
    if isinstance(answers, QuestionAnswers):
        return [("kind", f"{kind} takes one answer an item; for several questions use another desk")]
    return []


class Gold(Part):
    """Items of known answer, mixed into the batches to see how people do."""

    labels: Location = Field(description="a file with the id, label and display columns")
    rate: float = Field(default=0.05, gt=0, le=0.5, description="their share of what people see")
    id: Column | None = Field(default=None, description="its id column; the pool's id column unless said")
    label: Column = Field(default="label", description="its label column")


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


class ShowCheck(Protocol):
    """Finds values that a desk cannot show, column by column, as the rows of a pool come in."""

    def wrong(self, column: str, values: "pa.StringArray") -> tuple[Bools, str, str] | None:
        """(which rows, what is wrong with their values, what to do); None where all can be shown."""
        ...


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

    blinds: ClassVar[bool] = True
    """Who labels must not know which of two answers is which."""

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
    def _in_a_word(cls, value: object) -> Any:
        return {"when": "always" if value else "never"} if isinstance(value, bool) else value

    @classmethod
    def named(cls) -> str:
        """The word by which a spec calls this kind of desk, such as folder: the one value of the Literal
        that types its field `kind`."""
        return str(get_args(cls.model_fields["kind"].annotation)[0])

    @property
    def again(self) -> AskAgain:
        """Which answers are asked again: never where every item is answered by several people anyway."""
        if self.annotators_per_item > 1:
            return AskAgain(when="never")
        return self.ask_again or AskAgain()

    def joined(self) -> list[tuple[str, str]]:
        """(key, file) of each file the rows of which are found by the pool's own id column."""
        return [("gold.labels", self.gold.labels)] if self.gold and self.gold.id is None else []

    def unlike(self, answers: AnswerKind) -> list[tuple[str, str]]:
        """(key, what is wrong with it) of what this desk was told that does not fit these answers."""
        return []

    def show_check(self, labelling: Labelling) -> ShowCheck | None:
        """What finds values that people could not be shown at this desk; None where anything can be shown."""
        return None

    def open(self, labelling: Labelling, resources: Resources) -> Desk:
        """The desk of one evaluation, blind where two answers are compared. Raises as `opened`."""
        pair = labelling.pair
        if pair is None or not self.blinds:
            return self.opened(labelling, resources)
        return BlindDesk(self.opened(labelling.blind, resources), pair)

    @abstractmethod
    def opened(self, labelling: Labelling, resources: Resources) -> Desk:
        """The desk of this kind. Nothing is sent or written yet: that is `Desk.prepare`.

        Raises DeskRefused if a token is needed and there is none, BadInput for an unusable address.
        """

    def address_for(self, evaluation: str, place: str = "") -> tuple[str, str] | None:
        """A link for people who look, and what is behind it in words; None where there is no address.

        place: where the ledger says that people find the items
        """
        return None

    @abstractmethod
    def look(self, labelling: Labelling, resources: Resources) -> str:
        """Look whether the desk can be used, and leave it as it is; what was found, for `assay doctor`.

        Raises an AssayError that says what is in the way, and the remedy.
        """
