"""One response of a system, as logs of evaluations have it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# True is right, False is wrong; a number is a grade or a measurement; text is the name of a class
Verdict = bool | int | float | str
Plain = bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
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
    judged: Mapping[str, Verdict | None] = field(default_factory=dict)    # by scorer, rule or judge
    reasons: Mapping[str, str] = field(default_factory=dict)              # what a scorer or judge said why
    people: Mapping[str, Verdict | None] = field(default_factory=dict)    # by question that people were asked
    about: Mapping[str, Plain] = field(default_factory=dict)              # category, language, cost, ...
