"""How the answers of people are waited for and made labels of, in a spec."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from assay.evalcore.annotators.answers.base import RuleName
from assay.tasks.schema import Part, wrong


def _one_line(text: str) -> str:
    if len(text.splitlines()) > 1 or not text.strip():
        raise wrong("is not one line of text; what takes more lines belongs under `guidelines`")
    return text.strip()


def _some_text(text: str) -> str:
    if not text.strip():
        raise wrong("is empty; leave it out")
    return text


Question = Annotated[str, Field(max_length=200), AfterValidator(_one_line)]
Guidelines = Annotated[str, Field(max_length=20_000), AfterValidator(_some_text)]


class Deadline(Part):
    """How long a round waits for people."""

    round_hours: float = Field(gt=0, allow_inf_nan=False, description="hours from the first post of a round")
    then: Literal["close", "wait"] = Field(
        default="close",
        description="close: with what is answered, the rest weighted for; wait: and say it is overdue",
    )


class Adjudication(Part):
    """How labels are made of answers."""

    rule: RuleName = Field(
        description="majority (a tie goes to one person more) or dawid-skene; of numbers median or mean"
    )
