"""Responses to a pool: a row for each response, or for each question with the responses of all systems side
by side; its columns, and the specs to start from.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.json_values import Json, JsonObject
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
_TEXT = pa.string()


_Value = Callable[[Sequence[LoggedResponse], Sequence[Mapping[str, str]]], Plain]


class Column(NamedTuple):
    """A column of the pool, and its value of the responses in a row and their texts."""

    name: str
    type: pa.DataType
    value: _Value


def _text_at(name: str, place: int = 0) -> _Value:
    """The text of this name, of the response at a place of the row."""
    return lambda _, texts: texts[place].get(name)


class VerdictColumns:
    """A column for each scorer, empty where it says nothing. The one that predicts labels needs a verdict in
    each row: where some are missing, the commonest stands there, and a note says so."""

    def __init__(self, kind: str, judges: Mapping[str, Verdicts]) -> None:
        """kind: what the column is called, or what its name begins with."""
        self.names = judge_names(kind, judges)
        self._judges = judges
        self._gaps: dict[str, int] = {}                  # of scorers that speak of most responses
        self._fillers: dict[str, str | float] = {}

    def count_gaps(self, items: Sequence[LoggedResponse], names: Collection[str]) -> None:
        """Count of how many responses each scorer says nothing; names: of those that may have gaps."""
        for name, verdicts in self._judges.items():
            gaps = sum(self._value(name, item.judged) is None for item in items)
            if verdicts.scale is not None and (gaps == 0 or (
                    name in names and gaps <= _MOST_GAPS * len(items))):
                self._gaps[name] = gaps

    def fill(self, predicting: str, items: Sequence[LoggedResponse], notes: Notes) -> None:
        """Note the gaps of each scorer, and fill those of the one that predicts labels, by its column."""
        for name in (name for name, gaps in self._gaps.items() if gaps):
            stands = "nothing stands there"
            if self.names[name] == predicting:
                values = Counter(v for item in items if (v := self._value(name, item.judged)) is not None)
                self._fillers[name] = values.most_common(1)[0][0]
                stands = f"its commonest verdict stands there ({self._fillers[name]})"
            notes.tell(f"{name} says nothing of {self._gaps[name]:,} of {len(items):,} responses; in the "
                       f"column {self.names[name]!r} {stands}")

    def columns(self, place: int = 0) -> Iterator[Column]:
        """Of the responses at a place of the rows."""
        for name, column in self.names.items():
            scale = self._judges[name].scale
            yield Column(column, _TEXT if scale is None else scale.type,
                         lambda items, _, name=name: self._filled(name, items[place].judged))  # type: ignore[misc]

    def of_scale(self, scale: Scale | None) -> tuple[Scale | None, list[str]]:
        """A scale, or else that of the first judge that speaks of most responses; and the columns of all
        judges that answer in it, those without gaps first."""
        own_scales = {name: self._judges[name].scale for name in self._gaps}
        scales = {name: own_scale for name, own_scale in own_scales.items() if own_scale is not None}
        scale = scale or next(iter(scales.values()), None)
        alike = [name for name, peer in scales.items() if scale is not None and _within(peer, scale)]
        alike.sort(key=lambda name: self._gaps[name] > 0)
        return scale, [self.names[name] for name in alike]

    def _filled(self, name: str, judged: Mapping[str, VerdictReading]) -> str | float | None:
        verdict = self._value(name, judged)
        return self._fillers.get(name) if verdict is None else verdict

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
    """The rows of a pool, and what to ask of them; what both layouts have are where a row comes from, columns
    of metadata, segments and clusters."""

    by_system: bool      # whether a row is of one system

    @abstractmethod
    def own_columns(self) -> Iterator[Column]:
        """The columns of this layout."""

    @abstractmethod
    def grouped(self) -> Iterable[Sequence[LoggedResponse]]:
        """The responses of each row, in order."""

    @abstractmethod
    def drafts(self) -> Sequence[Draft]:
        """Drafts of a spec to start from: the one that uses most of the columns first, then ones that leave
        some out."""

    def __init__(self, gathering: GatheredResponses) -> None:
        self._all, self.cluster = gathering, cluster_column(gathering)

    def lay_out(self) -> None:
        """Decide which columns there are: those in which something stands."""
        everything, several_tasks = self._all, len(self._all.tasks) > 1
        ids = Ids(everything, by_system=self.by_system)
        columns = [Column(ID, _TEXT, lambda items, _: ids.next_id(items[0])), *self.own_columns()]
        if any(everything.tasks):
            columns.append(Column("task", _TEXT, lambda items, _: items[0].record.task))
        if self.by_system and any(everything.systems):
            columns.append(Column("model", _TEXT, lambda items, _: items[0].record.system))
        if self.by_system and everything.several_runs:
            columns.append(Column("run", _TEXT, lambda items, _: items[0].record.run))
        if everything.several_repeats:
            columns.append(Column("repeat", pa.int64(), lambda items, _: items[0].repeat))
        if self.cluster == "question_id":
            columns.append(Column("question_id", _TEXT, lambda items, _: "/".join(
                (*[items[0].record.task] * several_tasks, items[0].record.question_id))))
        taken = [*TEXTS, "task", "model", "run", "repeat", "question_id", *(c.name for c in columns)]
        self._about = unlike({name: plain_name(name) for name in everything.about}, taken)
        for name, column in self._about.items():
            columns.append(Column(column, type_of(everything.about[name]), lambda items, _, name=name: next(  # type: ignore[misc]
                (item.record.about[name] for item in items if name in item.record.about), None)))
        self.columns = columns

    @property
    def schema(self) -> pa.Schema:
        """The columns of the pool."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def rows(self, spool: Spool) -> Iterator[Mapping[str, Plain]]:
        """The rows of the pool, in order, as values by column; the long texts are read from the spool."""
        for items in self.grouped():
            texts = [spool.at(item.place) for item in items]
            yield {column.name: column.value(items, texts) for column in self.columns}

    def _texts(self, names: Iterable[str]) -> Iterator[Column]:
        for name in names:
            if self._all.texts[name]:
                yield Column(name, _TEXT, _text_at(name))

    def _segments(self, *ways: tuple[str, Sequence[str]]) -> list[Json]:
        few: list[Json] = [name for name, values in ways if 2 <= len(values) <= FEW]
        return few + [column for name, column in self._about.items() if divides(self._all.about[name])]


SHOWN = ("question", "response", "trajectory", "reference")


class ByResponse(Rows):
    """One row for each response of a system: people are asked about it, and each scorer is a judge of it."""

    by_system = True

    def __init__(self, gathering: GatheredResponses, notes: Notes) -> None:
        super().__init__(gathering)
        self._judges = VerdictColumns("judge", gathering.judges)
        self._judges.count_gaps(gathering.items, gathering.everywhere)
        if gathering.judges and not gathering.everywhere:
            notes.tell("the tasks have no scorer in common; import each by itself, so that it has its judge")
        self._people = judge_names("label", gathering.people)
        for name, verdicts in gathering.people.items():
            voted = [item for item in gathering.items if len(item.votes.get(name, ())) > 1]
            tied = sum(label_of(verdicts, item.votes[name]) is None for item in voted)
            if voted:
                notes.tell(
                    f"several people answered {name} of {plural(len(voted), 'response')}: each has a column, "
                    f"and {self._people[name]!r} holds what most said; it is empty for {tied:,}, where "
                    "they are divided"
                )
        self._scale, self._label, self._predicted = self._asked()
        self._judges.fill(next(iter(self._predicted), ""), gathering.items, notes)
        self.lay_out()

    def _asked(self) -> tuple[Scale, str | None, list[str]]:
        """What people are asked, the column of labels that they gave already, and those that predict it."""
        people = {name: verdicts.scale for name, verdicts in self._all.people.items() if verdicts.scale}
        verdicts, items = self._all.people, self._all.items
        label = next((name for name in people if all(
            label_of(verdicts[name], item.votes.get(name, {})) is not None for item in items)), None)
        people_scale = people[label] if label else next(iter(people.values()), None)
        scale, predicted = self._judges.of_scale(people_scale)
        if not predicted and not label:
            scale, predicted = self._judges.of_scale(None)
        if not predicted and scale is not None and scale.names:
            good = scale.good_end
            asks = NOBODY_SAID if good in (None, RIGHT) else replace(
                NOBODY_SAID, asks=f"People see a response and answer 1 if it is {good}, else 0.")
            return asks, label if good else None, []
        return scale or NOBODY_SAID, label, predicted

    def own_columns(self) -> Iterator[Column]:
        """Texts, judges and their reasons, what people said in all and each."""
        yield from self._texts(name for name in TEXTS if name != "trajectory")
        if self._all.texts["trajectory"]:
            # of every response, where some have one: a response alone is a short one
            yield Column("trajectory", _TEXT, lambda _, texts: texts[0].get("trajectory") or trajectory_page(
                texts[0].get("response", ""), ()))
        yield from self._judges.columns()
        reasons = dict.fromkeys(name for item in self._all.items for name in item.reasons)
        for name, column in judge_names("reason", reasons).items():
            yield Column(column, _TEXT, lambda items, _, name=name: items[0].reasons.get(name))  # type: ignore[misc]
        for name, column in self._people.items():
            yield Column(column, self._label_type(name), lambda items, _, name=name: self._written(  # type: ignore[misc]
                name, label_of(self._all.people[name], items[0].votes.get(name, {}))))
        for name, column in self._people.items():
            votes = [item.votes.get(name, {}) for item in self._all.items]
            persons = {person for of_item in votes for person in of_item}
            several = any(len(of_item) > 1 for of_item in votes)
            for person in sorted(persons, key=int) if several else ():
                yield Column(
                    f"{column}_by_person_{person}", self._label_type(name),
                    lambda items, _, name=name, person=person: self._written(  # type: ignore[misc]
                        name, self._all.people[name].written.get(items[0].votes.get(name, {}).get(person))))

    def grouped(self) -> Iterable[Sequence[LoggedResponse]]:
        """Each response alone."""
        return ([item] for item in self._all.items)

    def _label_type(self, name: str) -> pa.DataType:
        scale = self._all.people[name].scale
        return _TEXT if scale is None else pa.float64() if self._as_grades(name) else scale.type

    def _as_grades(self, name: str) -> bool:
        """Whether labels of a class are 1 and 0, because nothing predicts the class."""
        scale = self._all.people[name].scale
        return name == self._label and not self._predicted and scale is not None and bool(scale.names)

    def _written(self, name: str, label: str | float | None) -> str | float | None:
        scale = self._all.people[name].scale
        if label is None or scale is None or not self._as_grades(name):
            return label
        return float(label == scale.good_end)

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
        return [*draft.with_less("segments", "cluster", "judge"), plain]

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


class ByQuestion(Rows):
    """One row for each question, with a column for each system.

        choices       each system's choice is its prediction; people say which choice is right, and systems
                      are compared by their accuracy
        two systems   people say which of the two responses is better; the scorers' verdicts are judges

    Questions that some system did not answer are left out.
    """

    by_system = False

    def __init__(self, gathering: GatheredResponses, notes: Notes) -> None:
        super().__init__(gathering)
        self._systems = unlike({system: plain_name(system) for system in gathering.systems})
        self._prefers = not gathering.choices
        self._preferred = judge_names("preferred", gathering.judges) if self._prefers else {}
        self._chosen = bool(gathering.texts["choice"])
        if gathering.texts["trajectory"]:
            notes.tell("where models are compared by question, people see responses, not what led to them; "
                       "for that: --layout responses")
        if missing := len(gathering.questions) - gathering.shared:
            notes.tell(f"{missing:,} questions are left out, because some system has no response to them")
        if gathering.people:
            notes.tell("where models are compared by question, what people said of single responses is left "
                       "out; for that: --layout responses")
        self.lay_out()

    def own_columns(self) -> Iterator[Column]:
        """Question and reference; response, choice and judges of each system; what each scorer prefers."""
        yield from self._texts(("question", "reference"))
        for place, column in enumerate(self._systems.values()):
            for name in ("response", "choice") if self._chosen else ("response",):
                yield Column(f"{name}_{column}", _TEXT, _text_at(name, place))
            yield from VerdictColumns(f"judge_{column}", self._all.judges).columns(place)
        for scorer, column in self._preferred.items():
            yield Column(column, _TEXT, lambda items, _, scorer=scorer: self._better(scorer, items))  # type: ignore[misc]

    def grouped(self) -> Iterable[Sequence[LoggedResponse]]:
        """The responses of all systems to each question, in the order in which questions came up."""
        answers: dict[tuple[str, str, int], dict[str, LoggedResponse]] = {}
        for item in self._all.items:
            answers.setdefault(item.asked, {})[item.record.system] = item
        return ([of_question[system] for system in self._systems] for of_question in answers.values()
                if len(of_question) == len(self._systems))

    def _better(self, scorer: str, items: Sequence[LoggedResponse]) -> str:
        """The column of the response that a scorer gave more; a tie where it gave both the same, where it
        says nothing of one of them, and where nothing says which of its names is better."""
        verdicts = self._all.judges[scorer]
        values = [verdicts.written.get(item.judged[scorer]) if scorer in item.judged else None
                  for item in items]
        ranks = [None if v is None or verdicts.scale is None else verdicts.scale.rank(v) for v in values]
        first_rank, second_rank = ranks
        if first_rank is None or second_rank is None or first_rank == second_rank:
            return "tie"
        return f"response_{self._systems[items[first_rank < second_rank].record.system]}"

    def drafts(self) -> Sequence[Draft]:
        """Three drafts of a spec, each leaving more out than the one before. Systems are compared by the
        choices they made, or two of them by which response people prefer."""
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
        return draft.with_less("segments", "cluster", "judge")

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
            reason = "; ".join(notes.lines) or "it holds none"
            raise BadInput(f"{origin}: there is no response to import: {reason}")
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
    is_few, comparable = 2 <= systems <= FEW, bool(gathering.choices) or systems == 2
    if layout == "questions":
        fault = "" if is_few and comparable else (
            f"there are {systems} models, and responses that are no choices among a few; two models can be "
            "compared by question, or up to 20 that choose"
        )
        fault = fault or ("a model answered a question twice: import one run of it" if gathering.several_runs
                      else "")
        fault = fault or ("" if gathering.shared else "no question was answered by all models")
        if fault:
            raise BadInput(f"--layout questions: {fault}")
        return ByQuestion(gathering, notes)
    shared = gathering.shared >= _NEARLY_ALL * len(gathering.questions)
    if layout is None and is_few and comparable and shared and not gathering.several_runs:
        notes.tell("the models are compared question by question; for a row a response: --layout responses")
        return ByQuestion(gathering, notes)
    return ByResponse(gathering, notes)
