"""A desk at which two answers are compared by people who do not know which is which.

    v1, v2                the columns of the pool that hold the two answers; their names name the outcomes
    answer_a, answer_b    what people see them as; A, B and tie is what they answer

Which of the two is A is drawn for each item from (seed, evaluation, item). It depends on nothing else, so an
item is shown the same way whenever it is shown, and `assay verify` draws it again. What people said, and
which answer was A, is kept with each annotation (`raw.said`, `raw.answer_a`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.reproducible import stream
from assay.tasks.desks.desk import Batch, Collected, Desk, HasPlace, Item, SendsHints

FIELDS = ("answer_a", "answer_b")
SIDES = ("A", "B")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindPair:
    """The two answers of one evaluation, and the order in which each item shows them."""

    answers: tuple[str, str]
    seed: int
    evaluation: str

    def order(self, item_id: str) -> tuple[str, str]:
        """The names of the two answers, first the one that is shown as A, then the one shown as B. Either
        order has probability ½ and follows from (seed, evaluation, item id) alone, so an item is always
        shown the same way."""
        first, second = self.answers
        drawn = stream(self.seed, self.evaluation, purpose=f"order of two answers: {item_id}")
        return (first, second) if drawn.random() < 0.5 else (second, first)

    def shown(self, item: Item) -> Item:
        """A copy of the item as people see it: the columns of the two answers are replaced by the fields
        `answer_a` and `answer_b`, in the order drawn for the item. Other shown fields stay; an answer
        that is missing becomes empty text."""
        shown = {name: text for name, text in item.shown.items() if name not in self.answers}
        sides = zip(FIELDS, self.order(item.item_id), strict=True)
        return replace(item, shown=shown | {field: item.shown.get(name, "") for field, name in sides})

    def side(self, item_id: str, label: object) -> Any:
        """A for the answer that the item shows as A, by its name; what is no name of the two stays."""
        sides = dict(zip(self.order(item_id), SIDES, strict=True))
        return sides.get(label, label) if isinstance(label, str) else label

    def with_answer_names(self, annotation: Annotation) -> Annotation:
        """What a person said, by the names of the two answers."""
        order = self.order(annotation.item_id)
        names = dict(zip(SIDES, order, strict=True))
        raw = {**annotation.raw, "said": annotation.label, "answer_a": order[0]}
        label = annotation.label
        return replace(annotation, label=None if label is None else names.get(label, label), raw=raw)


class BlindDesk:
    """Any desk, behind which names and order of the two answers are hidden."""

    def __init__(self, desk: Desk, pair: BlindPair) -> None:
        self.desk, self._pair = desk, pair

    def prepare(self) -> None:
        self.desk.prepare()

    def missing(self, batch: Batch) -> list[Item]:
        gone = {item.item_id for item in self.desk.missing(self._shown(batch))}
        return [item for item in batch.items if item.item_id in gone]

    def post(self, batch: Batch, items: Sequence[Item]) -> None:
        self.desk.post(self._shown(batch), [self._pair.shown(item) for item in items])

    def collect(self, batch: Batch) -> Collected:
        collected = self.desk.collect(self._shown(batch))
        annotations = [self._pair.with_answer_names(answer) for answer in collected.annotations]
        return replace(collected, annotations=annotations)

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        self.desk.request_more(self._shown(batch), item_ids, annotators)

    def place(self) -> str:
        """Where people label at the desk behind this one, an address or a folder; empty text where that desk
        has no place. Raises what a read of that desk raises."""
        return self.desk.place() if isinstance(self.desk, HasPlace) else ""

    def send_hints_to(self, url: str, secret: str) -> bool:
        """Whether anything had to be changed at the desk behind this one for it to POST to the address when
        somebody answers. Raises TypeError where that desk sends no hints (`DeskKind.sends_hints`), and
        what it raises itself."""
        if not isinstance(self.desk, SendsHints):
            raise TypeError(f"{type(self.desk).__name__} sends no hints")
        return self.desk.send_hints_to(url, secret)

    def _shown(self, batch: Batch) -> Batch:
        return replace(batch, items=[self._pair.shown(item) for item in batch.items])


def shown_columns(display: Sequence[str], answers: tuple[str, str]) -> list[str]:
    """What people see, with the two answers side by side at the end."""
    return [*(name for name in display if name not in answers), *FIELDS]


def shown_kinds(show_as: Mapping[str, str], answers: tuple[str, str]) -> dict[str, str]:
    """How each of these columns is shown; both answers are shown as the first one is."""
    other_kinds = {name: kind for name, kind in show_as.items() if name not in answers}
    kind = show_as.get(answers[0])
    return other_kinds if kind is None else other_kinds | dict.fromkeys(FIELDS, kind)
