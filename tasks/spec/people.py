"""How the answers of people are waited for and made labels of, in a spec."""

from typing import Literal

from pydantic import Field

from assay.evalcore.annotators.answers.base import RuleName
from assay.tasks.schema import Part


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
