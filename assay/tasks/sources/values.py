"""The value of a cell, the same whichever format the file has.

    text     an integer is its digits, a float its shortest exact form, a boolean true or false, a list or
             mapping its JSON with sorted keys; a missing value stays missing
    number   64-bit floating point; text is parsed, and what does not parse is not a number

So 17 is the id "17" in Parquet, CSV and JSONL alike, and the frozen pool does not depend on the format.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.class_names import ClassReader
from assay.evalcore.types import Bools, Floats
from assay.tasks.arrow import column_of, mask_of, missing_of, numbers_of, texts_of

# what programs write where there is no value; whoever names a class so means the class
NO_VALUE = frozenset((
    "", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "na", "nan", "null",
    "-", "--", "\u2013", "\u2014", "?", ".", "\\N", "NaT", "N.A.", "n.a.", "nil", "undefined", "(null)",
    "<null>", "[null]", "(blank)", "(empty)", "#NV", "#N/D", "#NULL!", "#REF!", "#VALUE!", "#NUM!", "#NAME?",
    "#DIV/0!",
))

Kind = Literal["text", "number", "boolean", "other", "nothing"]


def kind(type: pa.DataType) -> Kind:
    """The kind of values a column holds; "nothing" when all are missing."""
    if pa.types.is_dictionary(type):
        return kind(type.value_type)
    if pa.types.is_null(type):
        return "nothing"
    if pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return "text"
    if are_bytes(type):
        return "text"        # if it is UTF-8; else reading it as text is an error
    if pa.types.is_boolean(type):
        return "boolean"
    if pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type):
        return "number"
    return "other"


def none_beside(classes: Iterable[str], labels: Collection[str] = ()) -> frozenset[str]:
    """The words for no value, without those that are read as one of these classes: where `none` is a class,
    `None` is that class too, as the reader of classes has it. A `-` among `labels` that have a `+` is a class
    as well. Compare them with texts without white space at the ends."""
    reader = ClassReader((*classes, "-") if "+" in labels else tuple(classes))
    return frozenset(word for word in NO_VALUE if reader.read(word) is None)


def without_value(values: pa.StringArray, classes: Iterable[str] = ()) -> pa.BooleanArray:
    """Which texts are missing, blank, or a word for no value that is read as none of these classes."""
    words = pc.is_in(pc.utf8_trim_whitespace(values), value_set=texts_of(sorted(none_beside(classes))))
    return pc.or_(pc.is_null(values), words)


def words_for_none(values: pa.StringArray, classes: Iterable[str] = ()) -> dict[str, int]:
    """How many rows hold each word that `without_value` takes for no value, such as `n/a` and `-`; blank and
    missing texts are no words."""
    trimmed = pc.utf8_trim_whitespace(values.filter(without_value(values, classes))).drop_null()
    counts = Counter(trimmed.to_pylist())
    return {word: n for word, n in sorted(counts.items()) if word}


def as_text(values: pa.Array) -> pa.StringArray:
    """Every value as text, missing ones missing; bytes that are UTF-8 are text, as older writers of Parquet
    store it. Raises BadInput for other bytes."""
    type = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if are_bytes(type):
        return _decoded(values)
    if pa.types.is_floating(type):
        return _float_texts(values.cast(type))
    if pa.types.is_nested(type):
        return pa.array([None if v is None else _json(v) for v in values.to_pylist()], pa.string())
    try:
        text = values.cast(pa.string())
        text.validate(full=True)
    except pa.ArrowNotImplementedError:
        raise BadInput(f"holds values of type {type}, which have no text; store text instead") from None
    except pa.ArrowInvalid:
        raise BadInput("holds text that is not UTF-8; write the file as UTF-8") from None
    return text


def named_text(path: str, column: str, values: pa.Array) -> pa.StringArray:
    """A column as text. Raises BadInput that names file and column where it cannot be read so."""
    try:
        return as_text(values)
    except BadInput as error:
        raise BadInput(f"{path}: column {column!r} {error}") from None


def named_numbers(path: str, column: str, values: pa.Array) -> tuple[Floats, Bools]:
    """A column as `as_numbers` reads it. Raises BadInput that names file and column where it holds lists,
    times and the like."""
    if kind(values.type) == "other":
        raise BadInput(f"{path}: column {column!r} holds {values.type} values, not numbers; name another "
                       "column, or convert it")
    return as_numbers(values)


def are_bytes(type: pa.DataType) -> bool:
    """Whether values of this Arrow type are bytes and not text; of a dictionary, whether those it stands for
    are."""
    if pa.types.is_dictionary(type):
        return are_bytes(type.value_type)
    fixed = pa.types.is_fixed_size_binary(type) or type == pa.binary_view()
    return bool(fixed or pa.types.is_binary(type) or pa.types.is_large_binary(type))


def _decoded(values: pa.Array) -> pa.StringArray:
    refused = BadInput("holds bytes, which cannot be shown or compared; store text or a URL instead")
    try:
        plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
        text = plain.cast(pa.binary()).cast(pa.string())
        text.validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise refused from None
    if pc.any(pc.match_substring_regex(text, "[\\x00-\\x08]")).as_py():
        raise refused
    return text


def as_numbers(values: pa.Array) -> tuple[Floats, Bools]:
    """(n,) numbers, and (n,) whether each is a number; missing and unreadable values are NaN and False."""
    if kind(values.type) == "nothing":
        return np.full(len(values), np.nan), np.zeros(len(values), np.bool_)
    if are_bytes(values.type):
        values = _decoded(values)
    if kind(values.type) == "text":
        values = _parsed(values)
    numbers = values.cast(pa.float64(), safe=False)
    good = ~missing_of(numbers)
    return numbers_of(numbers if good.all() else numbers.fill_null(_NAN)), good


def of_python(values: Sequence[object]) -> pa.Array:
    """A column of parsed JSON values; mixed kinds become text. Raises ValueError for bad text."""
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {str} or kinds == {bool}:
        return pa.array(values, None if kinds else pa.null())
    if kinds == {int}:
        try:
            return pa.array(values, pa.int64())
        except (OverflowError, pa.ArrowInvalid):
            pass
    elif kinds <= {int, float}:
        try:
            return pa.array([None if v is None else float(cast(float, v)) for v in values], pa.float64())
        except OverflowError:
            pass
    return pa.array([None if v is None else _scalar_text(v) for v in values], pa.string())


def _scalar_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return _json(value) if isinstance(value, bool | dict | list) else str(value)


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


# exponents of ten from which, and to which, one is to be taken away
_LARGE, _HUGE, _SMALLEST_POINT = 10, 16, 1e-4
_ZEROS = (4, 5)                           # behind the point, where Arrow writes them and Python an exponent
(_NAN,) = column_of(np.array([np.nan]), pa.float64())
_EMPTY, _MINUS, _POINT, _ONE_DIGIT, _MISSING = texts_of(["", "-", ".", ".0", None])


def _float_texts(values: pa.FloatingPointArray) -> pa.StringArray:
    """A column of floats as text; NaN is missing, as pandas writes it. 32 bits have the digits they need.

    Numbers as `repr` of Python writes them: the shortest digits that give the number again, with a decimal
    point, or with an exponent below 1e-4 and from 1e16 on. Arrow finds the same digits, but writes 17 without
    a point, 1e-7 with one digit less, and an exponent below 1e-6 and from 1e10 on. Those are put right, each
    kind in all its rows at once.
    """
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    numbers = numbers_of(values.fill_null(_NAN.cast(values.type)) if values.null_count else values)
    missing = np.isnan(numbers)
    texts = values.cast(pa.string())
    size = np.abs(numbers)
    with np.errstate(invalid="ignore"):       # of what is not a number
        is_whole = (size < 10.0**_LARGE) & (numbers == np.floor(numbers))
    large = (size >= 10.0**_LARGE) & (size < 10.0**_HUGE)
    small = (size > 0) & (size < _SMALLEST_POINT)
    if is_whole.any():
        texts = _put(texts, is_whole, _joined(texts.filter(mask_of(is_whole)), _ONE_DIGIT))
    if large.any():
        texts = _put(texts, large, _without_exponent(texts.filter(mask_of(large))))
    if small.any():
        texts = _put(texts, small, _with_exponent(texts.filter(mask_of(small))))
    return pc.if_else(mask_of(missing), _MISSING, texts) if missing.any() else texts


def _without_exponent(texts: pa.StringArray) -> pa.StringArray:
    """1.5e+10 as 15000000000.0."""
    for exponent in range(_LARGE, _HUGE):
        mask = pc.ends_with(texts, f"e+{exponent}")
        if not mask.true_count:
            continue
        digits = pc.replace_substring_regex(texts.filter(mask), r"\.|e\+[0-9]+$", "")
        signed = pc.starts_with(digits, "-")
        digits = pc.utf8_rpad(pc.utf8_ltrim(digits, "-"), exponent + 2, "0")
        front, tail = (pc.utf8_slice_codeunits(digits, *cut) for cut in ((0, exponent + 1), (exponent + 1,)))
        sign = pc.if_else(signed, _MINUS, _EMPTY)
        texts = pc.replace_with_mask(texts, mask, _joined(sign, front, _POINT, tail))
    return texts


def _with_exponent(texts: pa.StringArray) -> pa.StringArray:
    """0.000015 as 1.5e-05, and 1.5e-7 as 1.5e-07."""
    for zeros in _ZEROS:
        digits = rf"^(-?)0\.0{{{zeros}}}([1-9])([0-9]*)$"
        texts = pc.replace_substring_regex(texts, digits, rf"\1\2.\3e-0{zeros + 1}")
    texts = pc.replace_substring(texts, ".e-", "e-")
    return pc.replace_substring_regex(texts, r"e-([0-9])$", r"e-0\1")


def _joined(*texts: pa.StringArray | pa.StringScalar) -> pa.StringArray:
    return pc.binary_join_element_wise(*texts, _EMPTY)


def _put(texts: pa.StringArray, mask: Bools, those: pa.StringArray) -> pa.StringArray:
    return pc.replace_with_mask(texts, mask_of(mask), those)


# What Arrow reads as a number; not float(), which takes 1_000.
_NUMBER = r"(?i)^[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?|nan(\([a-z0-9_]*\))?|inf|infinity)$"


def _parsed(text: pa.Array) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(text.cast(pa.string()))
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        return pc.if_else(pc.match_substring_regex(trimmed, _NUMBER), trimmed, _MISSING).cast(pa.float64())
