"""The hash of an id depends on its text alone: not on the batch, the process or the machine."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.pool.duplicate_ids import buckets, id_hashes


def by_hand(text: str) -> int:
    """The definition, one text at a time, in whole numbers."""
    mask, step = (1 << 64) - 1, 0x9E3779B97F4A7C15

    def mixed(h: int) -> int:
        h = ((h ^ h >> 30) * 0xBF58476D1CE4E5B9) & mask
        h = ((h ^ h >> 27) * 0x94D049BB133111EB) & mask
        return h ^ h >> 31

    raw = text.encode()
    h = len(raw) * step & mask
    for i in range(0, len(raw), 8):
        h = mixed((h ^ int.from_bytes(raw[i : i + 8], "little")) + step & mask)
    h = mixed(h)
    return h - (1 << 64) if h >> 63 else h


@given(st.lists(st.text(max_size=30), max_size=5), st.integers(0, 5))
def test_each_text_has_the_hash_of_its_definition(texts, start):
    ids = pa.array(texts, pa.string())
    assert id_hashes(ids).tolist() == [by_hand(text) for text in texts]
    assert id_hashes(ids.slice(start)).tolist() == [by_hand(text) for text in texts[start:]]
    assert id_hashes(pa.chunked_array([ids, ids])).tolist() == 2 * [by_hand(text) for text in texts]


def test_different_ids_have_different_hashes_spread_over_all_buckets():
    ids = [f"item-{i:07d}" for i in range(20_000)] + [str(i) for i in range(20_000)]
    hashes = id_hashes(pa.array(ids))
    # 40,000 random hashes of 64 bits: two are equal with probability 4e-11
    assert len(np.unique(hashes)) == 40_000
    # binomial(40,000, 1/256): mean 156, standard deviation 12.5; six of them in 256 buckets: 5e-7
    hashes.view(np.uint64).sort()
    sizes = buckets(np.sort(hashes.view(np.uint64)).view(np.int64))
    assert sum(sizes) == 40_000
    assert 156 - 75 < min(sizes) <= max(sizes) < 156 + 75
