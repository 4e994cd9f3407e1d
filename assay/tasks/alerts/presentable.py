"""Text that comes from data, made fit for a message: where an alert is made, and again where it is sent.

Segments, classes, reasons and the messages of errors are whatever somebody wrote into a file.  Where an alert
is made, each such value becomes one line without control characters (`single_lined`), so that no value adds a
line of its own to a message.  Where it is sent, whichever the channel (`plain_subject`, `plain_body`):

    the subject   one line of at most 300 characters: it is a header of mail, and the title of an incident
    the body      at most 8,000 characters
    mentions      `<!channel>`, `<@U123>`, `<@&role>`, `@everyone`, `@name` ring nobody: the sign is replaced
                  by one that looks like it
    links         of markup, `<https://...|text>` and `[text](https://...)`, do not hide where they lead
    direction     marks that turn around the text after them are spelled out: `[U+202E]`
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from assay.tasks.report.wording import shown_text

LONGEST_ALERT_VALUE = 500   # characters of one value in a message
LONGEST_SUBJECT = 300   # characters
LONGEST_BODY = 8_000   # characters

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_CONTROL_BUT_LINES = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]+")
# `@` at the beginning of a word, and before the names that ring many wherever they stand
_MENTION = re.compile(r"@(?=(?:everyone|here|channel|all|room|team)\b)|(?<![\w.+-])@(?=\S)", re.IGNORECASE)
_MARKUP = {ord("<"): "\u2039", ord(">"): "\u203a"}

Value = TypeVar("Value")


def single_lined(value: Value) -> Value:
    """A record with every text in it on one line, without control characters, of at most LONGEST_ALERT_VALUE.

    What needs no change is given back as it is.
    """
    return cast(Value, _single_lined(value, {}))


def _single_lined(value: object, done: dict[int, object]) -> object:
    if isinstance(value, str):
        return one_line(value, LONGEST_ALERT_VALUE)
    if id(value) in done:      # parts that are the same object stay so
        return done[id(value)]
    result: object
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: new for field in fields(value)
            if field.init and (new := _single_lined(old := getattr(value, field.name), done)) is not old
        }
        result = replace(value, **changed) if changed else value
    elif isinstance(value, tuple | list):
        parts = [_single_lined(part, done) for part in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        result = value if same else type(value)(parts)
    elif isinstance(value, Mapping):
        pairs = {_single_lined(name, done): _single_lined(part, done) for name, part in value.items()}
        result = value if all(value.get(name) is part for name, part in pairs.items()) else pairs
    else:
        return value
    done[id(value)] = result
    return result


def one_line(text: str, longest: int) -> str:
    """The text on one line; the text itself where that is what it is."""
    plain = _CONTROL.sub(" ", text)
    return text if plain == text and len(text) <= longest else _shortened(plain, longest)


def plain_subject(text: str) -> str:
    """The subject of a message as every channel may carry it: one line of at most 300 characters that rings
    nobody and hides no link."""
    return _harmless(one_line(text, LONGEST_SUBJECT))


def plain_body(text: str) -> str:
    """A body as every channel may carry it; its lines stay."""
    return _harmless(_shortened(_CONTROL_BUT_LINES.sub(" ", text), LONGEST_BODY))


def _harmless(text: str) -> str:
    spelled = _MENTION.sub("\uff20", text.translate(_MARKUP)).replace("](", "] (")
    return str(shown_text(spelled))


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"
