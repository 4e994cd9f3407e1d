"""Options that say which column of a file is what, and the questions asked on a terminal where none does."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from assay.tasks.doctor.told import Told

if TYPE_CHECKING:
    from assay.tasks.doctor.examination import Examination
    from assay.tasks.doctor.roles import Question

_OPTIONS = {
    "id": "The column that names each item.",
    "prediction": "The column of predictions.",
    "score": "A column of numbers: the higher, the more likely positive.",
    "probability": "A column of probabilities of the positive class; of several classes, the confidence.",
    "label": "The column of true labels.",
    "positive": "The positive class, as the file writes it.",
    "threshold": "The score (50) or probability (0.5) from which on an item is predicted positive.",
    "display": "Columns that people see.",
}
_VALUES: dict[str, tuple[str, type]] = {          # what is no column
    "positive": ("CLASS", str), "threshold": ("NUMBER", float), "display": ("COLUMN[,COLUMN]", str),
}


def columns_told(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command these options; they reach it as one argument, `told`."""

    @wraps(command)
    def called(**given: Any) -> int:
        said = {name: given.pop(f"told_{name}") for name in _OPTIONS}
        display = tuple(filter(None, (said.pop("display") or "").split(",")))
        return command(**given, told=Told(**said, display=display))

    decorated: Callable[..., int] = called
    for name, help in reversed(_OPTIONS.items()):
        metavar, kind = _VALUES.get(name, ("COLUMN", str))
        decorated = click.option(
            f"--{name}", f"told_{name}", default=None, metavar=metavar, type=kind, help=f"Of a FILE: {help}"
        )(decorated)
    return decorated


def can_ask(as_json: bool) -> bool:
    """Whether somebody sits at a terminal."""
    return not as_json and sys.stdin.isatty() and sys.stdout.isatty()


def with_answers(
    told: Told, examine: Callable[[Told], "Examination"], can_ask: bool
) -> "Examination":
    """What `examine` finds; where somebody can be asked, with what a file leaves open settled by them."""
    found = examine(told)
    if found.roles is None or not can_ask:
        return found
    answered = _asked(told, found.roles.questions)
    return found if answered == told else examine(answered)


def _asked(told: Told, questions: Sequence["Question"]) -> Told:
    """With answers from the terminal."""
    said: dict[str, Any] = {}
    for question in questions:
        if len(question.choices) > 1:
            answer = click.prompt(
                question.asks.capitalize(), default=question.taken, type=click.Choice(question.choices)
            )
            said[question.option.removeprefix("--")] = answer
    return replace(told, **said)
