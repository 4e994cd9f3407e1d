"""How items are chosen, in a spec: the method, and labels it starts from."""

from typing import Annotated

from pydantic import AfterValidator, Field

from assay.evalcore.errors import UnknownName
from assay.evalcore.methods.registry import method
from assay.evalcore.outcome_methods.registry import METHODS as OUTCOME_METHODS
from assay.tasks.schema import Part, wrong


class WarmStart(Part):
    """An earlier evaluation whose labels the label model starts from."""

    evaluation: str = Field(min_length=1, description="name of an evaluation in the same store")
    discount: float = Field(default=0.5, gt=0, le=1, description="what one of its labels is worth")


def _known(name: str) -> str:
    if name not in OUTCOME_METHODS:
        try:
            method(name)
        except UnknownName as error:
            raise wrong(str(error)) from None
    return name


MethodName = Annotated[str, AfterValidator(_known)]
