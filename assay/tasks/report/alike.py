"""Whether two files of a report say the same, but for last digits of numbers that are not whole.

The pictures of a page are SVG, and are compared as such: their texts are equal, and so is what is drawn
where, to a hundredth of a point. Ids are counted, because those of matplotlib are digests of last digits, and
what a picture says of its maker is left out.
"""

import binascii
import math
import re
from base64 import b64decode
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from assay.tasks.ledger.findings import value_differences

_DRAWN = re.compile(rb"data:image/svg\+xml;base64,([A-Za-z0-9+/=]*)")
_NUMBER = re.compile(rb"(-?[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?)")     # whole ones are as they were
_PLACE = re.compile(rb"(-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)")
_TAG = re.compile(rb"(<[^>]*>)")
_ID = re.compile(rb'(?<=id=")[^"]*|(?<=href="#)[^"]*|(?<=url\(#)[^)]*')
_MAKER = re.compile(rb"<metadata>.*?</metadata>", re.DOTALL)
_POINTS_APART = 0.01   # by which a place in a picture may differ, in its points


def alike(name: str, blob: bytes, due: bytes) -> bool:
    """Whether a file of this name says what is due: tables by their values, to 1e-6; texts to the last but
    two digits of their numbers, without the pictures in them, of which `pictures_alike` tells."""
    if blob == due:
        return True
    if name.endswith(".parquet"):
        try:
            tables = [pq.read_table(pa.BufferReader(content)).to_pylist() for content in (blob, due)]
        except (pa.ArrowException, OSError):
            return False
        return not list(value_differences(*tables))
    close = partial(math.isclose, rel_tol=2e-3, abs_tol=1e-9)
    texts = [_DRAWN.sub(b"", content) for content in (blob, due)]
    return _same_pieces(_NUMBER, texts[0], texts[1], close)


def pictures_alike(blob: bytes, due: bytes) -> bool:
    """Whether the pictures inside a page are those that are due, in their order: SVG in addresses of data. A
    page without pictures is like another without."""
    pictures, due_pictures = _DRAWN.findall(blob), _DRAWN.findall(due)
    return len(pictures) == len(due_pictures) and all(map(_same_picture, pictures, due_pictures))


def _same_picture(encoded: bytes, due: bytes) -> bool:
    if encoded == due:
        return True
    try:
        pieces, due_pieces = (_TAG.split(_counted(_MAKER.sub(b"", b64decode(svg)))) for svg in (encoded, due))
    except binascii.Error:
        return False
    close = partial(math.isclose, rel_tol=0, abs_tol=_POINTS_APART)
    return len(pieces) == len(due_pieces) and all(
        piece == other or (piece.startswith(b"<") and _same_pieces(_PLACE, piece, other, close))
        for piece, other in zip(pieces, due_pieces, strict=True)
    )


def _counted(svg: bytes) -> bytes:
    """The picture with its ids as numbers, in the order in which they first stand there."""
    numbers: dict[bytes, int] = {}
    return _ID.sub(lambda name: b"%d" % numbers.setdefault(name.group(), len(numbers)), svg)


def _same_pieces(number: re.Pattern[bytes], text: bytes, due: bytes, close: "partial[bool]") -> bool:
    pieces, due_pieces = number.split(text), number.split(due)
    return len(pieces) == len(due_pieces) and all(
        piece == other or (
            bool(number.fullmatch(piece) and number.fullmatch(other)) and close(float(piece), float(other))
        )
        for piece, other in zip(pieces, due_pieces, strict=True)
    )
