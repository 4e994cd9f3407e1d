"""How items are chosen, in a spec: the method, and labels it starts from."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.methods.registry import METHODS, method
from assay.evalcore.outcome_methods.registry import METHODS as OUTCOME_METHODS
from assay.evalcore.outcome_methods.registry import outcome_method
from assay.tasks.schema import Column, Location, Part, wrong


class WarmStart(Part):
    """Labels that the label model starts from: of an earlier evaluation, or given elsewhere."""

    evaluation: str | None = Field(
        default=None, min_length=1, description="name of an evaluation in the same store"
    )
    source: Location | None = Field(
        default=None, description="or a file, folder or glob of labels given elsewhere; the pool's, too"
    )
    label_studio: Location | None = Field(
        default=None, description="or a project that Label Studio exported as JSON"
    )
    id: Column | None = Field(
        default=None, description="the column of `source`, or the field of a task's data, that names an item;"
                                  " the pool's id column unless said"
    )
    label: Column = Field(
        default="label", description="the label column of `source`: class names, 0/1 or booleans"
    )
    discount: float = Field(default=0.5, gt=0, le=1, description="what one of these labels is worth")

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        every = {
            "evaluation": self.evaluation, "source": self.source, "label_studio": self.label_studio
        }
        named = " and ".join(key for key, value in every.items() if value is not None)
        if named not in every:
            raise wrong(f"takes one of {', '.join(every)}, and this has {named or 'none'}")
        return self

    @property
    def key(self) -> str:
        """Which of the three it names."""
        if self.evaluation is not None:
            return "evaluation"
        return "source" if self.source is not None else "label_studio"

    @property
    def file(self) -> str:
        """Where labels given elsewhere are; empty for those of an evaluation."""
        return self.source or self.label_studio or ""


def _known(name: str) -> str:
    """A method of any kind of labels; which of them can do these is checked with the labels."""
    try:
        outcome_method(name)
    except (UnknownName, BadInput) as of_any:
        if name.partition(":")[0] in OUTCOME_METHODS and name.partition(":")[0] not in METHODS:
            raise wrong(str(of_any)) from None
        try:
            method(name)
        except UnknownName as error:
            raise wrong(str(error)) from None
    return name


MethodName = Annotated[str, AfterValidator(_known)]
