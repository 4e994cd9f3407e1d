"""What is asked in a spec: the two classes, and the measures."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, Strict, model_validator

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import measure
from assay.tasks.schema import Finite, Part, wrong


class Labels(Part):
    """The two classes, as people see them and as a prediction column may spell them."""

    positive: str = Field(min_length=1, description="name of the positive class")
    negative: str = Field(min_length=1, description="name of the negative class")

    @model_validator(mode="after")
    def _two_classes(self) -> "Labels":
        if self.positive == self.negative:
            raise wrong(f"calls both classes {self.positive!r}; give them different names")
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
