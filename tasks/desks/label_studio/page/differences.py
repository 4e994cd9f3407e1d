"""Two texts that people compare: the words that differ, marked in HTML.

Text is escaped, and `<mark>` is the only markup. How a mark looks is said by the page (`style`): underlined
and bold as well as coloured, so that nobody needs to see colours. White space is not compared.

A mark tells something only where most of the rest is the same. So long texts that share less than half of
their words have no marks. Short ones (names, addresses) are always marked.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape, unescape
from itertools import groupby

SHORT = 12           # words: a text up to this is marked whatever it shares
LEAST_SHARED = 0.5   # of the words of two long texts
_MOST_PAIRS = 1_000_000   # words of one text times words of the other that are compared one by one

# white space; one sign of a script without blanks; a word, with the signs inside it (1.99, o'neill); a sign
_NO_BLANKS = "\u3040-\u30ff\u3400-\u9fff"
_PIECE = re.compile(
    rf"\s+|[{_NO_BLANKS}]|[^\W{_NO_BLANKS}]+(?:['’.,:/-][^\W{_NO_BLANKS}]+)*|[^\w\s]"
)
_MARKS = re.compile("</?mark>")


def marked(left: str, right: str) -> tuple[str, str]:
    """Both texts in HTML, with marks around the words that the other one does not have there."""
    pieces = _PIECE.findall(left), _PIECE.findall(right)
    words = [[piece for piece in one if not piece.isspace()] for one in pieces]
    if not all(words):
        return escape(left), escape(right)
    differing = _differing(*words)
    shared = 1 - sum(map(sum, differing)) / sum(map(len, words))
    if max(map(len, words)) > SHORT and shared < LEAST_SHARED:
        return escape(left), escape(right)
    return _html(pieces[0], differing[0]), _html(pieces[1], differing[1])


def unmarked(html: str) -> str:
    """The text that `marked` was given."""
    return unescape(_MARKS.sub("", html))


def _differing(left: Sequence[str], right: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which words of each are not in the other, in the same order.

    Texts with too many words are compared line by line, here sentence by sentence, before they are compared
    by words.
    """
    if len(left) * len(right) <= _MOST_PAIRS:
        return _unmatched(left, right)
    units = _sentences(left), _sentences(right)
    found: tuple[list[bool], list[bool]] = ([], [])
    if len(units[0]) * len(units[1]) > _MOST_PAIRS:
        return [True] * len(left), [True] * len(right)
    for tag, i, j, k, m in SequenceMatcher(None, *units).get_opcodes():
        ours = [word for unit in units[0][i:j] for word in unit]
        theirs = [word for unit in units[1][k:m] for word in unit]
        same, small = tag == "equal", len(ours) * len(theirs) <= _MOST_PAIRS
        parts = _unmatched(ours, theirs) if small and not same else (
            [not same] * len(ours), [not same] * len(theirs)
        )
        for whole, part in zip(found, parts, strict=True):
            whole += part
    return found


def _unmatched(left: Sequence[str], right: Sequence[str]) -> tuple[list[bool], list[bool]]:
    ours, theirs = [True] * len(left), [True] * len(right)
    for block in SequenceMatcher(None, left, right).get_matching_blocks():
        ours[block.a : block.a + block.size] = [False] * block.size
        theirs[block.b : block.b + block.size] = [False] * block.size
    return ours, theirs


def _sentences(words: Sequence[str]) -> list[tuple[str, ...]]:
    """The words up to each sign that may end a sentence."""
    found: list[tuple[str, ...]] = []
    begin = 0
    for place, word in enumerate(words):
        if word in ".!?;。" or place == len(words) - 1:
            found.append(tuple(words[begin : place + 1]))
            begin = place + 1
    return found


def _html(pieces: Sequence[str], differing: Sequence[bool]) -> str:
    """The pieces with a mark around each run of differing words and the blanks between them."""
    left = iter(differing)
    flags = [None if piece.isspace() else next(left) for piece in pieces]
    for place, flag in enumerate(flags):   # a blank between two differing words belongs to their run
        if flag is None:
            flags[place] = 0 < place < len(flags) - 1 and all((flags[place - 1], flags[place + 1]))
    written = []
    for differs, run in groupby(zip(pieces, flags, strict=True), key=lambda one: bool(one[1])):
        text = escape("".join(piece for piece, _ in run))
        written.append(f"<mark>{text}</mark>" if differs else text)
    return "".join(written)
