"""A conversation as HTML that is safe to show: the final answer first, then every step.

Calls of tools, and what the system was told, are folded.  Every text is escaped, no attribute is written, and
the tags are those that the desks let through.
"""

from collections.abc import Iterator, Sequence
from html import escape

from assay.tasks.connectors.turns import ToolCall, Turn

MOST_SHOWN = 20_000      # characters of one text; what is longer is cut, and says so


def trajectory_page(answer: str, turns: Sequence[Turn]) -> str:
    """HTML of one item."""
    steps = "".join(piece for turn in turns for piece in _turn(turn))
    how = f"<h4>How it came about</h4>{steps}" if steps else ""
    return f"<h4>Final answer</h4>{_paragraph(answer)}{how}"


def _turn(turn: Turn) -> Iterator[str]:
    if turn.text and turn.role in ("system", "developer", "tool"):
        yield _folded(turn.role, _paragraph(turn.text))
    elif turn.text:
        yield f"<p><b>{escape(turn.role)}</b></p>{_paragraph(turn.text)}"
    for call in turn.calls:
        yield _folded(f"tool: {call.name}", _call(call))


def _call(call: ToolCall) -> str:
    result = "no result is recorded" if call.result is None else call.result
    given = f"<p>arguments</p>{_exact(call.arguments)}" if call.arguments else ""
    return f"{given}<p>result</p>{_exact(result)}"


def _folded(title: str, inside: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def _paragraph(text: str) -> str:
    return f"<p>{_cut(text).replace(chr(10), '<br>')}</p>"


def _exact(text: str) -> str:
    return f"<pre>{_cut(text)}</pre>"


def _cut(text: str) -> str:
    more = len(text) - MOST_SHOWN
    return escape(text[:MOST_SHOWN]) + (f" [{more:,} more characters]" if more > 0 else "")
