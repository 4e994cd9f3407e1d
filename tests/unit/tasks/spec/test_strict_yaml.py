"""YAML as people mean it, and files that would cost much time or memory refused with one clear error."""

import math
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.evalcore.errors import BadInput
from assay.tasks.spec.strict_yaml import parse_yaml, read_yaml

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)
MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("true", True), ("FALSE", False),
        ("2026-11-20", "2026-11-20"), ("12:30:45", "12:30:45"), ("1_000", "1_000"), ("0x1F", "0x1F"),
        ("0b11", "0b11"), ("0o10", "0o10"), ("010", 10), ("+1", 1), ("1e-3", 0.001), (".5", 0.5), ("5.", 5.0),
        ("-.inf", -math.inf), ("~", None), ("", None), ("null", None), ("'1'", "1"), ("=", "="), ("<<", "<<"),
    ],
)  # fmt: skip
def test_plain_values_are_those_of_the_core_schema(text, value):
    got = parse_yaml(f"a: {text}\n", "a.yaml")["a"]
    assert (type(got), got) == (type(value), value)


def test_an_alias_stands_for_what_it_names_and_nothing_is_merged():
    assert parse_yaml("a: &x [1]\nb: *x\n", "a.yaml") == {"a": [1], "b": [1]}
    assert parse_yaml("a: &x {k: 1}\nb: {<<: *x}\n", "a.yaml") == {"a": {"k": 1}, "b": {"<<": {"k": 1}}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: {c: 1, c: 2}", "line 2, column 11: not valid YAML: the key 'c' is written twice"),
        ("a:\n  yes: 1\n  true: 1", "line 3, column 3: not valid YAML: the key True is not text"),
        ("? [1]\n: 2", "the key [1] is not text"),
        ("a: !!str 5", "line 1, column 4: not valid YAML: the tag 'tag:yaml.org,2002:str' is not allowed"),
        ("%YAML 1.1\n---\na: !!bool x", "line 3, column 4: not valid YAML: the tag"),
        ("a: !mine {}", "the tag '!mine' is not allowed"),
        ("a: &x [*x]", "line 1, column 8: not valid YAML: a value that contains itself"),
        ("--- a\n--- b", "line 2"),
        ("a: *x", "line 1, column 4: not valid YAML: found undefined alias 'x'"),
        ("a: " + "9" * 5000, "line 1, column 4: not valid YAML: a number of 5000 characters"),
        ("a: \x00", "special characters are not allowed"),
    ],
)
def test_what_is_refused_is_named_with_its_line(text, said):
    with pytest.raises(BadInput) as caught:
        parse_yaml(text, "a.yaml")
    assert str(caught.value).startswith("a.yaml")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, "line 5, column 10: not valid YAML: more than 10,000 values"),
        (LAUGHS + "name: *a9\n", "more than 10,000 values"),
        (MERGES, "more than 10,000 values"),
        ("a: {" + ", ".join(f"k{i}: 1" for i in range(50_000)) + "}", "more than 10,000 values"),
        ("a: " + "[" * 20_000, "line 1, column 53: not valid YAML: nested deeper than 50 levels"),
        ("a: " + "[" * 20_000 + "]" * 20_000, "nested deeper than 50 levels"),
        ("a: " + "{a: " * 20_000 + "}" * 20_000, "nested deeper than 50 levels"),
        ("- " * 20_000 + "a", "nested deeper than 50 levels"),
        ("? " * 20_000 + "a", "nested deeper than 50 levels"),
        ("\n".join(" " * i + "a:" for i in range(1000)), "line 50, column 50: not valid YAML: nested deeper"),
        ("a: " + "x" * 2_000_000, "longer than 1,000,000 characters"),
    ],
)
def test_a_file_that_would_grow_without_end_is_refused_at_once(text, said):
    started = time.process_time()
    with pytest.raises(BadInput) as caught:
        parse_yaml(text, "a.yaml")
    assert said in str(caught.value)
    assert len(str(caught.value)) < 200
    assert time.process_time() - started < 10      # half a second here, and hours without the limits


def test_a_file_of_any_size_costs_the_memory_of_the_longest_that_is_read(tmp_path):
    path = tmp_path / "a.yaml"
    with path.open("wb") as file:
        file.seek(1 << 33)          # 8 GiB of zeros, sparse
        file.write(b"x")
    with pytest.raises(BadInput, match="longer than 1,000,000 characters"):
        read_yaml(path)


@given(st.text(st.sampled_from("ab01.:-,?&*!|>'\"%@`#{}[]~<= \n\t\\eé\ud7ff\ufeff"), max_size=60))
def test_any_text_is_read_or_refused(text):
    with suppress(BadInput):
        parse_yaml(text, "a.yaml")


@pytest.mark.parametrize("text", [
    # short files that stand for a gigabyte of text
    "a: &a " + "x" * 100_000 + "\nb: [" + ", ".join(["*a"] * 9_000) + "]\n",
    "? [&a " + "x" * 100_000 + ", " + ", ".join(["*a"] * 9_000) + "]\n: 1\n",
])
def test_aliases_cannot_make_a_gigabyte_of_text_of_a_short_file(text):
    with pytest.raises(BadInput, match=r"more than 1,000,000 characters of text") as caught:
        parse_yaml(text, "a.yaml")
    assert len(str(caught.value)) < 300


def test_a_very_long_key_is_not_repeated_in_full():
    key = "[" + ", ".join(["x" * 200] * 4_000) + "]"
    with pytest.raises(BadInput, match="is not text") as caught:
        parse_yaml(f"? {key}\n: 1\n", "a.yaml")
    assert len(str(caught.value)) < 300
