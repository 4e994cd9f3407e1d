"""What passes from importers to pools: responses of systems, notes of what is left out, a pool written."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

# True is right, False is wrong; a number is a grade or a measurement; text is the name of a class
Verdict = bool | int | float | str
Plain = bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResponse:
    """What one system answered to one question, and what was said of it.

    Texts are None where a log has none.  Columns of the pool are named after these fields.
    """

    question_id: str                     # as the log names the question
    system: str                          # what made the response: a model, a prompt with its model
    task: str = ""                       # the test that the question is part of
    run: str = ""                        # one execution of a test; two logs of the same run are one
    repeat: int = 1                      # of a question that was asked several times, from 1
    question: str | None = None          # all that was said before the response, as text
    response: str | None = None
    choice: str | None = None            # of a question with choices: the one that the response is
    reference: str | None = None         # the right answer, as whoever wrote the question has it
    trajectory: str | None = None        # all that led to the response, as HTML that is safe to show
    judged: Mapping[str, Verdict | None] = field(default_factory=dict)    # by scorer, rule or judge
    reasons: Mapping[str, str] = field(default_factory=dict)              # what a scorer or judge said why
    people: Mapping[str, Verdict | None] = field(default_factory=dict)    # by question that people were asked
    about: Mapping[str, Plain] = field(default_factory=dict)              # category, language, cost, ...


# What an importer did not bring along, counted, for the person who has to know.

@dataclass(slots=True)
class Notes:
    """Filled while places are read."""

    left_out: Counter[str] = field(default_factory=Counter)   # "images" -> in how many responses
    told: list[str] = field(default_factory=list)             # sentences, each once

    def leave_out(self, what: str) -> None:
        """Count something that is not imported: a plural, such as `images` or `tool calls`."""
        self.left_out[what] += 1

    def tell(self, sentence: str) -> None:
        """Note a sentence for the person who imports, once."""
        if sentence not in self.told:
            self.told.append(sentence)

    @property
    def lines(self) -> list[str]:
        """All of it, a sentence each."""
        counts = [f"not imported: {what} ({n:,} times)" for what, n in sorted(self.left_out.items())]
        return [*self.told, *counts]


# A pool that was written.

# a row for each response, or a row for each question with the responses of all systems side by side
Layout = Literal["responses", "questions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The file, and the spec to start from."""

    path: Path
    rows: int
    columns: tuple[str, ...]
    systems: tuple[str, ...] = ()
    spec: str | None = None     # YAML; None where `assay doctor` is to suggest one
