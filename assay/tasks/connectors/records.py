"""What passes from importers to pools: responses of systems as a log has them, notes, and a pool written."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

Plain = bool | int | float | str | None
LogEntry: TypeAlias = Mapping[str, Any]    # an object of JSON, or a row of a table, as another tool wrote it


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What somebody or something said of a response, as the log has it: nothing is read into it yet."""

    name: str                     # of the scorer, or of the question that a person was asked
    value: Any                    # JSON of any kind
    by_person: bool = False
    source: str = ""              # who or what of that name: a person, a filter, a model, a step of a trace
    reason: str | None = None     # why, in words
    time: str = ""                # sorts as time does; empty where the log has none


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResponse:
    """What one system answered to one question, and all that was said of it.

    Importers fill in what the log says and decide nothing: what is a copy, a repeat, a vote or a gap follows
    from all responses together (`responses.gathering`).  Texts are None where a log has none.
    """

    question_id: str                     # as the log names the question
    system: str = ""                     # what made the response: a model, a prompt with its model
    task: str = ""                       # the test that the question is part of
    run: str | None = ""                 # of a test; None: ids mean something in this file alone
    id: str = ""                         # of this very response, where the log gives it one
    repeat: int = 0                      # which time it was asked, from 1; 0: the log does not say
    question: str | None = None          # all that was said before the response, as text
    response: str | None = None
    choice: str | None = None            # of a question with choices: the one that the response is
    reference: str | None = None         # the right answer, as whoever wrote the question has it
    trajectory: str | None = None        # all that led to the response, as HTML that is safe to show
    remarks: Sequence[Remark] = ()
    about: LogEntry = field(default_factory=dict)    # category, language, cost, ...


@dataclass(slots=True)
class Notes:
    """What an importer did not bring along, counted, for the person who has to know."""

    left_out: Counter[str] = field(default_factory=Counter)   # "images" -> in how many responses
    sentences: list[str] = field(default_factory=list)        # each once

    def leave_out(self, what: str, times: int = 1) -> None:
        """Count something that is not imported: a plural, such as `images` or `tool calls`."""
        self.left_out[what] += times

    def first_answer(self, answers: Sequence[object]) -> Any:
        """The first of the responses to one request; that there are others is counted."""
        self.leave_out("further responses to one request", len(answers) > 1)
        return answers[0]

    def tell(self, sentence: str) -> None:
        """Note a sentence for the person who imports, unless it was noted before."""
        if sentence not in self.sentences:
            self.sentences.append(sentence)

    def keep(self, columns: Sequence[str]) -> None:
        """Note the columns of a table that are kept as they are, and are no judges."""
        if columns:
            self.tell(f"columns that are kept, and are no judges: {', '.join(columns)}")

    @property
    def lines(self) -> list[str]:
        """All notes, a sentence each: those that were told, in order, then how often each kind of thing was
        not imported."""
        counts = [f"not imported: {what} ({n:,} times)" for what, n in sorted(self.left_out.items()) if n]
        return [*self.sentences, *counts]


def name_again(name: str, times: Counter[str]) -> str:
    """The name, counted in `times`; where it came before, with a number behind it, from 2 on."""
    times[name] += 1
    return name if times[name] == 1 else f"{name} ({times[name]})"


# a row for each response, or a row for each question with the responses of all systems side by side
Layout = Literal["responses", "questions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A pool that was written: its file, rows, columns and systems, and functions that make drafts of a spec
    as YAML, the best first; none where `doctor` is to suggest one."""

    path: Path
    rows: int
    columns: tuple[str, ...]
    systems: tuple[str, ...] = ()
    drafts: tuple[Callable[[], str], ...] = ()   # of YAML, the best first; none where `doctor` is to suggest
