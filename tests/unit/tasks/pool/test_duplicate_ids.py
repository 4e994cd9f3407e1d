"""The hash of an id depends on its text alone: not on the batch, the process or the machine."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.pool import duplicate_ids
from assay.tasks.pool.duplicate_ids import SeenIds, id_hashes


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
    seen = SeenIds()
    seen.add(pa.array(ids))
    ordered, sizes = seen.in_buckets()
    assert sorted(ordered.tolist()) == sorted(hashes.tolist())
    assert (np.diff((ordered.view(np.uint64) >> np.uint64(56)).astype(int)) >= 0).all()
    assert sum(sizes) == 40_000
    assert 156 - 75 < min(sizes) <= max(sizes) < 156 + 75


@pytest.mark.parametrize("rows", [0, 1, 300, 70_000])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_what_is_there_more_than_once_is_suspected_wherever_it_stands(rows, copies):
    seen, rng = SeenIds(), np.random.default_rng(rows + copies)
    ids = [*map(str, range(rows)), *["twice", "often", "often"] * copies, "", "twice", ""]
    rng.shuffle(ids)
    seen.add(pa.array(ids))
    more_than_once = ["", "often", "twice"]
    assert seen.suspects().tolist() == sorted(by_hand(text) for text in more_than_once)
    seen.add(pa.array([*map(str, range(rows))] * 2, pa.string()))
    assert len(seen.suspects()) == rows


@given(st.lists(st.integers(-3, 3), max_size=50), st.integers(0, 60))
def test_hashes_that_share_all_bits_of_their_slots_are_told_apart(values, shift):
    hashes = np.array([value << shift & (1 << 63) - 1 for value in values] * 2 + [5], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicate_ids, "_FEW_HASHES", 0)
        repeated = duplicate_ids._repeated(hashes)
    found, counts = np.unique(hashes, return_counts=True)
    assert np.unique(repeated).tolist() == found[counts > 1].tolist()
