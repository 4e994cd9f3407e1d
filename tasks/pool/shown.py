"""A hash of what people see of an item, so that another question under an old id is found out.

What is hashed are the lengths of the id and of each shown text in bytes (32 bits, little-endian), and then
their UTF-8, in the order of the spec. No two rows give the same bytes. The hash is BLAKE2b, of 128 bits:
whoever changes a source on purpose must not be able to keep it. Parts hold its 16 bytes; elsewhere it
is written in hexadecimal digits.
"""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.arrow import lengths_of

_BYTES = 16


SHOWN_HASH = pa.binary(_BYTES)    # the type of a column of them
# An empty value between two: made of a Python value, it would import pandas.
_NOTHING = pa.Array.from_buffers(pa.large_binary(), 1, [None, pa.py_buffer(bytes(16)), pa.py_buffer(b"")])[0]


def shown_hashes(ids: pa.StringArray, shown: Sequence[pa.StringArray]) -> pa.FixedSizeBinaryArray:
    """For each of n rows, a 128-bit hash of its id and shown texts."""
    if not len(ids):
        return pa.nulls(0, SHOWN_HASH)
    texts = [ids, *shown]
    lengths = np.stack([lengths_of(text) for text in texts], axis=1).astype("<u4")
    width = lengths.shape[1] * lengths.itemsize
    heads = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(ids), [None, pa.py_buffer(lengths)])
    # 64-bit offsets: a batch of long texts may hold more than 2 GB
    whole = [column.cast(pa.large_binary()) for column in (heads, *texts)]
    rows = pc.binary_join_element_wise(*whole, _NOTHING)
    _, offsets, joined = rows.buffers()
    ends, each = np.frombuffer(offsets, "<i8", len(ids) + 1, 8 * rows.offset).tolist(), joined.to_pybytes()
    digests = b"".join([
        blake2b(each[start:end], digest_size=_BYTES).digest() for start, end in pairwise(ends)
    ])
    return pa.FixedSizeBinaryArray.from_buffers(SHOWN_HASH, len(ids), [None, pa.py_buffer(digests)])


def in_digits(hashes: pa.FixedSizeBinaryArray) -> list[str]:
    """Hashes as hexadecimal digits."""
    return [one.hex() for one in hashes.to_pylist()]
