"""Which class a written value means: one reading for every file, every frame and every answer.

Programs write one class in several ways. A reader compares values before texts:

    what is seen    letters are composed (NFC); spaces of every kind are one plain space, none at the ends;
                    marks that cannot be seen are no part of a name
    booleans        true, True and TRUE are one value
    numbers         1, 1.0 and 1.00 are one value; 007 is a name
    days            2024-05-01 and its midnight are one value
    capitals        Spam means `spam` where only one class is called so in any case

A name is looked for as it is written first, so classes that differ by a capital alone can be told apart.
With a positive and a negative class, 1 and true mean the positive one, 0 and false the other one, unless one
of the two is called so itself.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal
from unicodedata import category, normalize

_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]*))?")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T]00:00(?::00(?:\.0+)?)?(?:Z|\+00:00)?)?")
_JOINED = re.compile(r"[;,/+&]")
_BETWEEN = re.compile(r"(?<=[^\W_])[\s_-]+(?=[^\W_])")     # letters and digits
_BOOLEANS = ("true", "false")
_YES, _NO = ("1", "true"), ("0", "false")     # values that mean the positive class, and the negative one
POSITIVE_WORDS = frozenset((*_YES, "yes", "y", "positive", "pos"))     # names that say which class is meant
NEGATIVE_WORDS = frozenset((*_NO, "no", "n", "negative", "neg"))


def as_seen(name: str) -> str:
    """The name without what cannot be seen, with plain spaces, and composed.

    >>> as_seen("spam\\u200b ")
    'spam'
    """
    if name.isascii() and name.isalnum():
        return name
    visible = "".join(character for character in name if category(character) != "Cf")
    return " ".join(normalize("NFC", visible).split())


def class_value(text: str) -> str:
    """What the spellings of one class have in common; capitals count, but of booleans.

    >>> [class_value(text) for text in ("TRUE", "1.0", "0.50", "007", "not  spam ", "2024-05-01 00:00:00")]
    ['true', '1', '0.5', '007', 'not spam', '2024-05-01']
    """
    visible = as_seen(text)
    if visible.lower() in _BOOLEANS:
        return visible.lower()
    number = _NUMBER.fullmatch(visible)
    if number is None:
        day = _DAY.fullmatch(visible)
        return visible if day is None else day[1]
    sign, integer, fraction = number[1], number[2], (number[3] or "").rstrip("0")
    value = f"{integer}.{fraction}" if fraction else integer
    return value if value == "0" else sign + value


def meaning_of(name: str) -> Literal["positive", "negative"] | None:
    """Which of two classes a name says it is; None for most names.

    >>> meaning_of("Yes"), meaning_of("0"), meaning_of("spam")
    ('positive', 'negative', None)
    """
    value = class_value(name).casefold()
    return "positive" if value in POSITIVE_WORDS else "negative" if value in NEGATIVE_WORDS else None


def two_class_values(positive: str, negative: str) -> dict[str, str]:
    """What a file may write for each of two classes besides their names -> the class that it means.

    >>> two_class_values("spam", "ham")
    {'1': 'spam', 'true': 'spam', '0': 'ham', 'false': 'ham'}
    >>> two_class_values("0", "1")
    {'1': '1', 'true': '1', '0': '0', 'false': '0'}
    >>> two_class_values("1", "2")
    {'1': '1', 'true': '1'}
    >>> two_class_values("No", "Yes")["1"]
    'Yes'
    """
    values = class_value(positive), class_value(negative)
    turned = meaning_of(positive) == "negative" or meaning_of(negative) == "positive"
    meanings: dict[str, str] = {}
    for words, place in ((_YES, int(turned)), (_NO, int(not turned))):
        name, value = (positive, negative)[place], values[place]
        plain = not {*values} & {*_YES, *_NO}
        for word in words:
            if plain or value in words or not _is_boolean_or_number(value):
                meanings[word] = name
    return meanings


@dataclass(frozen=True, slots=True)
class ClassReader:
    """Reads values as names of classes.

    names       of the classes
    spellings   what may be written besides -> the class it means
    """

    names: Collection[str]
    spellings: Mapping[str, str] = field(default_factory=dict)

    def read(self, text: str) -> str | None:
        """The class that was written; None where it is none, or could be two. Spelling in capitals, and signs
        that cannot be seen, make no other class."""
        if text in self.names:
            return text
        if text in self.spellings:
            return self.spellings[text]
        by_value, folded = _tables(tuple(self.names), tuple(self.spellings.items()))
        value = class_value(text)
        return by_value.get(value) or folded.get(value.casefold())


@lru_cache(maxsize=64)
def _tables(
    names: tuple[str, ...], spellings: tuple[tuple[str, str], ...]
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Class by value, and by value in any case; what could be two classes is in neither."""
    written = [*((name, name) for name in names), *spellings]
    by_value = _unambiguous((class_value(text), name) for text, name in written)
    return by_value, _unambiguous((class_value(text).casefold(), name) for text, name in written)


def _unambiguous(meanings: Iterable[tuple[str, str]]) -> dict[str, str]:
    classes_of_value: dict[str, set[str]] = {}
    for value, name in meanings:
        classes_of_value.setdefault(value, set()).add(name)
    return {value: names.pop() for value, names in classes_of_value.items() if len(names) == 1}


def classes_among(counts: Mapping[str, int]) -> dict[str, str]:
    """Each written value -> the class that it names, in the commonest spelling of its value.

    counts      written value -> how often it is there, in all columns of classes together

    Booleans, numbers and days have the shortest spelling. Where every value is one of 1, 0, true and false,
    and both kinds are there, 1 and true are one class.

    >>> classes_among({"TRUE": 3, "True": 9, "false": 4})
    {'TRUE': 'true', 'True': 'true', 'false': 'false'}
    >>> classes_among({"ham": 3, "ham ": 1, "Ham": 1})
    {'ham': 'ham', 'ham ': 'ham', 'Ham': 'Ham'}
    """
    values = {text: class_value(text) for text in counts}
    kinds = set(values.values())
    if kinds <= {*_YES, *_NO} and kinds & {*_BOOLEANS} and kinds - {*_BOOLEANS}:
        values = {text: "1" if value in _YES else "0" for text, value in values.items()}
    spelled: dict[str, Counter[str]] = {}
    for text, value in values.items():
        spelled.setdefault(value, Counter())[normalize("NFC", text.strip())] += counts[text]
    names = {
        value: value if _has_one_spelling(value) else min(texts, key=lambda text: (-texts[text], text))
        for value, texts in spelled.items()
    }
    return {text: names[value] for text, value in values.items()}


def _has_one_spelling(value: str) -> bool:
    return _is_boolean_or_number(value) or _DAY.fullmatch(value) is not None


def _is_boolean_or_number(value: str) -> bool:
    return value in _BOOLEANS or _NUMBER.fullmatch(value) is not None


def classes_of_columns(columns: Sequence[Mapping[str, int]]) -> list[dict[str, str]]:
    """Of each column, each written value -> the class that it names, the same in all of them.

    columns     by column, written value -> how often it is there; the one of labels last

    Names that differ by capitals alone are one class, spelled as in the last column that has it, unless one
    column has both.

    >>> classes_of_columns([{"SPAM": 1, "HAM": 2}, {"spam": 1, "ham": 2}])
    [{'SPAM': 'spam', 'HAM': 'ham'}, {'spam': 'spam', 'ham': 'ham'}]
    """
    counts: Counter[str] = Counter()
    for column in columns:
        counts.update(column)
    meanings = classes_among(counts)
    of_each = [{text: meanings[text] for text in column} for column in columns]
    if any(what_differs(set(classes_of_column.values())) for classes_of_column in of_each):
        return of_each
    spelled = {name.casefold(): name for classes_of_column in of_each for name in classes_of_column.values()}
    return [
        {text: spelled[name.casefold()] for text, name in classes_of_column.items()}
        for classes_of_column in of_each
    ]


def guessed_positive(names: Collection[str]) -> str | None:
    """The class that is positive by its name, or because the other one is negative by its own; else None.

    >>> guessed_positive(["No", "Yes"]), guessed_positive(["0", "fraud"]), guessed_positive(["ham", "spam"])
    ('Yes', 'fraud', None)
    """
    values = {name: class_value(name).casefold() for name in sorted(names)}
    if all(map(_NUMBER.fullmatch, values.values())) and not {*values.values()} & {*_NO}:
        return None       # 1 and 2 are numbers of classes
    positive = [name for name, value in values.items() if value in POSITIVE_WORDS]
    not_negative = [name for name, value in values.items() if value not in NEGATIVE_WORDS]
    if positive:
        return positive[0]
    return not_negative[0] if len(not_negative) == 1 < len(values) else None


def what_differs(texts: Collection[str]) -> str | None:
    """Which of these values are easily taken for one another, and by what they differ; None where none are.

    >>> what_differs(["Spam", "spam", "ham"])
    "'Spam' and 'spam' differ only by capitals"
    >>> what_differs(["very good", "very_good", "bad"])
    "'very good' and 'very_good' differ only by spaces, dashes or underscores"
    >>> what_differs(["war;arts", "arts;war", "war"])
    "'arts;war' and 'war;arts' differ only by the order of names (tags are written as a list, or war|arts)"
    """
    by_letters: dict[str, dict[str, str]] = {}
    for text in sorted(texts):
        value = class_value(text)
        by_letters.setdefault(_BETWEEN.sub(" ", value).casefold(), {}).setdefault(value, text)
    alike = next((group for group in by_letters.values() if len(group) > 1), {})
    if not alike:
        return _in_another_order(texts)
    *names, last = map(repr, alike.values())
    capitals = len({value.casefold() for value in alike}) == 1
    what = "capitals" if capitals else "spaces, dashes or underscores"
    return f"{', '.join(names)} and {last} differ only by {what}"


def _in_another_order(texts: Collection[str]) -> str | None:
    """Which two of these values join the same names, in another order; None where none do."""
    first_written: dict[tuple[str, ...], str] = {}
    for text in sorted(texts):
        names = tuple(sorted(class_value(name) for name in _JOINED.split(text)))
        if len(names) < 2 or not all(names) or any(map(_NUMBER.fullmatch, names)):
            continue
        earlier = first_written.setdefault(names, text)
        if class_value(earlier) != class_value(text):
            as_tags = "|".join(name.strip() for name in _JOINED.split(text))
            return (f"{earlier!r} and {text!r} differ only by the order of names (tags are written as a "
                    f"list, or {as_tags})")
    return None
