"""A row for each response: people are asked about it, and each scorer is a judge of it."""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from assay.evalcore.types import Json, JsonObject
from assay.tasks.connectors.records import Notes, Plain, SystemResponse
from assay.tasks.connectors.responses.columns import (
    ID,
    Draft,
    Ids,
    divides,
    judge_names,
    plain_name,
    type_of,
    unlike,
)
from assay.tasks.connectors.responses.survey import FEW, Spool, Survey
from assay.tasks.connectors.responses.verdicts import NOBODY_SAID, VerdictColumns
from assay.tasks.connectors.turns import trajectory_page

TEXTS = ("question", "response", "choice", "reference", "trajectory")
SHOWN = ("question", "response", "trajectory", "reference")


class ByResponse:
    """One row for each response of a system."""

    def __init__(self, survey: Survey, notes: Notes) -> None:
        self._survey = survey
        self._judges = VerdictColumns("judge", survey.judged, survey.rows)
        self._judges.fill(survey.everywhere, notes)
        if survey.judged and not survey.everywhere:
            notes.tell("the tasks have no scorer in common; import each by itself, so that it has its judge")
        self._people = VerdictColumns("label", survey.people, survey.rows)
        self._reasons = judge_names("reason", survey.reasons)
        fixed = [ID, *TEXTS, "task", "model", "run", "repeat", *self._judges.names.values(),
                 *self._people.names.values(), *self._reasons.values()]
        self._about = unlike({name: plain_name(name) for name in survey.about}, fixed)

    @property
    def schema(self) -> pa.Schema:
        """The columns in which something stands."""
        survey, text = self._survey, pa.string()
        fields = [(ID, text), *((name, text) for name in TEXTS if survey.texts[name])]
        fields += [*self._judges.fields, *((name, text) for name in self._reasons.values())]
        fields += self._people.fields
        there = {"task": any(survey.tasks), "model": any(survey.systems), "run": survey.twice}
        fields += [(name, text) for name, is_there in there.items() if is_there]
        fields += [("repeat", pa.int64())] if survey.repeats > 1 else []
        fields += [(column, type_of(survey.about[name])) for name, column in self._about.items()]
        return pa.schema(fields)

    def rows(self, spool: Spool) -> Iterator[Mapping[str, Plain]]:
        """A row for each response."""
        ids = Ids(self._survey, by_system=True)
        for one in spool:
            yield {
                ID: ids.of(one), "question": one.question, "response": one.response, "choice": one.choice,
                "reference": one.reference, "trajectory": self._trajectory(one),
                "task": one.task, "model": one.system, "run": one.run, "repeat": one.repeat,
                **self._judges.row(one.judged), **self._people.row(one.people),
                **{column: one.reasons.get(name) for name, column in self._reasons.items()},
                **{column: one.about.get(name) for name, column in self._about.items()},
            }

    def _trajectory(self, one: SystemResponse) -> str | None:
        """Of every response, where some have one: a response alone is a short one."""
        if not self._survey.texts["trajectory"]:
            return None
        return one.trajectory or trajectory_page(one.response or "", ())

    def draft(self) -> Draft:
        """People are asked what the first scorer was asked, or what people were asked before."""
        survey = self._survey
        by_people, labels, _ = self._people.alike()
        by_judges, complete, filled = self._judges.alike()
        scale = by_people or by_judges or NOBODY_SAID
        if by_judges is None or by_judges.labels != scale.labels:
            complete, filled = [], []
        judges = [*complete, *filled]
        predicted = judges.pop(0) if judges else None
        pool: JsonObject = {} if predicted is None else {"prediction": predicted}
        if judges:
            pool["judge"] = [*judges]
        hidden = {"response"} if survey.texts["trajectory"] else set()      # a trajectory begins with it
        pool["display"] = [name for name in SHOWN if survey.texts[name] and name not in hidden]
        if survey.texts["trajectory"]:
            pool["show_as"] = {"trajectory": "html"}
        segments = self._segments()
        if segments:
            pool["segments"] = segments
        return Draft(
            pool=pool, labels=scale.labels, half_width=scale.half_width,
            measures=[*scale.measures, *(scale.of_prediction if predicted else ())],
            label=labels[0] if labels else None,
            says=_says(scale.asks, predicted, judges, self._judges.names.values()),
        )

    def _segments(self) -> list[Json]:
        survey = self._survey
        ways = (("task", survey.tasks), ("model", survey.systems))
        found: list[Json] = [name for name, values in ways if 2 <= len(values) <= FEW]
        return found + [c for name, c in self._about.items() if divides(survey.about[name], survey.rows)]


def _says(asked: str, predicted: str | None, judges: list[str], columns: Iterable[str]) -> tuple[str, ...]:
    """What the spec is about, in comments."""
    says = [asked]
    if predicted is not None:
        says += [
            f"The first measure is of the responses; others say how far people agree with {predicted!r},",
            "what a scorer said. It stands under `prediction`, and is believed as far as labels confirm it.",
        ]
    if judges:
        says.append(f"So far are these believed too: {', '.join(judges)}.")
    unused = [column for column in columns if column not in (predicted, *judges)]
    if unused:
        says.append(f"Not used, because they answer another question or have gaps: {', '.join(unused)}.")
    return tuple(says)
