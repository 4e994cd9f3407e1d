"""The part of a labelling page on which people answer, and what its results say.

    one class     round buttons, the first 23 with hotkeys; a list where there are more than 60; of grades the
                  lowest and the highest are said to be that
    tags          square ones, of which any number may be chosen; `none of these` is an answer of its own
    a number      a field, with its bounds; that it is filled in is demanded by the project, not by the field
    can't tell    an answer of its own, beside any of these: the item cannot be decided (a skip)

One class and `can't tell` are buttons of one control, so that one excludes the other. Elsewhere `can't tell`
and `none of these` are a control of their own, which takes the other one off the page while one of them is
chosen; these boxes are square, because choosing one again gives the others back.

Nothing on the server checks results: what is no answer is read as none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from xml.sax.saxutils import quoteattr

from assay.evalcore.annotators.answers import AnswerKind
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.evalcore.json_values import JsonMapping, JsonObject

CONTROL = "label"
DIGITS = "1234567890"
LETTERS = "qtasdfgzxynjl"   # not those that mean something to Label Studio, and not that of `can't tell`
MOST_BUTTONS = 60           # that can be seen at once; more are a list

UNDECIDED = "undecided"   # the control of `can't tell`, where it has one of its own
_FEW_NAMES = 3            # classes that a question names
# What the page calls it: the first of these that is not a class.
_CANNOT_TELL = ("can't tell", "cannot be decided", "can't tell (none of these)")
# What results say for it. No class is written so: behind the `$` of a class stands a zero-width space.
_ALIAS = "cannot tell $"
_CANNOT_TELL_KEY = "c"
_NONE, _NONE_ALIAS, _NONE_KEY = "none of these", "none of these $", "n"


@dataclass(frozen=True, slots=True)
class Control:
    """The control of one kind of answers; of: the question it answers, where the page has several."""

    answers: AnswerKind
    of: str = ""

    @property
    def _name(self) -> str:
        """What results call the control."""
        return f"{CONTROL}_{self.of}" if self.of else CONTROL

    @property
    def _apart(self) -> str:
        """What results call the control of `can't tell`, where it has one of its own."""
        return f"{UNDECIDED}_{self.of}" if self.of else UNDECIDED

    @property
    def question(self) -> str:
        """What is asked of every item where the spec has no question."""
        names = self.answers.choices
        if not names:
            low, high = self.answers.bounds
            between = f", from {low:g} to {high:g}" if isfinite(low) and isfinite(high) else ""
            return f"Which number{between}?"
        if self.answers.several:
            return "Which of these apply? Choose all that do."
        if self.answers.ordered:
            return f"Which grade, from {names[0]} (lowest) to {names[-1]} (highest)?"
        if len(names) <= _FEW_NAMES:
            return f"Which is it: {', '.join(names[:-1])} or {names[-1]}?"
        return "Which of these is it?"

    @property
    def hint(self) -> str:
        """How to answer without searching. In the field of a number Label Studio hears no keys of its own."""
        if not self.answers.choices:
            return "Write the number, then click Submit."
        return "A key in brackets chooses. Ctrl+Enter (Mac: ⌘+Enter) submits."

    def lines(self, about: str) -> list[str]:
        """The lines of XML that show the control on a labelling page: buttons, a list, boxes or a number
        field, always with `can't tell` beside. `about` is the name of the shown field that answers are
        attached to."""
        to = f"toName={quoteattr(about)}"
        text = quoteattr(self._cannot_tell)
        cannot_tell = f'  <Choice value={text} alias="{_ALIAS}"{self._key(_CANNOT_TELL_KEY)}/>'
        if self._together:
            return [
                f'<Choices name="{self._name}" {to} choice="single-radio" required="true" showInline="true">',
                *self._buttons(), cannot_tell, "</Choices>",
            ]
        away = f'visibleWhen="choice-unselected" whenTagName="{self._apart}"'
        return [
            *(self._of_choices(to, away) if self.answers.choices else self._of_numbers(to, away)),
            f'<Choices name="{self._apart}" {to} choice="single" showInline="true">',
            *self._none_of_these(), cannot_tell, "</Choices>",
        ]

    def _none_of_these(self) -> list[str]:
        """The answer that no tag applies: nobody has to guess what submitting nothing would mean."""
        if not self.answers.several:
            return []
        return [f'  <Choice value="{_NONE}" alias="{_NONE_ALIAS}"{self._key(_NONE_KEY)}/>']

    def _key(self, key: str) -> str:
        """A hotkey; where the page has several questions Label Studio gives each button one of its own."""
        return "" if self.of else f' hotkey="{key}"'

    def _of_choices(self, to: str, away: str) -> list[str]:
        many = 'choice="multiple"' if self.answers.several else 'choice="single" required="true"'
        listed = len(self.answers.choices) > MOST_BUTTONS
        layout = 'layout="select"' if listed else 'showInline="true"'
        return [f'<Choices name="{self._name}" {to} {many} {layout} {away}>', *self._buttons(), "</Choices>"]

    def _buttons(self) -> list[str]:
        names = self.answers.choices
        taken = _NONE_KEY if self.answers.several else ""
        keys = [""] * len(names) if len(names) > MOST_BUTTONS or self.of else hotkeys(names, taken)
        ends = {names[0]: "lowest", names[-1]: "highest"} if self.answers.ordered else {}
        return [
            f"  <Choice{_called(name, ends.get(name))}{f' hotkey={quoteattr(key)}' if key else ''}/>"
            for name, key in zip(names, keys, strict=True)
        ]

    def _of_numbers(self, to: str, away: str) -> list[str]:
        ends = zip(("min", "max"), self.answers.bounds, strict=True)
        bounds = "".join(f' {word}="{end:g}"' for word, end in ends if isfinite(end))
        return [
            f'<View className="assay-number" {away}>',
            f'  <Header value={quoteattr(to_page(self.answers.wanted))} size="5"/>',
            f'  <Number name="{self._name}" {to}{bounds}/>', "</View>",
        ]

    @property
    def _together(self) -> bool:
        """Whether `can't tell` is one of the buttons of the classes."""
        return 0 < len(self.answers.choices) <= MOST_BUTTONS and not self.answers.several

    @property
    def _cannot_tell(self) -> str:
        """What the page calls it."""
        taken = {name.strip().casefold() for name in self.answers.choices}
        return next((text for text in _CANNOT_TELL if text not in taken), _CANNOT_TELL[-1])

    def cannot_tell(self, results: object) -> bool:
        """Whether the results say that the item cannot be decided.

        What is beside it does not count: choosing `can't tell` took it off the page.
        """
        ours = [result for result in results if isinstance(result, dict)] if isinstance(results, list) else []
        apart = [_chosen(result) for result in ours if result.get("from_name") == self._apart]
        within = [_chosen(result) for result in ours if result.get("from_name") == self._name]
        return [_ALIAS] in apart or within == [[_ALIAS]]

    def is_empty(self, results: object) -> bool:
        """Whether the results of an annotation hold no entry of this control, so that its question was left
        alone. Results that are no list count as empty."""
        ours = [result for result in results if isinstance(result, dict)] if isinstance(results, list) else []
        return not any(result.get("from_name") in (self._name, self._apart) for result in ours)

    def meaning(self, results: object) -> str | None:
        """The answer in the results of an annotation, regions that people drew apart; None if it is none."""
        if not isinstance(results, list):
            return None
        if not all(isinstance(result, dict) and "from_name" in result for result in results):
            return None
        ours = [result for result in results if result["from_name"] == self._name]
        if not self.answers.choices:
            return self._number(ours)
        if self.answers.several and (_none_chosen(results, self._apart) or (not ours and not self.of)):
            return self.answers.empty     # nothing at all was an answer on the pages of earlier versions
        chosen = _chosen(ours[0]) if len(ours) == 1 else None
        if chosen is None or _ALIAS in chosen or (len(chosen) != 1 and not self.answers.several):
            return None
        names = [from_page(name) for name in chosen]
        if set(names) - set(self.answers.choices):
            return None
        return self.answers.meaning("|".join(names)) if names else self.answers.empty

    def _number(self, ours: Sequence[JsonMapping]) -> str | None:
        value = ours[0].get("value") if len(ours) == 1 else None
        number = value.get("number") if isinstance(value, dict) else None
        if not isinstance(number, int | float) or isinstance(number, bool):
            return None
        return self.answers.meaning(repr(number))

    def results(self, answer: str | None) -> list[JsonObject]:
        """What Label Studio's page submits for an answer; None: can't tell."""
        if answer is None:
            control = self._name if self._together else self._apart
            return [self._result("choices", {"choices": [_ALIAS]}, control)]
        if not self.answers.choices:
            return [self._result("number", {"number": float(answer)}, self._name)]
        if answer == self.answers.empty:
            return [self._result("choices", {"choices": [_NONE_ALIAS]}, self._apart)]
        names = answer.split("|") if self.answers.several else [answer]
        return [self._result("choices", {"choices": [to_page(name) for name in names]}, self._name)]

    @staticmethod
    def _result(kind: str, value: JsonObject, control: str) -> JsonObject:
        return {"from_name": control, "to_name": "any", "type": kind, "value": value}


def hotkeys(names: Sequence[str], taken: str = "") -> list[str]:
    """A key for each name, "" where there is none left: digits in their order, then letters; none of `taken`.

    A name that is a digit has that digit as its key, and then no other name has one, so that nobody presses 3
    and gives the grade 2.
    """
    digits = set(names) & set(DIGITS)
    free = (key for key in (LETTERS if digits else DIGITS + LETTERS) if key not in taken)
    return [name if name in digits else next(free, "") for name in names]


def _called(name: str, end: str | None) -> str:
    """The name of a choice; of an end of a scale with what it is, while results say the name alone."""
    value = quoteattr(to_page(name))
    if end is None:
        return f" value={value}"
    return f" value={quoteattr(to_page(f'{name} ({end})'))} alias={value}"


def _none_chosen(results: Sequence[Mapping[str, object]], apart: str) -> bool:
    return [_NONE_ALIAS] in [_chosen(result) for result in results if result.get("from_name") == apart]


def _chosen(result: Mapping[str, object]) -> list[str] | None:
    value = result.get("value")
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list) or not all(isinstance(name, str) for name in choices):
        return None
    return choices


_GUARD = "\u200b"
# What XML 1.0 cannot hold, not even escaped. A class that holds one is refused when the spec is read.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_page(text: str) -> str:
    """The text as a value on the page, not yet quoted.

    People's words in the XML of a labelling page.

    They go through Label Studio's own templates, where `$word` is replaced by a value of the item: a
    zero-width space after every `$` keeps it a dollar sign, and is taken out again when the answer comes
    back.
    """
    return _NOT_XML.sub("", text).replace("$", "$" + _GUARD)


def from_page(text: str) -> str:
    """The text behind a value as Label Studio reports it: the inverse of `to_page`, which writes an
    invisible sign behind each dollar sign, but for signs that XML cannot hold and that are gone."""
    return text.replace("$" + _GUARD, "$")


def control_of(answers: AnswerKind) -> Control:
    """The control with which people give answers of this kind: one that holds a control for each question
    where several are asked, else a single one.

    Several questions on one labelling page: a control for each below the item, in the order of the spec.

    Each has `can't tell` among its answers, which leaves that question alone unanswered; who cannot tell of
    any skips the item.  Keys are those that Label Studio gives, one after the other over the whole page.
    """
    return ControlsOfQuestions(answers) if isinstance(answers, QuestionAnswers) else Control(answers)


@dataclass(frozen=True, slots=True)
class ControlsOfQuestions(Control):
    """The part of a labelling page that asks several questions about one item: a `Control` for each below a
    heading of its own. Their results are read together, as one answer to all of them."""

    @property
    def _asked(self) -> QuestionAnswers:
        if not isinstance(self.answers, QuestionAnswers):
            raise TypeError("these are answers to one question")
        return self.answers

    @property
    def _each(self) -> Iterator[tuple[str, Control]]:
        for name, kind in self._asked.questions.items():
            yield name, Control(kind, of=name)

    @property
    def question(self) -> str:
        """What is said above all of them, where the spec says nothing."""
        return "Please answer each question."

    @property
    def hint(self) -> str:
        """How to answer a page of several questions, in the words that people who label read there; the same
        whatever the questions are."""
        return "Choose can't tell where you cannot say. Ctrl+Enter (Mac: ⌘+Enter) submits."

    def lines(self, about: str) -> list[str]:
        """The lines of XML for all questions in their order: a block for each, with its wording as a heading
        and the lines of its control. `about` is the name of the shown field that answers are attached to."""
        lines: list[str] = []
        for name, control in self._each:
            header = self._asked.asks.get(name) or f"{name}: {control.question}"
            lines += [
                '<View className="assay-asked">', f'  <Header value={quoteattr(to_page(header))} size="5"/>',
                *(f"  {line}" for line in control.lines(about)), "</View>",
            ]
        return lines

    def cannot_tell(self, results: object) -> bool:
        """Whether somebody chose `can't tell` at every one of the questions, so that the item counts as
        skipped. Where one of them is answered, the others are gaps."""
        return self.meaning(results) is None and all(part.cannot_tell(results) for _, part in self._each)

    def meaning(self, results: object) -> str | None:
        """The answers in the results of an annotation; None if they are none."""
        answers: dict[str, str | None] = {}
        for name, control in self._each:
            if control.cannot_tell(results) or control.is_empty(results):
                continue
            answers[name] = control.meaning(results)
            if answers[name] is None:
                return None
        return self._asked.joint_answer(answers) if answers else None

    def results(self, answer: str | None) -> list[JsonObject]:
        """What Label Studio's page submits for the answers; None: can't tell of any."""
        answers = {} if answer is None else self._asked.by_question(answer)
        return [result for name, control in self._each for result in control.results(answers.get(name))]
