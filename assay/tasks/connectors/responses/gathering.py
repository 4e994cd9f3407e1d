"""All responses together: the one place that decides what is a copy, a repeat, a judge, a vote or a gap.

    copy      the same id and the same content; what is said of it is said of the first
    repeat    the same question of the same run and system, with other content, or another number in the log
    judge     a scorer, and of scorers of one name each filter, step or source that speaks of one response
    vote      what a person said; the label is what most of them said, and a tie is none
    gap       a verdict that is none: not finite, a word for no value, a refusal among numbers

Ids that mean something in their file alone (numbers of rows, names of tests) never meet those of another
file, unless the files hold the same responses.  Nothing is overwritten, and what differed is noted.
"""

import json
import statistics
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from assay.tasks.connectors.records import Notes, Plain, Remark, SystemResponse, name_again
from assay.tasks.connectors.responses.verdicts import (
    VerdictReading,
    Verdicts,
    reading_of,
    verdict_text,
    verdicts_of,
)
from assay.tasks.connectors.turns import parsed_or_text

FEW = 20                # different values that a segment, or a response that is a choice, may have
SHORT = 40              # characters of such a response
LONGEST_VALUE = 100     # characters of a value that can be a column
_REASONS = ("reason", "reasoning", "reasons", "rationale", "explanation", "justification", "why", "critique")
TEXTS = ("question", "response", "choice", "reference", "trajectory")


class Spool:
    """The texts of responses in a temporary file, so that memory does not grow with them."""

    def __init__(self) -> None:
        self._file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__)

    def __enter__(self) -> "Spool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, texts: Mapping[str, str]) -> int:
        """Keep the texts of a response; where they are, for `at`."""
        place = self._file.seek(0, 2)
        # half a surrogate pair is legal JSON and no text: it becomes a question mark
        self._file.write(json.dumps(texts, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        return place

    def at(self, place: int) -> dict[str, str]:
        """The texts of one response, by name, that `add` kept at this place of the temporary file."""
        self._file.seek(place)
        texts: dict[str, str] = json.loads(self._file.readline())
        return texts


@dataclass(slots=True, kw_only=True, eq=False)
class LoggedResponse:
    """A response without its long texts, and what is said of it."""

    place: int                             # of its texts in the spool
    texts: frozenset[str]                  # of TEXTS, those that it has
    record: SystemResponse                 # without texts; its names are text, and its remarks are those read
    question: int                          # a digest
    content: int                           # a digest of question and response
    short: str | None                      # the choice, or a response that is short
    reference: str | None                  # where it is short
    remarks: list[Remark]
    repeat: int = 1
    judged: dict[str, VerdictReading] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    votes: dict[str, dict[str, VerdictReading]] = field(default_factory=dict)    # question -> person -> vote

    @property
    def asked(self) -> tuple[str, str, int]:
        """What two responses have in common that can be compared: task, question and repeat."""
        return self.record.task, self.record.question_id, self.repeat


@dataclass(frozen=True, kw_only=True)
class GatheredResponses:
    """All responses, and what the values of each scorer, and of each question to people, come to."""

    items: Sequence[LoggedResponse]
    judges: Mapping[str, Verdicts]
    people: Mapping[str, Verdicts]

    @cached_property
    def tasks(self) -> list[str]:
        """The names of the tasks, in the order in which they came up."""
        return list(dict.fromkeys(item.record.task for item in self.items))

    @cached_property
    def systems(self) -> list[str]:
        """The names of the systems, in the order in which they came up."""
        return list(dict.fromkeys(item.record.system for item in self.items))

    @cached_property
    def texts(self) -> Counter[str]:
        """The number of items that have each of the texts in TEXTS, such as `question` or `reference`."""
        return Counter(name for item in self.items for name in item.texts)

    @cached_property
    def several_repeats(self) -> bool:
        """Whether some question was put more than once to a system within one run."""
        return any(item.repeat > 1 for item in self.items)

    @cached_property
    def several_runs(self) -> bool:
        """Whether a system answered a question, in a repeat of it, in several runs."""
        return len({(item.asked, item.record.system) for item in self.items}) < len(self.items)

    @cached_property
    def about(self) -> dict[str, list[Plain]]:
        """Values of each further column, in the order of the items; None where an item has none."""
        names = dict.fromkeys(name for item in self.items for name in item.record.about)
        return {name: [item.record.about.get(name) for item in self.items] for name in names}

    @cached_property
    def everywhere(self) -> list[str]:
        """The scorers that speak of at least one response of every task, in their order."""
        tasks: defaultdict[str, set[str]] = defaultdict(set)
        for item in self.items:
            for name in item.judged:
                tasks[name].add(item.record.task)
        return [name for name in self.judges if len(tasks[name]) == len(self.tasks)]

    @cached_property
    def choices(self) -> list[str]:
        """The different responses, where each is one of a few words that were given many times; else none."""
        words = {item.short for item in self.items}
        few = 2 <= len(words) <= FEW and len(self.items) >= 5 * len(words)
        return sorted(word for word in words if word is not None) if few and None not in words else []

    @cached_property
    def questions(self) -> Counter[tuple[str, str, int]]:
        """The number of systems that answered each question; a question is a task, its id and the number of
        the repeat."""
        pairs = {(item.asked, item.record.system) for item in self.items}
        return Counter(question for question, _ in pairs)

    @cached_property
    def shared(self) -> int:
        """The number of questions to which every system has a response."""
        return sum(count == len(self.systems) for count in self.questions.values())


def gathered(
    files: Iterable[tuple[str, Iterator[SystemResponse]]], spool: Spool, notes: Notes
) -> GatheredResponses:
    """Everything that several files hold; notes say what differed, was left out or came up again.

    files    the name of each, and its responses
    """
    items = _numbered(_without_copies(_of_files(files, spool, notes), notes))
    judges, people = _judges(items, notes), _people(items, notes)
    return GatheredResponses(items=items, judges=judges, people=people)


def _digest(*parts: str | None) -> int:
    text = "\0".join("\1" if part is None else part for part in parts)
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _item(response: SystemResponse, spool: Spool, notes: Notes) -> LoggedResponse:
    texts = {name: _text(value) for name in TEXTS if (value := getattr(response, name)) is not None
             and (name == "response" or value != "")}
    about: dict[str, Any] = {}
    metadata = response.about if isinstance(response.about, Mapping) else {"metadata": [response.about]}
    for name, value in metadata.items():
        if value is not None and not isinstance(value, bool | int | float | str):
            notes.leave_out(f"metadata that is no single value: {name}")
        elif isinstance(value, str) and len(value) > LONGEST_VALUE:
            notes.leave_out(f"long texts of metadata: {name}")
        else:
            about[str(name)] = value
    chosen = texts.get("choice", texts.get("response"))
    return LoggedResponse(
        place=spool.add(texts), texts=frozenset(texts), question=_digest(texts.get("question")),
        content=_digest(*(texts.get(name) for name in ("question", "response", "choice"))),
        short=chosen if chosen is not None and len(chosen) <= SHORT else None,
        reference=texts.get("reference") if len(texts.get("reference", "")) <= SHORT else None,
        remarks=[inner for remark in response.remarks for inner in _flat(remark, notes)],
        repeat=response.repeat, record=SystemResponse(
            question_id=_text(response.question_id), system=_text(response.system), task=_text(response.task),
            id=_text(response.id), run=response.run, repeat=response.repeat, about=about,
        ),
    )


def _text(value: object) -> str:
    """A name or a text as it is; anything else that stands where one should be as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _flat(remark: Remark, notes: Notes) -> Iterator[Remark]:
    """A remark for each key of a mapping; a list of several values is noted."""
    value, name = remark.value, _text(remark.name)
    while isinstance(value, list | tuple) and len(value) == 1:
        [value] = value
    if isinstance(value, str) and "{" in value:
        parsed = parsed_or_text(verdict_text(value))
        value = parsed if isinstance(parsed, Mapping) else value
    if isinstance(value, Mapping):
        reasons = {key: inner for key, inner in value.items() if key in _REASONS and isinstance(inner, str)}
        reason = remark.reason or next(iter(reasons.values()), None)
        for key, inner in value.items():
            if key not in reasons or len(value) == len(reasons):
                yield from _flat(replace(remark, name=f"{name} {key}", value=inner, reason=reason), notes)
    elif isinstance(value, list | tuple):
        notes.leave_out(f"scores that are lists, of {name}")
    else:
        yield replace(remark, name=name, value=value, source=_text(remark.source), time=_text(remark.time),
                      reason=remark.reason if isinstance(remark.reason, str) else None)


def _of_files(
    files: Iterable[tuple[str, Iterator[SystemResponse]]], spool: Spool, notes: Notes
) -> Iterator[LoggedResponse]:
    """All items; those of a file without a run belong to the run that is named after the file."""
    contents: set[int] = set()
    names: Counter[str] = Counter()
    questions = _Questions()
    for path, responses in files:
        items = [_item(response, spool, notes) for response in responses]
        alone = [item for item in items if item.record.run is None]
        digest = _digest(*(f"{i.record.question_id} {i.record.system} {i.content} {_read(i)}" for i in alone))
        if alone and digest in contents:
            notes.leave_out("responses of a file that holds the same as another", len(alone))
            items = [item for item in items if item.record.run is not None]
        elif alone:
            contents.add(digest)
            run = name_again(Path(path).name, names)
            questions.name(alone)
            for item in alone:
                item.record = replace(item.record, run=run)
        for item in items:
            item.record = replace(item.record, run=_text(item.record.run))
        yield from items


class _Questions:
    """Ids of questions over several files whose own ids mean nothing elsewhere: questions of two files that
    share a text are the same, and others of the same id get a number. Within a file ids tell them apart."""

    def __init__(self) -> None:
        self._by_text: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        self._times: defaultdict[str, Counter[str]] = defaultdict(Counter)     # by task

    def name(self, items: Sequence[LoggedResponse]) -> None:
        """Give the items of one file their ids."""
        by_id: defaultdict[tuple[str, str], list[LoggedResponse]] = defaultdict(list)
        for item in items:
            by_id[item.record.task, item.record.question_id].append(item)
        taken: set[tuple[str, str]] = set()
        for (task, number), of_question in by_id.items():
            texts = [(task, item.question) for item in of_question if "question" in item.texts]
            names = (name for text in texts for name in self._by_text[text])
            name = next((name for name in names if (task, name) not in taken), None)
            if name is None:
                name = name_again(number, self._times[task])
            taken.add((task, name))
            for text in dict.fromkeys(texts):
                if name not in self._by_text[text]:
                    self._by_text[text].append(name)
            for item in of_question:
                item.record = replace(item.record, question_id=name)


def _read(item: LoggedResponse) -> list[tuple[str, Any]]:
    return sorted((remark.name, str(reading_of(remark.value))) for remark in item.remarks)


def _without_copies(items: Iterable[LoggedResponse], notes: Notes) -> list[LoggedResponse]:
    """The items without those that came up before; remarks about a copy are about the first."""
    distinct: list[LoggedResponse] = []
    ids: list[str] = []
    by_key: defaultdict[tuple[Any, ...], list[LoggedResponse]] = defaultdict(list)
    for item in items:
        record = item.record
        key = (record.id,) if record.id else (
            record.task, record.question_id, record.system, record.run, record.repeat)
        original = next((twin for twin in by_key[key] if twin.content == item.content), None)
        if original is not None:
            new = [remark for remark in item.remarks if remark not in original.remarks]
            original.remarks += new
            if not new:      # nothing is left out where a copy says more
                notes.leave_out("responses that came up again, with the same id and the same content")
            continue
        if by_key[key] and record.id:
            ids.append(record.id)
        by_key[key].append(item)
        distinct.append(item)
    if ids:
        tail = f", and {len(ids) - 1:,} others," if len(ids) > 1 else ""
        notes.tell(f"the id {ids[0]!r}{tail} came up again with other content; each is a row of its own")
    return distinct


def _numbered(items: list[LoggedResponse]) -> list[LoggedResponse]:
    """With repeats from 1; of ids that several questions have, the later ones get a number."""
    repeats_of: defaultdict[tuple[str, str, str, str | None], dict[int, set[int]]] = defaultdict(dict)
    for item in items:
        record = item.record
        questions = repeats_of[record.task, record.question_id, record.system, record.run]
        repeats = questions.setdefault(item.question, set())
        place = list(questions).index(item.question) + 1
        if place > 1:
            item.record = replace(record, question_id=f"{record.question_id} ({place})")
        if item.repeat < 1 or item.repeat in repeats:
            item.repeat = max(repeats, default=0) + 1
        repeats.add(item.repeat)
    return items


def _judges(items: Sequence[LoggedResponse], notes: Notes) -> dict[str, Verdicts]:
    """The verdicts of every judge; items get a reading of each judge that speaks of them."""
    split = _names_of_several_sources(items)
    for name, sources in split.items():
        notes.tell(f"{name} comes from {len(sources)} sources ({', '.join(sorted(sources)[:5])}), of which "
                   "several speak of one response: each is a judge of its own")
    differing: Counter[str] = Counter()
    names: dict[str, str] = {}        # column -> the scorer's name
    for item in items:
        by_column: defaultdict[str, list[Remark]] = defaultdict(list)
        for remark in item.remarks:
            if not remark.by_person:
                source = remark.source if remark.name in split else ""
                by_column[f"{remark.name} {source}".strip()].append(remark)
        for column, remarks in by_column.items():
            # the newest first, but a grader that failed behind one that did not
            remarks.reverse()
            remarks.sort(key=lambda remark: remark.time, reverse=True)
            readings = [(reading_of(remark.value), remark.reason) for remark in remarks]
            readings.sort(key=lambda pair: pair[0].kind == "gap")
            different = list(dict.fromkeys(reading for reading, _ in readings))
            differing[column] += len(different) > 1
            for number, reading in enumerate(different, 1):
                numbered = column if number == 1 else f"{column} {number}"
                names[numbered], item.judged[numbered] = remarks[0].name, reading
                reason = next((reason for verdict, reason in readings if verdict == reading and reason), None)
                if reason:
                    item.reasons[numbered] = reason
    for column, times in differing.items():
        if times:
            notes.tell(f"{column} said different things of one response, {times:,} times; the newest is in "
                       f"its column, and what it said before in that of {column + ' 2'!r}")
    # one scorer has one scale, whichever source or time a verdict is of
    verdicts = _verdicts(((names[column], reading) for item in items
                          for column, reading in item.judged.items()), notes)
    return {column: verdicts[name] for column, name in names.items()}


def _names_of_several_sources(items: Sequence[LoggedResponse]) -> dict[str, set[str]]:
    """The names under which several sources speak of one response, with all their sources."""
    names: set[str] = set()
    sources: defaultdict[str, set[str]] = defaultdict(set)
    for item in items:
        by_name: defaultdict[str, set[str]] = defaultdict(set)
        for remark in item.remarks:
            if not remark.by_person:
                by_name[remark.name].add(remark.source)
                sources[remark.name].add(remark.source or "itself")
        names |= {name for name, of_name in by_name.items() if len(of_name) > 1}
    return {name: sources[name] for name in sources if name in names}


def _verdicts(readings: Iterable[tuple[str, VerdictReading]], notes: Notes) -> dict[str, Verdicts]:
    """By name, in the order in which names come up."""
    counts: defaultdict[str, Counter[VerdictReading]] = defaultdict(Counter)
    for name, reading in readings:
        counts[name][reading] += 1
    verdicts = {name: verdicts_of(values, name) for name, values in counts.items()}
    for name, read in verdicts.items():
        if read.scale is None:
            notes.tell(f"{name}: no scale fits its values, {read.gaps_in_words}, so it is no judge")
        elif read.gaps:
            notes.tell(f"{name}: {read.gaps_in_words} of {sum(counts[name].values()):,} values are no "
                       "verdict, and count as gaps")
    return verdicts


def _people(items: Sequence[LoggedResponse], notes: Notes) -> dict[str, Verdicts]:
    """The verdicts of every question to people; items get each person's vote, by a number of the person."""
    numbers: dict[str, str] = {}
    changed: Counter[str] = Counter()
    for item in items:
        anonymous: Counter[str] = Counter()
        for remark in sorted((r for r in item.remarks if r.by_person), key=lambda remark: remark.time):
            if not remark.source:
                anonymous[remark.name] += 1
            who = remark.source or f"\0{anonymous[remark.name]}"
            person = numbers.setdefault(who, str(len(numbers) + 1))
            votes = item.votes.setdefault(remark.name, {})
            reading = reading_of(remark.value)
            changed[remark.name] += person in votes and votes[person] != reading
            votes[person] = reading
    for name, times in changed.items():
        if times:
            notes.tell(f"people changed their answers to {name} {times:,} times; the last of each person "
                       "counts")
    return _verdicts(((name, vote) for item in items for name, votes in item.votes.items()
                      for vote in votes.values()), notes)


def label_of(verdicts: Verdicts, votes: Mapping[str, VerdictReading]) -> str | float | None:
    """What most people said, or the middle of their grades; None for a tie, and where nobody answered.

    The middle of an even number of grades is one only where the two in the middle agree.
    """
    values = [verdicts.written[vote] for vote in votes.values() if vote in verdicts.written]
    if not values or verdicts.scale is None:
        return None
    if verdicts.scale.names:
        (best, times), *other_counts = Counter(values).most_common()
        return None if other_counts and other_counts[0][1] == times else best
    numbers = [float(value) for value in values]
    low, high = statistics.median_low(numbers), statistics.median_high(numbers)
    return low if low == high else None if "grades" in verdicts.scale.labels else (low + high) / 2
