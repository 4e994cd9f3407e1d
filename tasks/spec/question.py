"""What is asked in a spec: the two classes, and the measures."""

from typing import Annotated, Any
from unicodedata import category, normalize

from pydantic import AfterValidator, BeforeValidator, Field, Strict, model_validator

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import measure
from assay.tasks.schema import Finite, Part, wrong

# By Unicode category.
_REFUSED = {"Cc": "a control character", "Zl": "a line separator", "Zp": "a paragraph separator"}


def _one_line_of_text(name: str) -> str:
    """The name, if every desk can show it and give it back: a page in XML, a line of a CSV file."""
    for character in name:
        what = _REFUSED.get(category(character))
        if what is None and ord(character) & 0xFFFE == 0xFFFE:
            what = "a code point that is no character"
        if what is not None:
            raise wrong(f"{name!r} holds {what} (U+{ord(character):04X}), which no desk can show; remove it")
    return name


def _as_seen(name: str) -> str:
    """The name without what cannot be seen, with plain spaces, and composed."""
    seen = "".join(character for character in name if category(character) != "Cf")
    return " ".join(normalize("NFC", seen).split())


ClassName = Annotated[str, Field(min_length=1), AfterValidator(_one_line_of_text)]
"""A class as people see it. Spaces of every kind, joiners and soft hyphens belong to it and are kept."""


class Labels(Part):
    """The two classes, as people see them and as a prediction column may spell them."""

    positive: ClassName = Field(description="name of the positive class")
    negative: ClassName = Field(description="name of the negative class")

    @model_validator(mode="after")
    def _two_classes(self) -> "Labels":
        if self.positive == self.negative:
            raise wrong(f"calls both classes {self.positive!r}; give them different names")
        if _as_seen(self.positive) == _as_seen(self.negative):
            raise wrong(
                f"calls the classes {self.positive!a} and {self.negative!a}, which look the same; give them "
                "different names"
            )
        return self


class MeasureChoice(Part):
    """One measure, by name; `beta` belongs to fbeta."""

    name: str = Field(description="a measure, such as f1")
    beta: Finite | None = Field(default=None, description="weight of recall against precision, for fbeta")

    @model_validator(mode="after")
    def _exists(self) -> "MeasureChoice":
        self.resolve()
        return self

    def resolve(self) -> Measure:
        """The measure itself."""
        try:
            return measure(self.name, self.beta)
        except BadInput as error:
            raise wrong(str(error)) from None


def _as_list(value: Any) -> Any:
    listed = value if isinstance(value, list | tuple) else [value]
    return [{"name": one} if isinstance(one, str) else one for one in listed]


def _each_once(choices: tuple[MeasureChoice, ...]) -> tuple[MeasureChoice, ...]:
    if not choices:
        raise wrong("is an empty list; name at least one measure, such as f1")
    names = [choice.resolve().name for choice in choices]
    for name in names:
        if names.count(name) > 1:
            raise wrong(f"lists {name!r} twice; keep one")
    return choices


MeasureChoices = Annotated[
    tuple[MeasureChoice, ...], Strict(False), BeforeValidator(_as_list), AfterValidator(_each_once)
]
"""One measure or a list; a name alone stands for {name: ...}."""
