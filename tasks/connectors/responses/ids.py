"""Ids of items: as short as they can be while each is unique and says what it is of.

    q17        of a log with one task and one system
    arithmetic/q17/gpt/2      where there are several tasks, systems and repeats
"""

from collections import Counter

from assay.tasks.connectors.response import Response
from assay.tasks.connectors.responses.survey import Survey

_LONGEST = 900       # characters; a pool takes 1,000


class Ids:
    """Gives ids, in the order of the responses."""

    def __init__(self, survey: Survey, *, by_system: bool) -> None:
        """by_system: whether a row is of one system."""
        self._task = len(survey.tasks) > 1
        self._system = by_system and len(survey.systems) > 1
        self._repeat = survey.repeats > 1
        self._run = by_system and survey.twice and len(survey.runs) > len(
            {(task, system) for task, system, _ in survey.runs}
        )
        self._given: Counter[str] = Counter()

    def of(self, response: Response) -> str:
        """An id that was not given before."""
        parts = (
            response.task if self._task else "", response.question_id,
            response.system if self._system else "", str(response.repeat) if self._repeat else "",
            response.run if self._run else "",
        )
        made = "/".join(part for part in parts if part)[:_LONGEST]
        self._given[made] += 1
        return made if self._given[made] == 1 else f"{made} ({self._given[made]})"
