"""Texts are read as numbers by Arrow's own rules, whole columns at once."""

import random

import pyarrow as pa

from assay.tasks.sources.values import as_numbers


def _alone(text):
    try:
        return pa.scalar(text).cast(pa.float64()).as_py()
    except pa.ArrowInvalid:
        return None


def test_a_column_with_words_in_it_holds_the_numbers_that_arrow_reads_one_by_one():
    rng = random.Random(5)
    texts = ["1", "1.", ".5", "+2", "-inf", "NaN(1)", "nan()", "1e999", "1_000", "12 apples", "", "."]
    texts += ["1e", "\u0661"]
    texts += ["".join(rng.choices("0123456789.-+eE", k=rng.randint(1, 6))) for _ in range(3000)]
    texts += ["".join(rng.choices("01.-+einfaty()N", k=rng.randint(2, 5))) for _ in range(3000)]
    numbers, good = as_numbers(pa.array([*texts, None]))
    alone = [*map(_alone, texts), None]
    every = [*texts, None]
    for text, number, read, expected in zip(every, numbers.tolist(), good.tolist(), alone, strict=True):
        assert read == (expected is not None), text
        assert expected is None or number == expected or expected != expected, text
