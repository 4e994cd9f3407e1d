"""How a file of text is written: its encoding, and what separates the values of a row.

Both are recognised from the beginning of the file, and what is not plain (UTF-8, commas) is said. Nothing is
taken for UTF-16 that has no mark of it or no zero in every second byte. Text that is not UTF-8 is taken for
Windows-1252, of which Latin-1 is a part, if it looks like Western words; other text is refused, because no
program can tell what it says.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from assay.evalcore.errors import BadInput

LOOK = 8 << 20           # bytes that are looked at
_HEAD = 1 << 20          # of them, bytes in which columns are counted
_RECORDS = 50            # rows that have to have as many values as the header
_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_BY_MARK = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_NAMES = {"utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "cp1252": "Windows-1252"}
# of Windows-1252: three signs and more beyond ASCII in a row, and signs that are no letters within words
_UNUSUAL = re.compile(
    rb"[\x80-\xff]{3,}|(?<=[A-Za-z])[\xa1-\xa9\xab\xac\xae-\xb4\xb6\xb8\xb9\xbb-\xbf\xd7\xf7](?=[A-Za-z])"
)
_WORD = re.compile(r"\w*[^\W\x00-\x7f]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Of one file."""

    delimiter: str = ","
    encoding: str = "utf-8"      # as Python calls it
    word: str = ""               # that shows what the encoding was taken for

    @property
    def transcoded(self) -> bool:
        """Whether its bytes are not those of UTF-8."""
        return self.encoding != "utf-8"

    @property
    def said(self) -> str | None:
        """What was recognised, in a sentence; None for UTF-8 with commas."""
        told = [] if self.delimiter == "," else [f"values separated by {_WORDS[self.delimiter]}"]
        if self.encoding == "cp1252":
            as_in = f", as in {self.word!r}" if self.word else ""
            told.append(f"text taken for Windows-1252 (Latin-1), since it is not UTF-8{as_in}; if that is "
                        "wrong, save the file as UTF-8")
        elif self.transcoded:
            told.append(f"text in {_NAMES[self.encoding]}")
        return f"read with {', '.join(told)}" if told else None


def dialect_of(path: str, start: bytes) -> Dialect:
    """Of the file that begins so, with LOOK bytes or all it has.

    Raises BadInput for an encoding that cannot be told.
    """
    encoding = _encoding(path, start)
    text = _decoded(start[:_HEAD], encoding)
    word = _WORD.search(_decoded(start, encoding)) if encoding == "cp1252" else None
    return Dialect(
        delimiter=_delimiter(text, "\t" if ".tsv" in path.lower() else ","), encoding=encoding,
        word=word[0][:30] if word else "",
    )


def without_mark(start: bytes, encoding: str) -> bytes:
    """Without the mark of UTF-16. That of UTF-8 stays: readers of CSV know it."""
    mark = next((mark for mark, name in _BY_MARK if name == encoding), b"")
    return start.removeprefix(mark)


def _encoding(path: str, start: bytes) -> str:
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise BadInput(f"{path}: is text in UTF-32; save it as UTF-8")
    for mark, name in _BY_MARK:
        if start.startswith(mark):
            return name
    if start.isascii() and b"\0" not in start[:_HEAD]:
        return "utf-8"
    for place, name in ((0, "utf-16-be"), (1, "utf-16-le")):
        some = start[: 1 << 12]
        if len(some) > 3 and some[place::2].count(0) > 0.4 * len(some) and not some[1 - place :: 2].count(0):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, final=len(start) < LOOK)
    except UnicodeDecodeError as error:
        return _western(path, start, error.start)
    return "utf-8"


def _western(path: str, start: bytes, wrong: int) -> str:
    """Windows-1252, if it can be that. Raises BadInput where it cannot."""
    line = start.count(b"\n", 0, wrong) + 1
    what = f"{path}: line {line:,} holds bytes that are not UTF-8"
    read = start.decode("utf-8", errors="surrogateescape")
    high = [sign for sign in read if sign > "\x7f"]
    stray = sum("\udc80" <= sign <= "\udcff" for sign in high)
    if 10 * (len(high) - stray) > stray:
        raise BadInput(f"{what}, though other parts are: two encodings are mixed; save the file as UTF-8")
    unusual = sum(len(found[0]) for found in _UNUSUAL.finditer(start))
    try:
        start.decode("cp1252")
        if 10 * unusual > len(high):
            raise ValueError("few words of a Western language look so")
    except ValueError:
        raise BadInput(
            f"{what}, and not Windows-1252 either; save the file as UTF-8, in which alone every text can be "
            f"read (or: iconv -f ITS-ENCODING -t UTF-8 {path} > utf8.csv)"
        ) from None
    return "cp1252"


def _decoded(start: bytes, encoding: str) -> str:
    text = codecs.getincrementaldecoder(encoding)("replace").decode(without_mark(start, encoding))
    return text.removeprefix("\ufeff")


def _delimiter(text: str, usual: str) -> str:
    """What the header has; of several, one by which every row has as many values as the header."""
    several = [one for one in _WORDS if len(next(_records(text, one), [])) > 1]
    if len(several) < 2:
        return several[0] if several else usual
    even = [one for one in several if _is_even(text, one)]
    return usual if usual in even or not even else even[0]


def _is_even(text: str, delimiter: str) -> bool:
    # the last record may have been cut off
    rows = [len(row) for row, _ in zip(_records(text, delimiter), range(_RECORDS + 1), strict=False)]
    whole = rows if len(rows) < 3 or len(rows) > _RECORDS else rows[:-1]
    return len(set(whole)) == 1


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)
    except csv.Error:
        return


class Transcoded(io.RawIOBase):
    """A stream of another encoding, as UTF-8."""

    def __init__(self, path: str, inner: BinaryIO, encoding: str) -> None:
        self._path, self._inner, self._encoding = path, inner, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._left = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, into: "bytearray | memoryview") -> int:    # type: ignore[override]
        """Read some bytes. Raises BadInput for those that are not of the encoding."""
        while not self._left:
            block = self._inner.read(1 << 20)
            try:
                text = self._decoder.decode(block, final=not block)
                self._left = text.encode()
            except UnicodeError:
                raise BadInput(
                    f"{self._path}: holds bytes that are not {_NAMES[self._encoding]}, as which it begins; "
                    "save the file as UTF-8"
                ) from None
            if not block:
                break
        some, self._left = self._left[: len(into)], self._left[len(into) :]
        into[: len(some)] = some
        return len(some)
