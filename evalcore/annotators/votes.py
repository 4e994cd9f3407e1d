"""Votes: who called which item what, as arrays.

    I   items       J   annotators       V   votes, at most one for each item and annotator
    K   classes            y   the class, 0..K-1

An item is named by its round and its id, because gold items come up in several rounds. Both items and
annotators are numbered in the sorted order of their names, so the same votes give the same arrays whatever
order they were read in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.evalcore.annotators.adjudication import Answer, latest_answers
from assay.evalcore.types import Bools, Ints

Place = tuple[int, str]   # round, item id
UNKNOWN = -1              # the truth of an item that is no gold


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Votes:
    """The votes about some items."""

    items: tuple[Place, ...]      # I names
    annotators: tuple[str, ...]   # J names
    item: Ints                    # (V,) index into items
    annotator: Ints               # (V,) index into annotators
    label: Ints                   # (V,) 0..K-1
    n_classes: int = 2            # K

    @property
    def counts(self) -> Ints:
        """(I, K) votes by item and class."""
        table = np.zeros((len(self.items), self.n_classes), np.int64)
        np.add.at(table, (self.item, self.label), 1)
        return table

    def where(self, keep: Bools) -> "Votes":
        """The votes marked in keep (V,); items and annotators keep their numbers."""
        return Votes(
            items=self.items, annotators=self.annotators,
            item=self.item[keep], annotator=self.annotator[keep], label=self.label[keep],
            n_classes=self.n_classes,
        )

    def only(self, keep: Bools) -> "Votes":
        """The items marked in keep (I,), numbered anew, and the votes about them; annotators keep their
        numbers."""
        number = np.cumsum(keep) - 1
        inside = keep[self.item]
        return Votes(
            items=tuple(name for name, kept in zip(self.items, keep.tolist(), strict=True) if kept),
            annotators=self.annotators,
            item=number[self.item[inside]], annotator=self.annotator[inside], label=self.label[inside],
            n_classes=self.n_classes,
        )


def truth_of(votes: Votes, gold: Mapping[Place, float]) -> Ints:
    """(I,) the known truth of gold items, UNKNOWN of the others."""
    return np.array([gold.get(place, UNKNOWN) for place in votes.items], np.int64)


def votes_of(answers: Mapping[int, Iterable[Answer]], classes: Mapping[str, int]) -> Votes:
    """Everybody's latest answer about each item, where it is a class of `classes` (name -> 0..K-1).

    answers   by round
    """
    valid = sorted(
        ((number, answer.item_id), answer.annotator, classes[answer.label])
        for number, of_round in answers.items()
        for several in latest_answers(of_round).values()
        for answer in several
        if answer.kind == "label" and answer.label is not None and answer.label in classes
    )
    items = tuple(sorted({item for item, _, _ in valid}))
    annotators = tuple(sorted({annotator for _, annotator, _ in valid}))
    place = {name: i for i, name in enumerate(items)}
    person = {name: j for j, name in enumerate(annotators)}
    return Votes(
        items=items,
        annotators=annotators,
        item=np.array([place[item] for item, _, _ in valid], np.int64),
        annotator=np.array([person[name] for _, name, _ in valid], np.int64),
        label=np.array([label for _, _, label in valid], np.int64),
        n_classes=max(len(classes), 2),
    )
