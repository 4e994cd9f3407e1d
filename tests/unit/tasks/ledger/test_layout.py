"""Keys: what is spelled is read back, and nothing else is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.evalcore.errors import BadInput
from assay.tasks.ledger import layout
from assay.tasks.ledger.layout import RESERVED

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,30}", fullmatch=True).filter(
    lambda name: name not in RESERVED
)
MONITORS = NAMES.map(layout.monitor_ledger)
NUMBERS = st.integers(0, 10**7)
FIELDS = {
    "evaluation": NAMES, "monitor": MONITORS, "owner": NAMES | MONITORS, "window": NAMES,
    "alert": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}", fullmatch=True),
    "channel": st.from_regex(r"[a-z0-9][a-z0-9-]{0,30}", fullmatch=True),
    "round": NUMBERS, "revision": NUMBERS, "attempt": NUMBERS, "part": NUMBERS, "opening": NUMBERS,
    "verdict": NUMBERS, "asking": NUMBERS, "annotators": NUMBERS, "telling": NUMBERS,
    "version": NUMBERS, "state": NUMBERS, "mute": NUMBERS, "response": NUMBERS, "claim": NUMBERS,
    "shard": NUMBERS,
    "extension": NUMBERS, "run": NUMBERS, "file": NUMBERS, "entry": NUMBERS,
    "month": st.from_regex(r"[0-9]{4}-[0-9]{2}", fullmatch=True),
    "desk": st.from_regex(r"[a-z][a-z-]{0,30}", fullmatch=True),
}


def a_digest(kind):
    """Digits of a digest, as many as the kind of key shows."""
    shown = next((n for n in (16, 32) if f"{{digest:.{n}}}" in kind.template), 64)
    return st.from_regex(rf"[0-9a-f]{{{shown}}}", fullmatch=True)


KEYS = st.sampled_from(layout.KINDS).flatmap(lambda kind: st.tuples(
    st.just(kind),
    st.tuples(*(a_digest(kind) if field == "digest" else FIELDS[field] for field in kind.fields)),
))


@given(KEYS)
def test_every_key_that_is_spelled_is_read_back_as_what_it_is(spelled):
    kind, values = spelled
    key = kind(*values)
    assert kind.match(key) == values
    assert layout.parse_key(key) == layout.Key(kind, values)


@given(KEYS, st.data())
def test_a_key_is_of_one_kind_only_and_a_changed_one_is_never_misread(spelled, data):
    kind, values = spelled
    key = kind(*values)
    assert [other for other in layout.KINDS if other.match(key)] == [kind]
    at = data.draw(st.integers(0, len(key) - 1))
    changed = key[:at] + data.draw(st.sampled_from(["", "/", "0", "x", ".", "é", "+"])) + key[at + 1 :]
    read = layout.parse_key(changed)
    assert read is None or read.kind(*read.values) == changed


@given(st.text(max_size=60))
def test_other_text_is_no_key(text):
    read = layout.parse_key(text)
    assert read is None or read.kind(*read.values) == text


@pytest.mark.parametrize("key", [
    "spam/rounds/001/plan.parquet", "spam/rounds/00001/plan.parquet", "spam/rounds/0001/plan.json",
    "spam/rounds/0001/posts/1.json", "spam/pool/part-00000.arrow", "monitors/spec.json", "index/spec.json",
    "monitors/a/rounds/0001/plan.parquet", "desks/caller/e/0001/01/told/000001.json",
    "desks/caller/desks/0001/1/told/000001.json", "desks/caller/e/0001/1/told/1.json",
    "spam/rounds/٠٠٠١/plan.parquet", "index/open/index", "",
])
def test_what_is_almost_a_key_is_none(key):
    assert layout.parse_key(key) is None


def test_a_key_says_its_round_and_its_revision():
    assert layout.parse_key(layout.annotation("spam", 3, "0" * 64)).round == 3
    assert layout.parse_key(layout.revision_seal("spam", 2)).revision == 2
    assert layout.parse_key(layout.spec("spam")).round is None


def test_digests_are_cut_where_a_key_shows_only_their_beginning():
    digest = layout.digest(b"rows")
    key = layout.pool_part("spam", 0, digest)
    assert key == f"spam/pool/part-00000-{digest[:16]}.arrow"
    assert layout.pool_part.match(key) == ("spam", 0, digest[:16])


def test_rounds_sort_as_text():
    keys = [layout.plan("spam", number) for number in (1, 2, 10, 999, 9999)]
    assert sorted(keys) == keys


@pytest.mark.parametrize("name", ["", "index", "monitors", "desks", "a/b", "-a", ".", "a b", "a" * 101, "ü"])
def test_what_cannot_name_an_evaluation_is_refused(name):
    with pytest.raises(BadInput, match="cannot be the name"):
        layout.check_name(name)
