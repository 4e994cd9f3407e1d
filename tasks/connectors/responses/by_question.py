"""A row for each question, with the responses of all systems side by side.

    choices       each system's choice is its prediction; people say which choice is right, and systems are
                  compared by their accuracy
    two systems   people say which of the two responses is better; the scorers' verdicts are judges

Questions that some system did not answer are left out.
"""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from assay.evalcore.types import Json, JsonObject
from assay.tasks.connectors.records import Notes, Plain, SystemResponse, Verdict
from assay.tasks.connectors.responses.columns import ID, Draft, Ids, divides, plain_name, type_of, unlike
from assay.tasks.connectors.responses.survey import FEW, Spool, Survey, question_of
from assay.tasks.connectors.responses.verdicts import VerdictColumns

_TIE = "tie"


class ByQuestion:
    """One row for each question, with a column for each system."""

    def __init__(self, survey: Survey, notes: Notes) -> None:
        self._survey = survey
        self._systems = unlike({system: plain_name(system) for system in survey.systems})
        self._verdicts = {
            system: VerdictColumns(f"judge_{column}", survey.judged, survey.rows)
            for system, column in self._systems.items()
        }
        fixed = [ID, "question", "reference", "task", "repeat", *(n for n, _ in self._system_fields()),
                 *(self._preferred(scorer) for scorer in survey.judged)]
        self._about = unlike({name: plain_name(name) for name in survey.about}, fixed)
        if survey.texts["trajectory"]:
            notes.tell("where models are compared by question, people see responses, not what led to them; "
                       "for that: --layout responses")
        missing = len(survey.questions) - survey.shared
        if missing:
            notes.tell(f"{missing:,} questions are left out, because some system has no response to them")

    @property
    def _prefers(self) -> bool:
        """Whether people say which of two responses is better."""
        return not self._survey.of_choices

    @property
    def schema(self) -> pa.Schema:
        """The columns in which something stands."""
        survey, text = self._survey, pa.string()
        fields = [(ID, text), *((name, text) for name in ("question", "reference") if survey.texts[name])]
        fields += self._system_fields()
        if self._prefers:
            fields += [(self._preferred(scorer), text) for scorer in survey.judged]
        fields += [("task", text)] if any(survey.tasks) else []
        fields += [("repeat", pa.int64())] if survey.repeats > 1 else []
        return pa.schema(fields + [(c, type_of(survey.about[name])) for name, c in self._about.items()])

    def _system_fields(self) -> list[tuple[str, pa.DataType]]:
        fields: list[tuple[str, pa.DataType]] = []
        for system, column in self._systems.items():
            fields.append((f"response_{column}", pa.string()))
            if self._survey.texts["choice"]:
                fields.append((f"choice_{column}", pa.string()))
            fields += self._verdicts[system].fields
        return fields

    def _preferred(self, scorer: str) -> str:
        return "preferred" if len(self._survey.judged) == 1 else f"preferred_{plain_name(scorer)}"

    def rows(self, spool: Spool) -> Iterator[Mapping[str, Plain]]:
        """A row for each question that all systems answered, in the order in which questions came up."""
        ids = Ids(self._survey, by_system=False)
        asked: dict[tuple[str, ...], dict[str, int]] = {}
        for place, one in spool.places():
            asked.setdefault(question_of(one), {})[one.system] = place
        for places in asked.values():
            if len(places) == len(self._systems):
                yield self._row(ids, [spool.at(places[system]) for system in self._systems])

    def _row(self, ids: Ids, responses: Sequence[SystemResponse]) -> dict[str, Plain]:
        first = responses[0]
        row: dict[str, Plain] = {
            ID: ids.of(first), "question": first.question, "reference": first.reference, "task": first.task,
            "repeat": first.repeat,
        }
        for one in responses:
            column = self._systems[one.system]
            row |= {f"response_{column}": one.response, f"choice_{column}": one.choice,
                    **self._verdicts[one.system].row(one.judged)}
        for scorer in self._survey.judged if self._prefers else ():
            said = [one.judged.get(scorer) for one in responses]
            row[self._preferred(scorer)] = self._better(responses, said)
        for one in reversed(responses):
            row |= {c: one.about[name] for name, c in self._about.items() if name in one.about}
        return row

    def _better(self, responses: Sequence[SystemResponse], said: Sequence[Verdict | None]) -> str:
        """The column of the response that a scorer gave more; a tie where it gave both the same, or names."""
        known = [value for value in said if value is not None and not isinstance(value, str)]
        if len(known) < len(said) or known[0] == known[1]:
            return _TIE
        return f"response_{self._systems[responses[known[0] < known[1]].system]}"

    def draft(self) -> Draft:
        """Systems by their choices, or a preference."""
        survey = self._survey
        segments: list[Json] = ["task"] if 2 <= len(survey.tasks) <= FEW else []
        segments += [c for name, c in self._about.items() if divides(survey.about[name], survey.rows)]
        pool: JsonObject = self._preference() if self._prefers else self._compared()
        if self._prefers and segments:
            pool["segments"] = segments
        if self._prefers:
            first, second = (f"response_{column}" for column in self._systems.values())
            return Draft(
                pool=pool, labels={"prefer": [first, second], "tie": True}, measures=["win_rate", "rate"],
                half_width=0.05, says=(f"People see two responses in random order, and say which is better. "
                                       f"A win rate above 0.5 speaks for {first!r}.",),
            )
        right = set() if survey.references.more else set(survey.references.values)
        names: list[Json] = [*sorted(map(str, set(survey.choices.values) | right))]
        return Draft(
            pool=pool, labels={"classes": names}, measures=["accuracy"], half_width=0.05,
            says=("People see a question and say which choice is right; the systems are compared by it.",
                  "The column 'reference' holds what the test takes for right, and is not shown."),
        )

    def _compared(self) -> JsonObject:
        said = "choice" if self._survey.texts["choice"] else "response"
        return {
            "systems": {name: {"prediction": f"{said}_{column}"} for name, column in self._systems.items()},
            "baseline": next(iter(self._systems)),
            "display": ["question"] if self._survey.texts["question"] else [],
        }

    def _preference(self) -> JsonObject:
        pool: JsonObject = {}
        if self._survey.judged:
            pool["judge"] = [self._preferred(scorer) for scorer in self._survey.judged]
        shown = [name for name in ("question", "reference") if self._survey.texts[name]]
        return {**pool, "display": [*shown, *(f"response_{column}" for column in self._systems.values())]}
