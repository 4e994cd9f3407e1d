"""Responses to a pool: a row for each response, or for each question with the responses of all systems side
by side; its columns, and the specs to start from.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.types import Json, JsonObject
from assay.tasks.connectors.records import Layout, Notes, Plain, SystemResponse, Written
from assay.tasks.connectors.responses.columns import (
    ID,
    Draft,
    Ids,
    batches,
    divides,
    judge_names,
    plain_name,
    type_of,
    unlike,
)
from assay.tasks.connectors.responses.gathering import (
    FEW,
    TEXTS,
    GatheredResponses,
    LoggedResponse,
    Spool,
    gathered,
    label_of,
)
from assay.tasks.connectors.responses.verdicts import NOBODY_SAID, RIGHT, Scale, VerdictReading, Verdicts
from assay.tasks.connectors.tables import write_parquet
from assay.tasks.connectors.turns import trajectory_page

_MOST_GAPS = 0.5      # share of responses without a verdict, above which a scorer is no judge


class VerdictColumns:
    """A column for each scorer. A judge needs a verdict in each row: where a few are missing, the commonest
    stands there, and a note says so."""

    def __init__(self, kind: str, judges: Mapping[str, Verdicts]) -> None:
        """kind: what the column is called, or what its name begins with."""
        self.names = judge_names(kind, judges)
        self._judges = judges
        self._complete: set[str] = set()
        self._fillers: dict[str, str | float] = {}

    def fill(self, items: Sequence[LoggedResponse], names: Collection[str], notes: Notes) -> None:
        """Fill the gaps of scorers, of those that may be filled, `names`."""
        for name, verdicts in self._judges.items():
            values = Counter(v for item in items if (v := self._value(name, item.judged)) is not None)
            gaps = len(items) - sum(values.values())
            if verdicts.scale is not None and gaps == 0:
                self._complete.add(name)
            elif name in names and verdicts.scale is not None and gaps <= _MOST_GAPS * len(items):
                self._fillers[name] = values.most_common(1)[0][0]
                notes.tell(
                    f"{name} says nothing of {gaps:,} of {len(items):,} responses; in the column "
                    f"{self.names[name]!r} its commonest verdict stands there ({self._fillers[name]})"
                )

    @property
    def fields(self) -> list[tuple[str, pa.DataType]]:
        """Names and types."""
        scales = {name: verdicts.scale for name, verdicts in self._judges.items()}
        return [(column, pa.string() if (scale := scales[name]) is None else scale.type)
                for name, column in self.names.items()]

    def row(self, judged: Mapping[str, VerdictReading]) -> dict[str, Plain]:
        """The values of a row."""
        return {column: self._value(name, judged) if name not in self._fillers or
                self._value(name, judged) is not None else self._fillers[name]
                for name, column in self.names.items()}

    def of_scale(self, scale: Scale | None) -> tuple[Scale | None, list[str]]:
        """A scale, or else that of the first judge with a value in each row; and the columns of all judges
        that answer in it, those that were complete first."""
        usable = [name for name in self._judges if name in self._complete or name in self._fillers]
        scales = {name: found for name in usable if (found := self._judges[name].scale) is not None}
        scale = scale or next(iter(scales.values()), None)
        alike = [name for name, other in scales.items() if scale is not None and _within(other, scale)]
        alike.sort(key=lambda name: name in self._fillers)
        return scale, [self.names[name] for name in alike]

    def _value(self, name: str, judged: Mapping[str, VerdictReading]) -> str | float | None:
        reading, verdicts = judged.get(name), self._judges[name]
        if reading is None or verdicts.scale is None:
            return None if reading is None else str(reading.value)
        return verdicts.written.get(reading)


def _within(scale: Scale, wider: Scale) -> bool:
    """Whether every verdict of a scale is one of another."""
    for key in ("classes", "grades"):
        if key in scale.labels and key in wider.labels:
            return set(scale.labels[key]) <= set(wider.labels[key])  # type: ignore[arg-type]
    return scale.labels == wider.labels


def cluster_column(gathering: GatheredResponses) -> str | None:
    """`question`, where questions repeat: responses to one question are no independent items. `question_id`
    where the same question is asked in several wordings. None where no question repeats, and where all are
    the same."""
    rows, items = len(gathering.items), gathering.items
    texts = len({item.question for item in items}) if gathering.texts["question"] == rows else rows
    ids = len({(item.record.task, item.record.question_id) for item in items})
    texts, ids = (count if count > 1 else rows for count in (texts, ids))
    if min(texts, ids) == rows:
        return None
    return "question" if texts <= ids else "question_id"


_OF_CLUSTERS = "Questions repeat, so intervals are over questions (`cluster`), not over single responses."


class Rows(ABC):
    """The rows of a pool, and what to ask of them; what both layouts have are columns of metadata, segments
    and clusters."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the pool: those in which something stands."""

    @abstractmethod
    def rows(self, spool: Spool) -> Iterator[Mapping[str, Plain]]:
        """The rows of the pool, in order."""

    @abstractmethod
    def drafts(self) -> Sequence[Draft]:
        """Specs to start from, the one that uses most first."""

    def __init__(self, gathering: GatheredResponses, fixed: Sequence[str]) -> None:
        self._all, self.cluster = gathering, cluster_column(gathering)
        self._about = unlike({name: plain_name(name) for name in gathering.about}, [*fixed, "question_id"])

    @property
    def _fields_about(self) -> list[tuple[str, pa.DataType]]:
        first = [("question_id", pa.string())] if self.cluster == "question_id" else []
        return [*first, *((column, type_of(self._all.about[name])) for name, column in self._about.items())]

    def _segments(self, *ways: tuple[str, Sequence[str]]) -> list[Json]:
        few: list[Json] = [name for name, values in ways if 2 <= len(values) <= FEW]
        return few + [column for name, column in self._about.items() if divides(self._all.about[name])]

    def _origin(self, item: LoggedResponse) -> dict[str, Plain]:
        """Where a row comes from."""
        record = item.record
        task = f"{record.task}/" if len(self._all.tasks) > 1 else ""
        return {"task": record.task, "repeat": item.repeat, "question_id": f"{task}{record.question_id}"}


SHOWN = ("question", "response", "trajectory", "reference")


class ByResponse(Rows):
    """One row for each response of a system: people are asked about it, and each scorer is a judge of it."""

    def __init__(self, gathering: GatheredResponses, notes: Notes) -> None:
        self._judges = VerdictColumns("judge", gathering.judges)
        self._judges.fill(gathering.items, gathering.everywhere, notes)
        if gathering.judges and not gathering.everywhere:
            notes.tell("the tasks have no scorer in common; import each by itself, so that it has its judge")
        self._people = judge_names("label", gathering.people)
        reasons = dict.fromkeys(name for item in gathering.items for name in item.reasons)
        self._reasons = judge_names("reason", reasons)
        self._votes = self._columns_of_votes(gathering)
        fixed = [ID, *TEXTS, "task", "model", "run", "repeat", *self._judges.names.values(),
                 *self._people.values(), *self._votes.values(), *self._reasons.values()]
        super().__init__(gathering, fixed)
        self._note_votes(notes)
        self._scale, self._label, self._predicted = self._asked()

    def _columns_of_votes(self, gathering: GatheredResponses) -> dict[tuple[str, str], str]:
        """A column for each person, of the questions to which some item has several answers."""
        several = {name for item in gathering.items for name, votes in item.votes.items() if len(votes) > 1}
        persons = {(name, person): None for item in gathering.items for name, votes in item.votes.items()
                   if name in several for person in votes}
        return {pair: f"{self._people[pair[0]]}_by_person_{pair[1]}" for pair in sorted(
            persons, key=lambda pair: (pair[0], int(pair[1])))}

    def _note_votes(self, notes: Notes) -> None:
        for name, verdicts in self._all.people.items():
            voted = [item for item in self._all.items if len(item.votes.get(name, ())) > 1]
            tied = sum(label_of(verdicts, item.votes[name]) is None for item in voted)
            if voted:
                notes.tell(
                    f"several people answered {name} of {plural(len(voted), 'response')}: each has a column, "
                    f"and {self._people[name]!r} holds what most said; it is empty for {tied:,}, where "
                    "they are divided"
                )

    def _asked(self) -> tuple[Scale, str | None, list[str]]:
        """What people are asked, the column of labels that they gave already, and those that predict it."""
        people = {name: verdicts.scale for name, verdicts in self._all.people.items() if verdicts.scale}
        verdicts, items = self._all.people, self._all.items
        label = next((name for name in people if all(
            label_of(verdicts[name], item.votes.get(name, {})) is not None for item in items)), None)
        first = people[label] if label else next(iter(people.values()), None)
        scale, predicted = self._judges.of_scale(first)
        if not predicted and not label:
            scale, predicted = self._judges.of_scale(None)
        if not predicted and scale is not None and scale.names:
            good = scale.good_end
            asks = NOBODY_SAID if good in (None, RIGHT) else replace(
                NOBODY_SAID, asks=f"People see a response and answer 1 if it is {good}, else 0.")
            return asks, label if good else None, []
        return scale or NOBODY_SAID, label, predicted

    @property
    def schema(self) -> pa.Schema:
        """The columns in which something stands."""
        everything, text = self._all, pa.string()
        fields = [(ID, text), *((name, text) for name in TEXTS if everything.texts[name])]
        fields += [*self._judges.fields, *((name, text) for name in self._reasons.values())]
        types = {name: self._label_type(name) for name in self._people}
        fields += [(column, types[name]) for name, column in self._people.items()]
        fields += [(column, types[name]) for (name, _), column in self._votes.items()]
        present = {"task": any(everything.tasks), "model": any(everything.systems),
                   "run": everything.several_runs}
        fields += [(name, text) for name, is_present in present.items() if is_present]
        fields += [("repeat", pa.int64())] if everything.several_repeats else []
        return pa.schema(fields + self._fields_about)

    def _label_type(self, name: str) -> pa.DataType:
        scale = self._all.people[name].scale
        return pa.string() if scale is None else pa.float64() if self._as_grades(name) else scale.type

    def _as_grades(self, name: str) -> bool:
        """Whether labels of a class are 1 and 0, because nothing predicts the class."""
        scale = self._all.people[name].scale
        return name == self._label and not self._predicted and scale is not None and bool(scale.names)

    def _written(self, name: str, label: str | float | None) -> str | float | None:
        scale = self._all.people[name].scale
        if label is None or scale is None or not self._as_grades(name):
            return label
        return float(label == scale.good_end)

    def rows(self, spool: Spool) -> Iterator[Mapping[str, Plain]]:
        """A row for each response."""
        ids = Ids(self._all, by_system=True)
        for item in self._all.items:
            texts = spool.at(item.place)
            people = self._all.people
            labels = {column: self._written(name, label_of(people[name], item.votes.get(name, {})))
                      for name, column in self._people.items()}
            votes = {column: self._written(name, people[name].written.get(item.votes[name][person]))
                     for (name, person), column in self._votes.items() if person in item.votes.get(name, {})}
            yield {
                ID: ids.next_id(item), **texts, **self._origin(item), "trajectory": self._trajectory(texts),
                "model": item.record.system, "run": item.record.run, **self._judges.row(item.judged),
                **labels, **votes, **{column: item.reasons.get(n) for n, column in self._reasons.items()},
                **{column: item.record.about.get(name) for name, column in self._about.items()},
            }

    def _trajectory(self, texts: Mapping[str, str]) -> str | None:
        """Of every response, where some have one: a response alone is a short one."""
        if not self._all.texts["trajectory"]:
            return None
        return texts.get("trajectory") or trajectory_page(texts.get("response", ""), ())

    def drafts(self) -> Sequence[Draft]:
        """What the first scorer was asked, or what people were asked before; then the same with less."""
        texts = self._all.texts
        columns = [*self._predicted]
        predicted = columns.pop(0) if columns else None
        pool: JsonObject = {} if predicted is None else {"prediction": predicted}
        if columns:
            pool["judge"] = [*columns]
        hidden = {"response"} if texts["trajectory"] else set()      # a trajectory begins with it
        pool["display"] = [name for name in SHOWN if texts[name] and name not in hidden]
        if texts["trajectory"]:
            pool["show_as"] = {"trajectory": "html"}
        if segments := self._segments(("task", self._all.tasks), ("model", self._all.systems)):
            pool["segments"] = segments
        if self.cluster:
            pool["cluster"] = self.cluster
        scale = self._scale
        draft = Draft(
            pool=pool, labels=scale.labels, half_width=scale.half_width,
            measures=[*scale.measures, *(scale.of_prediction if predicted else ())],
            label=self._people[self._label] if self._label else None,
            comments=(*_explained(scale.asks, predicted, columns, self._judges.names.values()),
                      *self._of_labels(),
                      *([_OF_CLUSTERS] if self.cluster else [])),
        )
        plain = replace(
            draft.without("prediction", "judge", "segments", "cluster", because="No judge is used."),
            labels=NOBODY_SAID.labels, measures=[*NOBODY_SAID.measures], half_width=NOBODY_SAID.half_width,
            label=None, comments=(NOBODY_SAID.asks, "Nothing predicts the label, so no scorer is compared."),
        )
        return [
            draft, draft.without("segments", because="Segments are left out."),
            draft.without("segments", "cluster", because="Segments and clusters are left out."),
            draft.without("segments", "cluster", "judge", because="Further judges are left out."), plain,
        ]


    def _of_labels(self) -> Iterator[str]:
        """What became of labels that people gave."""
        for name, column in self._people.items():
            scale = self._all.people[name].scale
            if self._as_grades(name) and scale is not None:
                yield (f"No scorer predicts what people said in {column!r}, so it is 1 for {scale.good_end}, "
                       "else 0.")
            elif name != self._label and (scale is None or scale.labels != self._scale.labels):
                yield f"What people said in {column!r} is kept and not used: the question is another."


def _explained(asks: str, predicted: str | None, judges: list[str], columns: Iterable[str]) -> list[str]:
    """What the spec is about, in comments."""
    comments = [asks]
    if predicted is not None:
        comments += [
            f"The first measure is of the responses; others say how far people agree with {predicted!r},",
            "what a scorer said. It stands under `prediction`, and is believed as far as labels confirm it.",
        ]
    if judges:
        comments.append(f"So far are these believed too: {', '.join(judges)}.")
    unused = [column for column in columns if column not in (predicted, *judges)]
    if unused:
        comments.append(f"Not used, because they answer another question or have gaps: {', '.join(unused)}.")
    return comments


_TIE = "tie"


class ByQuestion(Rows):
    """One row for each question, with a column for each system.

        choices       each system's choice is its prediction; people say which choice is right, and systems
                      are compared by their accuracy
        two systems   people say which of the two responses is better; the scorers' verdicts are judges

    Questions that some system did not answer are left out.
    """

    def __init__(self, gathering: GatheredResponses, notes: Notes) -> None:
        self._systems = unlike({system: plain_name(system) for system in gathering.systems})
        self._prefers = not gathering.choices
        self._verdicts = {
            system: VerdictColumns(f"judge_{column}", gathering.judges)
            for system, column in self._systems.items()
        }
        self._preferred = judge_names("preferred", gathering.judges) if self._prefers else {}
        self._chosen = bool(gathering.texts["choice"])
        fixed = [ID, "question", "reference", "task", "repeat", *self._preferred.values()]
        self._system_fields: list[tuple[str, pa.DataType]] = []
        for system, column in self._systems.items():
            texts = [f"response_{column}", *([f"choice_{column}"] if self._chosen else [])]
            self._system_fields += [*((name, pa.string()) for name in texts), *self._verdicts[system].fields]
        super().__init__(gathering, [*fixed, *(name for name, _ in self._system_fields)])
        if gathering.texts["trajectory"]:
            notes.tell("where models are compared by question, people see responses, not what led to them; "
                       "for that: --layout responses")
        if missing := len(gathering.questions) - gathering.shared:
            notes.tell(f"{missing:,} questions are left out, because some system has no response to them")
        if gathering.people:
            notes.tell("where models are compared by question, what people said of single responses is left "
                       "out; for that: --layout responses")

    @property
    def schema(self) -> pa.Schema:
        """The columns in which something stands."""
        everything, text = self._all, pa.string()
        fields = [(ID, text), *((name, text) for name in ("question", "reference") if everything.texts[name])]
        fields += [*self._system_fields, *((column, text) for column in self._preferred.values())]
        fields += [("task", text)] if any(everything.tasks) else []
        fields += [("repeat", pa.int64())] if everything.several_repeats else []
        return pa.schema(fields + self._fields_about)

    def rows(self, spool: Spool) -> Iterator[Mapping[str, Plain]]:
        """A row for each question that all systems answered, in the order in which questions came up."""
        ids = Ids(self._all, by_system=False)
        asked: dict[tuple[str, str, int], dict[str, LoggedResponse]] = {}
        for item in self._all.items:
            asked.setdefault(item.asked, {})[item.record.system] = item
        for of_question in asked.values():
            if len(of_question) == len(self._systems):
                items = [of_question[system] for system in self._systems]
                yield {ID: ids.next_id(items[0]), **self._row(items, spool)}

    def _row(self, items: Sequence[LoggedResponse], spool: Spool) -> dict[str, Plain]:
        texts = [spool.at(item.place) for item in items]
        row = self._origin(items[0])
        row |= {name: texts[0].get(name) for name in ("question", "reference")}
        for item, of_item in zip(items, texts, strict=True):
            column = self._systems[item.record.system]
            row |= {f"response_{column}": of_item.get("response"), f"choice_{column}": of_item.get("choice"),
                    **self._verdicts[item.record.system].row(item.judged)}
        row |= {column: self._better(scorer, items) for scorer, column in self._preferred.items()}
        for item in reversed(items):
            about = item.record.about
            row |= {column: about[name] for name, column in self._about.items() if name in about}
        return row

    def _better(self, scorer: str, items: Sequence[LoggedResponse]) -> str:
        """The column of the response that a scorer gave more; a tie where it gave both the same, where it
        says nothing of one of them, and where nothing says which of its names is better."""
        verdicts = self._all.judges[scorer]
        values = [verdicts.written.get(item.judged[scorer]) if scorer in item.judged else None
                  for item in items]
        ranks = [None if v is None or verdicts.scale is None else verdicts.scale.rank(v) for v in values]
        first, second = ranks
        if first is None or second is None or first == second:
            return _TIE
        return f"response_{self._systems[items[first < second].record.system]}"

    def drafts(self) -> Sequence[Draft]:
        """Systems by their choices, or a preference."""
        texts, everything = self._all.texts, self._all
        clusters: JsonObject = {"cluster": self.cluster} if self.cluster else {}
        because = (_OF_CLUSTERS,) if self.cluster else ()
        if self._prefers:
            sides: list[Json] = [f"response_{column}" for column in self._systems.values()]
            pool: JsonObject = {"judge": [*self._preferred.values()]} if self._preferred else {}
            shown: list[Json] = [name for name in ("question", "reference") if texts[name]]
            pool |= {"display": [*shown, *sides], **clusters}
            if segments := self._segments(("task", everything.tasks)):
                pool["segments"] = segments
            draft = Draft(
                pool=pool, labels={"prefer": sides, "tie": True}, measures=["win_rate", "rate"],
                half_width=0.05, comments=(
                    "People see two responses in random order, and say which is better. "
                    f"A win rate above 0.5 speaks for {sides[0]!r}.", *because),
            )
        else:
            column = "choice" if self._chosen else "response"
            pool = {
                "systems": {system: {"prediction": f"{column}_{name}"}
                            for system, name in self._systems.items()},
                "baseline": next(iter(self._systems)),
                "display": ["question"] if texts["question"] else [], **clusters,
            }
            draft = Draft(
                pool=pool, labels={"classes": self._classes()}, measures=["accuracy"], half_width=0.05,
                comments=("People see a question and say which choice is right; the systems are compared by "
                          "it.", "The column 'reference' holds what the test takes for right, and is not "
                          "shown.", *because),
            )
        return [draft, draft.without("segments", "cluster", because="Segments and clusters are left out."),
                draft.without("segments", "cluster", "judge", because="Judges are left out.")]

    def _classes(self) -> list[Json]:
        """Every choice, and every right answer where those are few."""
        right = {item.reference for item in self._all.items if "reference" in item.texts}
        few = None not in right and len(right) <= FEW
        return [*sorted({*self._all.choices, *(name for name in right if name is not None and few)})]


def write_responses(
    origin: str, files: Iterable[tuple[str, Iterator[SystemResponse]]], to: Path, layout: Layout | None,
    notes: Notes,
) -> Written:
    """Write the pool of all responses, and draft its spec.

    origin   what is read, in messages
    files    the name of each, and its responses
    layout   None: side by side where that is natural, else one below the other (`layout_of`)

    Memory grows with the number of responses and what scorers gave as reasons, not with the other texts.
    Raises BadInput where there is no response.
    """
    with Spool() as spool:
        gathering = gathered(files, spool, notes)
        if not gathering.items:
            why = "; ".join(notes.lines) or "it holds none"
            raise BadInput(f"{origin}: there is no response to import: {why}")
        if gathering.several_runs:
            notes.tell("a model answered the same question in several runs, and each response is a row; to "
                       "import one run, name its file")
        rows = layout_of(layout, gathering, notes)
        written = write_parquet(batches(rows.rows(spool), rows.schema), rows.schema, to)
    return Written(
        path=to, rows=written, columns=tuple(rows.schema.names), systems=tuple(gathering.systems),
        drafts=tuple(partial(draft.spec_text, str(to), written) for draft in rows.drafts()),
    )


_NEARLY_ALL = 0.9     # questions that all systems answered


def layout_of(layout: Layout | None, gathering: GatheredResponses, notes: Notes) -> Rows:
    """As asked; where nothing was, side by side if nearly all questions are answered by all systems, and
    either the responses are choices or there are two systems.

    Raises BadInput for `questions` where systems cannot be compared so.
    """
    systems = len(gathering.systems)
    several, comparable = 2 <= systems <= FEW, bool(gathering.choices) or systems == 2
    if layout == "questions":
        why = "" if several and comparable else (
            f"there are {systems} models, and responses that are no choices among a few; two models can be "
            "compared by question, or up to 20 that choose"
        )
        why = why or ("a model answered a question twice: import one run of it" if gathering.several_runs
                      else "")
        why = why or ("" if gathering.shared else "no question was answered by all models")
        if why:
            raise BadInput(f"--layout questions: {why}")
        return ByQuestion(gathering, notes)
    shared = gathering.shared >= _NEARLY_ALL * len(gathering.questions)
    if layout is None and several and comparable and shared and not gathering.several_runs:
        notes.tell("the models are compared question by question; for a row a response: --layout responses")
        return ByQuestion(gathering, notes)
    return ByResponse(gathering, notes)
