"""Checks the rows of a source and brings them into the form they are frozen in; bad rows are an error.

score and probability    each a finite number, not too large; a probability within [0, 1]. Where only one is
                         given the other follows from it: score = logit(probability), clipped at 1e-12;
                         probability = expit(score - threshold)
prediction               a class name, 0/1 or a boolean; or score > threshold, probability >= threshold
segments, shown fields   text; a missing value is the empty text
features                 each a finite number, not too large
further systems          as `prediction`
shown_hash               of the item's id and what people will see of it, so that a source which changed after
                         the freeze cannot put another question under an old id

Messages count rows from 1; the header of a CSV file is not a row.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.special import expit, logit

from assay.evalcore.errors import BadInput
from assay.evalcore.types import Bools, Floats
from assay.tasks.ledger.manifest import schema
from assay.tasks.sources.reader import SourceBatch
from assay.tasks.sources.values import Kind, as_numbers, as_text, kind
from assay.tasks.spec.evaluation import Spec

MOST_LISTED = 5
_SURE = 1e-12                       # logit is cut off here: 0 and 1 are finite scores, about -27.6 and 27.6
_LARGEST = 1e100                    # sums and squares of scores stay finite
_LONGEST = 1000                     # characters of an id or of a segment's value
_ONE, _ZERO = ("1", "1.0", "true"), ("0", "0.0", "false")


class RowChecker:
    """Turns the batches of a source into frozen rows, all of them or an error."""

    def __init__(self, spec: Spec, paths: Sequence[str]) -> None:
        """`paths`: the source's files, to be named in errors."""
        pool = spec.pool
        self._pool, self._labels, self._paths = pool, spec.labels, paths
        self._schema = schema(pool.segments, pool.features, pool.systems)
        self._systems = [system.prediction for system in (pool.systems or {}).values()]
        self._codes = _class_codes(spec.labels.positive, spec.labels.negative)
        self._kinds: dict[str, tuple[Kind, str]] = {}
        named = (*pool.segments, *(pool.features or ()), *self._systems, *pool.display)
        roles = [pool.id, pool.score, pool.probability, pool.prediction, *named]
        self.columns: list[str] = list(dict.fromkeys(name for name in roles if name is not None))

    def check(self, batch: SourceBatch) -> pa.RecordBatch:
        """The batch as frozen rows. Raises BadInput naming file, column and the first bad rows."""
        given = {name: batch.columns.column(i) for i, name in enumerate(self.columns)}
        pool, n = self._pool, batch.columns.num_rows
        ids = self._ids(batch, given[pool.id])
        score, probability = self._scores(batch, given)
        if pool.threshold is None:
            prediction = self._predictions(batch, str(pool.prediction), given)
        else:
            above = score > pool.threshold if pool.score else probability >= pool.threshold
            prediction = above.astype(np.int8)
        segments = [self._short(batch, name, self._text(batch, name, given).fill_null(""))
                    for name in pool.segments]
        shown = [self._text(batch, name, given).fill_null("") for name in pool.display]
        arrays = [
            ids,
            pa.array(score, pa.float64()),
            pa.array(probability, pa.float64()),
            pa.array(prediction, pa.int8()),
            *segments,
            *(pa.array(self._numbers(batch, name, given), pa.float64()) for name in pool.features or ()),
            *(pa.array(self._predictions(batch, name, given), pa.int8()) for name in self._systems),
            pa.array(np.full(n, batch.file), pa.int32()),
            pa.array(np.arange(batch.first_row, batch.first_row + n), pa.int64()),
            pa.array(shown_hashes(ids, shown), pa.string()) if shown else pa.nulls(n, pa.string()),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _ids(self, batch: SourceBatch, values: pa.Array) -> pa.StringArray:
        self._one_kind(batch, self._pool.id, values)
        text = self._text(batch, self._pool.id, {self._pool.id: values})
        missing = np.asarray(pc.equal(text.fill_null(""), ""))
        self._refuse(batch, self._pool.id, text, missing, "have no id",
                     "every item needs one of its own; number the rows, or drop these")
        return self._short(batch, self._pool.id, text)

    def _short(self, batch: SourceBatch, name: str, text: pa.StringArray) -> pa.StringArray:
        """Ids and segments are kept for all rows, so they must be short."""
        long = np.asarray(pc.greater(pc.utf8_length(text), _LONGEST))
        self._refuse(batch, name, text, long, f"are longer than {_LONGEST:,} characters",
                     "ids and segments are names: shorten these, or name another column")
        return text

    def _scores(self, batch: SourceBatch, given: dict[str, pa.Array]) -> tuple[Floats, Floats]:
        """Score and probability; the spec names one of them at least."""
        pool = self._pool
        if pool.score is None:
            probability = self._numbers(batch, str(pool.probability), given)
            return logit(np.clip(probability, _SURE, 1 - _SURE)), probability
        score = self._numbers(batch, pool.score, given)
        if pool.probability is None:
            return score, expit(score - (pool.threshold or 0.0))
        return score, self._numbers(batch, pool.probability, given)

    def _numbers(self, batch: SourceBatch, name: str, given: dict[str, pa.Array]) -> Floats:
        values = given[name]
        found = self._one_kind(batch, name, values)
        if found in ("boolean", "other"):
            raise BadInput(
                f"{self._paths[batch.file]}: column {name!r} holds {values.type} values, not numbers; "
                "name another column, or convert it"
            )
        numbers, good = as_numbers(values)
        bad = ~good | ~np.isfinite(numbers)
        self._refuse(batch, name, values, bad, "are not finite numbers",
                     "give these rows a number, or drop them from the pool")
        self._refuse(batch, name, values, np.abs(numbers) > _LARGEST, f"are beyond ±{_LARGEST:g}",
                     "such a number stands for a missing score: drop these rows, or give them a real one")
        if name == self._pool.probability:
            self._refuse(batch, name, values, (numbers < 0) | (numbers > 1), "are not within [0, 1]",
                         "a probability is; if this is a score, name it under `score` instead")
        return numbers

    def _predictions(
        self, batch: SourceBatch, name: str, given: dict[str, pa.Array]
    ) -> NDArray[np.int8]:
        self._one_kind(batch, name, given[name])
        text = self._text(batch, name, given)
        encoded = text.dictionary_encode()                     # few distinct values: look each up once
        codes = np.array([self._code(value) for value in encoded.dictionary.to_pylist()] or [-1], np.int8)
        result: NDArray[np.int8] = codes[np.asarray(encoded.indices.fill_null(0))]
        result[np.asarray(text.is_null())] = -1
        self._refuse(batch, name, text, result < 0,
                     f"are neither {self._labels.positive!r} nor {self._labels.negative!r}",
                     "a prediction is a class name as under `labels`, 0/1 or true/false; correct either")
        return result

    def _code(self, value: str) -> int:
        if value not in self._codes and value.casefold() in (*_ONE, *_ZERO):
            value = value.casefold()
        return self._codes.get(value, -1)

    def _text(self, batch: SourceBatch, name: str, given: dict[str, pa.Array]) -> pa.StringArray:
        try:
            return as_text(given[name])
        except BadInput as error:
            raise BadInput(f"{self._paths[batch.file]}: column {name!r} {error}") from None

    def _one_kind(self, batch: SourceBatch, name: str, values: pa.Array) -> Kind:
        """The kind of a column's values. Raises BadInput where it differs from the rows before."""
        found, path = kind(values.type), self._paths[batch.file]
        if found != "nothing":
            first, where = self._kinds.setdefault(name, (found, path))
            if first != found:
                raise BadInput(
                    f"{path}: column {name!r} holds {found} values from row {batch.first_row + 1} on, but "
                    f"{first} values before ({where}); write the column with one type throughout"
                )
        return found

    def _refuse(
        self, batch: SourceBatch, name: str, values: pa.Array, bad: Bools, what: str, remedy: str
    ) -> None:
        if not bad.any():
            return
        places = np.flatnonzero(bad)
        listed = [
            f"row {batch.first_row + place + 1}: {_said(values[place].as_py())}"
            for place in places[:MOST_LISTED].tolist()
        ]
        more = f" and {len(places) - len(listed)} more at least" if len(places) > len(listed) else ""
        raise BadInput(
            f"{self._paths[batch.file]}: column {name!r}: values {what}: {'; '.join(listed)}{more}; {remedy}"
        )


def shown_hashes(ids: pa.StringArray, shown: Iterable[pa.StringArray]) -> list[str]:
    """For each row, a 128-bit hash (hex) of its id and shown texts in the order of the spec."""
    rows = zip(ids.to_pylist(), *(column.to_pylist() for column in shown), strict=True)
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    return [hashlib.blake2b(encode(row).encode(), digest_size=16).hexdigest() for row in rows]


def _class_codes(positive: str, negative: str) -> dict[str, int]:
    """What a prediction may say, and what it means.

    Class names mean themselves. 0/1 and false/true mean negative and positive, unless a class is named so:
    then the other spellings of that name mean that class (a class "1" is also 1.0 and true).
    """
    codes: dict[str, int] = {}
    for name, code in ((positive, 1), (negative, 0)):
        for family in (_ONE, _ZERO):
            if name.casefold() in family:
                codes |= {spelling: code for spelling in family if spelling not in codes}
    if not codes:
        codes = dict.fromkeys(_ONE, 1) | dict.fromkeys(_ZERO, 0)
    return codes | {positive: 1, negative: 0}


def _said(value: object) -> str:
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
