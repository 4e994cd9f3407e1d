"""The first pass over responses: what they are like, so that columns can be chosen.

It keeps them on the disk for the second pass, which writes the pool.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from types import TracebackType
from typing import BinaryIO

from assay.tasks.connectors.records import Plain, SystemResponse, Verdict

FEW = 20                # different values that a segment, or a response that is a choice, may have
SHORT = 40              # characters of such a response
_MOST_KEPT = 10_000     # different verdicts of a scorer


@dataclass(slots=True)
class Seen:
    """Different values, at most so many of them, and how often there was one at all."""

    most: int
    values: Counter[Verdict] = field(default_factory=Counter)
    filled: int = 0
    more: bool = False          # whether there were further ones
    kinds: set[type] = field(default_factory=set)

    def add(self, value: Plain) -> None:
        """Count a value; None is none."""
        if value is None:
            return
        self.filled += 1
        self.kinds.add(type(value))
        if value in self.values or len(self.values) < self.most:
            self.values[value] += 1
        else:
            self.more = True

    @property
    def commonest(self) -> Verdict:
        """The value that is there most often."""
        return self.values.most_common(1)[0][0]


@dataclass(slots=True)
class Survey:
    """Filled response by response."""

    rows: int = 0
    tasks: dict[str, None] = field(default_factory=dict)        # in the order they came up
    systems: dict[str, None] = field(default_factory=dict)
    runs: set[tuple[str, str, str]] = field(default_factory=set)    # task, system, run
    repeats: int = 1
    judged: dict[str, Seen] = field(default_factory=dict)
    judged_tasks: dict[str, set[str]] = field(default_factory=dict)   # by scorer
    people: dict[str, Seen] = field(default_factory=dict)
    about: dict[str, Seen] = field(default_factory=dict)
    reasons: dict[str, None] = field(default_factory=dict)
    texts: Counter[str] = field(default_factory=Counter)        # question, response, ...: in how many
    choices: Seen = field(default_factory=lambda: Seen(FEW))    # short responses
    long_responses: bool = False
    keys: Counter[int] = field(default_factory=Counter)         # of task, question, system and repeat
    copies: set[int] = field(default_factory=set)               # of the same and the run
    references: Seen = field(default_factory=lambda: Seen(FEW))
    questions: Counter[int] = field(default_factory=Counter)    # of task, question and repeat: responses

    def has(self, response: SystemResponse) -> bool:
        """Whether this very response was counted: a log may be there in two forms."""
        return _short((*question_of(response), response.system, response.run)) in self.copies

    def add(self, response: SystemResponse) -> None:
        """Count a response."""
        self.rows += 1
        self.tasks[response.task] = None
        self.systems[response.system] = None
        self.runs.add((response.task, response.system, response.run))
        self.repeats = max(self.repeats, response.repeat)
        for kept, given, most in (
            (self.judged, response.judged, _MOST_KEPT), (self.people, response.people, _MOST_KEPT),
            (self.about, response.about, FEW + 1),
        ):
            for name, value in given.items():
                kept.setdefault(name, Seen(most)).add(value)
        for name in response.judged:
            self.judged_tasks.setdefault(name, set()).add(response.task)
        self.reasons |= dict.fromkeys(response.reasons)
        for name in ("question", "response", "choice", "reference", "trajectory"):
            self.texts[name] += getattr(response, name) is not None
        text = response.response if response.choice is None else response.choice
        if text is not None and len(text) <= SHORT:
            self.choices.add(text)
        else:
            self.long_responses = True
        question = question_of(response)
        self.questions[_short(question)] += 1
        self.keys[_short((*question, response.system))] += 1
        self.copies.add(_short((*question, response.system, response.run)))
        self.references.add(response.reference)

    @property
    def twice(self) -> bool:
        """Whether a system answered a question, in a repeat of it, more than once."""
        return len(self.keys) < self.rows

    @property
    def everywhere(self) -> list[str]:
        """The scorers that every task has."""
        return [name for name, tasks in self.judged_tasks.items() if len(tasks) == len(self.tasks)]

    @property
    def of_choices(self) -> bool:
        """Whether responses are a few different words, each given many times."""
        few = len(self.choices.values) >= 2 and not self.choices.more
        all_short = not self.long_responses and self.choices.filled == self.rows
        return few and all_short and self.rows >= 5 * len(self.choices.values)

    @property
    def shared(self) -> int:
        """Questions to which every system has a response."""
        return sum(count == len(self.systems) for count in self.questions.values())


def question_of(response: SystemResponse) -> tuple[str, ...]:
    """What two responses have in common that can be compared."""
    return response.task, response.question_id, str(response.repeat)


def _short(parts: tuple[str, ...]) -> int:
    return int.from_bytes(blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).digest(), "big")


# Responses on the disk, between the pass that looks at them and the one that writes the pool.

class Spool:
    """A temporary file, a response a line."""

    def __init__(self) -> None:
        self._file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__)

    def __enter__(self) -> "Spool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, response: SystemResponse) -> None:
        """Write a response to the end of the spool."""
        # half a surrogate pair is legal JSON and no text: "\\ud800" becomes a question mark
        line = json.dumps(asdict(response), ensure_ascii=False).encode("utf-8", "replace")
        self._file.write(line + b"\n")

    def at(self, place: int) -> SystemResponse:
        """The response that was added there."""
        self._file.seek(place)
        return SystemResponse(**json.loads(self._file.readline()))

    def __iter__(self) -> Iterator[SystemResponse]:
        """All of them, as they were added."""
        return (response for _, response in self.places())

    def places(self) -> Iterator[tuple[int, SystemResponse]]:
        """The same, each with its place. Nothing else may be read meanwhile."""
        self._file.seek(0)
        place = 0
        for line in self._file:
            yield place, SystemResponse(**json.loads(line))
            place += len(line)
