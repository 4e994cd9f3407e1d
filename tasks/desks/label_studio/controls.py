"""The part of a labelling page on which people answer, and what its results say.

    one class     buttons with hotkeys; a list to search in from eleven on
    tags          the same, of which any number may be chosen; none chosen means that there is no tag
    a number      a field, with its bounds

Nothing on the server checks results: what is no answer is read as none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any
from xml.sax.saxutils import quoteattr

from assay.evalcore.annotators.answers.base import AnswerKind
from assay.tasks.desks.label_studio.xml_text import from_page, to_page

CONTROL = "label"
HOTKEYS = "1234567890"
MOST_BUTTONS = len(HOTKEYS)


@dataclass(frozen=True, slots=True)
class Control:
    """The control of one kind of answers."""

    answers: AnswerKind

    @property
    def may_be_empty(self) -> bool:
        """Whether submitting nothing is an answer."""
        return self.answers.several

    def lines(self, about: str) -> list[str]:
        """Lines of XML; about: the name of a shown field."""
        to = f'name="{CONTROL}" toName={quoteattr(about)}'
        names = self.answers.choices
        if not names:
            ends = zip(("min", "max"), self.answers.bounds, strict=True)
            bounds = "".join(f' {word}="{end:g}"' for word, end in ends if isfinite(end))
            return [f'<Number {to} required="true"{bounds}/>']
        many = 'choice="multiple"' if self.answers.several else 'choice="single" required="true"'
        layout = 'layout="select"' if len(names) > MOST_BUTTONS else 'showInline="true"'
        lines = [f"<Choices {to} {many} {layout}>"]
        for position, name in enumerate(names):
            hotkey = f" hotkey={quoteattr(HOTKEYS[position])}" if len(names) <= MOST_BUTTONS else ""
            lines.append(f"  <Choice value={quoteattr(to_page(name))}{hotkey}/>")
        return [*lines, "</Choices>"]

    def meaning(self, results: Any) -> str | None:
        """The answer in the results of an annotation, regions that people drew apart; None if it is none."""
        if not isinstance(results, list):
            return None
        if not all(isinstance(one, dict) and "from_name" in one for one in results):
            return None
        ours = [one for one in results if one["from_name"] == CONTROL]
        if not self.answers.choices:
            return self._number(ours)
        if self.answers.several and not ours:
            return self.answers.empty
        chosen = _chosen(ours[0]) if len(ours) == 1 else None
        if chosen is None or (len(chosen) != 1 and not self.answers.several):
            return None
        names = [from_page(name) for name in chosen]
        if set(names) - set(self.answers.choices):
            return None
        return self.answers.meaning("|".join(names)) if names else self.answers.empty

    def _number(self, ours: Sequence[Mapping[str, Any]]) -> str | None:
        value = ours[0].get("value") if len(ours) == 1 else None
        number = value.get("number") if isinstance(value, dict) else None
        if not isinstance(number, int | float) or isinstance(number, bool):
            return None
        return self.answers.meaning(repr(number))

    def results(self, answer: str) -> list[dict[str, Any]]:
        """What Label Studio's page submits for an answer."""
        if not self.answers.choices:
            return [self._result("number", {"number": float(answer)})]
        if answer == self.answers.empty:
            return []
        names = answer.split("|") if self.answers.several else [answer]
        return [self._result("choices", {"choices": [to_page(name) for name in names]})]

    @staticmethod
    def _result(kind: str, value: dict[str, Any]) -> dict[str, Any]:
        return {"from_name": CONTROL, "to_name": "any", "type": kind, "value": value}


def _chosen(result: Mapping[str, Any]) -> list[str] | None:
    value = result.get("value")
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list) or not all(isinstance(name, str) for name in choices):
        return None
    return choices
