"""Responses to a pool: one pass that looks at them and keeps them on the disk, one that writes the rows.

A row is a response, or a question with the responses of all systems: as told, else by what the survey found.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.types import Json, JsonObject
from assay.tasks.connectors.records import Layout, Notes, Plain, SystemResponse, Verdict, Written
from assay.tasks.connectors.responses.columns import (
    ID,
    Draft,
    Ids,
    batches,
    divides,
    judge_names,
    plain_name,
    spec_text,
    type_of,
    unlike,
)
from assay.tasks.connectors.responses.survey import FEW, Spool, Survey, question_of
from assay.tasks.connectors.responses.verdicts import NOBODY_SAID, VerdictColumns
from assay.tasks.connectors.tables import write_parquet
from assay.tasks.connectors.turns import trajectory_page

# A row for each question, with the responses of all systems side by side.
#
#     choices       each system's choice is its prediction; people say which choice is right, and systems are
#                   compared by their accuracy
#     two systems   people say which of the two responses is better; the scorers' verdicts are judges
#
# Questions that some system did not answer are left out.

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


# A row for each response: people are asked about it, and each scorer is a judge of it.

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


def write_responses(
    found: Iterable[SystemResponse], to: Path, layout: Layout | None, notes: Notes
) -> Written:
    """Write the pool of all responses, and draft its spec.

    layout   None: side by side where that is natural, else one below the other (`layouts`)

    Memory grows with the number of responses (an id and two hashes of each), not with their texts.
    Raises BadInput where there is no response.
    """
    survey = Survey()
    with Spool() as spool:
        for response in found:
            if survey.has(response):
                notes.leave_out("responses that came up again, of the same run")
                continue
            survey.add(response)
            spool.add(response)
        if not survey.rows:
            why = "; ".join(notes.lines) or "the log is empty"
            raise BadInput(f"there is no response to import: {why}")
        if survey.twice:
            notes.tell("a model answered the same question in several runs, and each response is a row; to "
                       "import one run, name its file")
        rows = layout_of(layout, survey, notes)
        written = write_parquet(batches(rows.rows(spool), rows.schema), rows.schema, to)
    return Written(
        path=to, rows=written, columns=tuple(rows.schema.names), systems=tuple(survey.systems),
        spec=spec_text(rows.draft(), str(to), written),
    )


# Whether a row is a response, or a question with the responses of all systems.

_NEARLY_ALL = 0.9     # questions that all systems answered


class Rows(Protocol):
    """The rows of a pool, and what to ask of them."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the pool."""
        ...

    def rows(self, spool: Spool) -> Iterator[Mapping[str, Plain]]:
        """The rows of the pool, in order."""
        ...

    def draft(self) -> Draft:
        """The spec to start from."""
        ...


def layout_of(layout: Layout | None, survey: Survey, notes: Notes) -> Rows:
    """As asked; where nothing was, side by side if nearly all questions are answered by all systems, and
    either the responses are choices or there are two systems.

    Raises BadInput for `questions` where systems cannot be compared so.
    """
    several, comparable = 2 <= len(survey.systems) <= FEW, survey.of_choices or len(survey.systems) == 2
    if layout == "questions":
        why = "" if several and comparable else (
            f"there are {len(survey.systems)} models, and responses that are no choices among a few; two "
            "models can be compared by question, or up to 20 that choose"
        )
        why = why or ("a model answered a question twice: import one run of it" if survey.twice else "")
        why = why or ("" if survey.shared else "no question was answered by all models")
        if why:
            raise BadInput(f"--layout questions: {why}")
        return ByQuestion(survey, notes)
    shared = survey.shared >= _NEARLY_ALL * len(survey.questions)
    if layout is None and several and comparable and shared and not survey.twice:
        notes.tell("the models are compared question by question; for a row a response: --layout responses")
        return ByQuestion(survey, notes)
    return ByResponse(survey, notes)
