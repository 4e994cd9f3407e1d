"""Checks the rows of a source and brings them into the form they are frozen in; bad rows are an error.

predictions              as the kind of labels needs them: `tasks.pool.predictions`
segments, shown fields   text; a missing value is the empty text
features                 each a finite number, not too large

Messages count rows from 1; the header of a CSV file is not a row.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.contenders import code_of
from assay.evalcore.types import Array, Bools, Floats, Ints
from assay.tasks.arrow import column_of, filled, lengths_of, missing_of, numbers_of
from assay.tasks.ledger.manifest import CLUSTER, CONTENDER, FEATURE, RANK, SHOWN, STRATUM, WEIGHT
from assay.tasks.pool.cut import prediction_kind
from assay.tasks.pool.kind import Predictions
from assay.tasks.sources.jsonl_rows import NO_NAMES
from assay.tasks.sources.reader import SourceBatch
from assay.tasks.sources.values import Kind, kind, named_numbers, named_text, without_value
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.pool import Contenders


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnKind:
    """What a column of a source holds from some row on, such as numbers or text, with the file and the row
    where that was first seen."""

    column: str
    kind: Kind
    file: int    # index into the source's files
    row: int     # in that file, from 0


class ColumnKinds:
    """The kind of each column, as the first rows with a value have it."""

    def __init__(self, paths: Sequence[str]) -> None:
        """`paths`: the source's files, to be named in errors."""
        self._paths = paths
        self._first: dict[str, ColumnKind] = {}
        self._refused: list[ColumnKind] = []

    @property
    def found(self) -> tuple[ColumnKind, ...]:
        """One for each column that had a value, and the one that was refused."""
        return (*self._first.values(), *self._refused)

    def add(self, entry: ColumnKind) -> None:
        """Note what some rows hold. Raises BadInput where it differs from the rows before."""
        prior = self._first.setdefault(entry.column, entry)
        if prior.kind != entry.kind:
            self._refused.append(entry)
            raise BadInput(
                f"{self._paths[entry.file]}: column {entry.column!r} holds {entry.kind} values from row "
                f"{entry.row + 1} on, but {prior.kind} values before ({self._paths[prior.file]}); write the "
                "column with one type throughout"
            )


MOST_LISTED = 5   # rows that a message names
_LONGEST_CELL = 1000   # characters of an id or of a segment's value
_MOST_ESCAPED = 6                   # characters of JSON for a byte of text, at most
_LARGEST_SCORE = 1e100   # sums and squares of scores stay finite


class RowChecker:
    """Turns the batches of a source into frozen rows, all of them or an error."""

    def __init__(self, spec: Spec, paths: Sequence[str]) -> None:
        """`paths`: the source's files, to be named in errors."""
        pool = spec.pool
        self._pool, self._paths, self._desk = pool, paths, spec.desk
        self._show_check = spec.desk.show_check(spec.labelling)
        self._predictions = prediction_kind(spec)
        self._classes = () if spec.labels.outcome is None else spec.labels.outcome.parts
        fields = [pa.field(SHOWN + name, pa.string()) for name in pool.display]
        self._schema = pa.schema([*frozen_schema(spec), *fields])
        self.kinds = ColumnKinds(paths)
        self._clusters = [pool.cluster] if pool.cluster else []
        self._weights = [pool.weight] if pool.weight else []
        self._ranks = [pool.rank] if pool.rank else []
        self._strata = [pool.strata] if pool.strata else []
        self._features = [] if spec.judges is None else list(spec.judges.columns)
        roles = [pool.id, *self._predictions.source_columns, *pool.segments, *self._clusters, *self._weights,
                 *self._ranks, *self._strata, *(pool.contenders.columns if pool.contenders else ()),
                 *self._features, *pool.display]
        self.columns: list[str] = list(dict.fromkeys(roles))

    def check(self, batch: SourceBatch) -> pa.RecordBatch:
        """The batch as frozen rows, and behind their columns what people see of them.

        Raises BadInput naming file, column and the first bad rows.
        """
        columns = {name: batch.columns.column(i) for i, name in enumerate(self.columns)}
        pool, n = self._pool, batch.columns.num_rows
        ids = self._ids(batch, columns[pool.id])
        values = self._predictions.arrays(_Rows(self, batch, columns))
        segments = [self._short(batch, name, filled(self._text(batch, name, columns)))
                    for name in pool.segments]
        clusters = [self._named(batch, name, columns[name], "have no cluster",
                                "an item that comes alone is a cluster of its own: give it a name")
                    for name in self._clusters]
        weights = [column_of(self._weight(batch, name, columns), pa.float64()) for name in self._weights]
        weights += [column_of(self._rank(batch, name, columns), pa.float64()) for name in self._ranks]
        weights += [column_of(self._stratum(batch, name, columns), pa.float64()) for name in self._strata]
        if pool.contenders:
            weights += [column_of(self._contenders(batch, pool.contenders, columns), pa.float64())]
        features = [self._short(batch, name, filled(self._text(batch, name, columns)))
                    for name in self._features]
        shown = [filled(self._text(batch, name, columns)) for name in pool.display]
        self._fits_the_desk(batch, shown)
        n_fields = len(self._predictions.fields)
        typed = [
            column_of(column, type)
            for column, (_, type) in zip(
                values, [*self._predictions.fields, *self._predictions.cut_fields], strict=True
            )
        ]
        arrays = [
            ids,
            *typed[:n_fields],
            *segments,
            *typed[n_fields:],
            *clusters,
            *weights,
            *features,
            column_of(np.full(n, batch.file), pa.int32()),
            column_of(np.arange(batch.first_row, batch.first_row + n), pa.int64()),
            *shown,
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _stratum(self, batch: SourceBatch, name: str, columns: dict[str, pa.Array]) -> Floats:
        """A number for each name, the same in every part and on every machine."""
        text = self._named(batch, name, columns[name], "have no stratum",
                           "say where these rows were drawn from")
        coded = text.dictionary_encode()
        digests = [hashlib.sha256(stratum.encode()).digest() for stratum in coded.dictionary.to_pylist()]
        numbers = np.array([int.from_bytes(digest[:6], "big") for digest in digests], np.float64)
        return np.asarray(numbers[numbers_of(coded.indices)])

    def _ids(self, batch: SourceBatch, values: pa.Array) -> pa.StringArray:
        return self._named(batch, self._pool.id, values, "have no id",
                           "every item needs one of its own; number the rows, or drop these")

    def _named(
        self, batch: SourceBatch, name: str, values: pa.Array, what: str, remedy: str
    ) -> pa.StringArray:
        """A column of names, none of which may be missing."""
        self._one_kind(batch, name, values)
        text = self._text(batch, name, {name: values})
        if batch.columns.schema.field(self.columns.index(name)).metadata == NO_NAMES:
            no_names = pc.match_substring_regex(filled(text), r"^([\[{]|true$|false$)")
            self.refuse(batch, name, text, np.asarray(no_names), what.replace("have no", "are no"),
                        "objects, arrays, true and false name nothing: give these rows a name")
        self.refuse(batch, name, text, lengths_of(text) == 0, what, remedy)
        return self._short(batch, name, text)

    def _short(self, batch: SourceBatch, name: str, text: pa.StringArray) -> pa.StringArray:
        """Ids, segments and features are kept for all rows, so they must be short."""
        if lengths_of(text).max(initial=0) > _LONGEST_CELL:      # bytes: there may be fewer characters
            long = numbers_of(pc.utf8_length(filled(text))) > _LONGEST_CELL
            self.refuse(batch, name, text, long, f"are longer than {_LONGEST_CELL:,} characters",
                        "ids and segments are names: shorten these, or name another column")
        return text

    def _fits_the_desk(self, batch: SourceBatch, shown: Sequence[pa.StringArray]) -> None:
        """Whether the desk takes every item, whatever is drawn: better said now than when it is posted."""
        for name, column in zip(self._pool.display, shown, strict=True) if self._show_check else ():
            wrong = self._show_check and self._show_check.wrong(name, column)
            if wrong:
                bad, what, remedy = wrong
                self.refuse(batch, name, column, bad, what, remedy)
        limit = self._desk.most_shown_bytes
        if limit is None or not shown:
            return
        bytes_ = sum(lengths_of(column).astype(np.int64) for column in shown)
        large = np.zeros(len(shown[0]), bool)
        for row in np.flatnonzero(bytes_ * _MOST_ESCAPED > limit).tolist():
            large[row] = len(json.dumps([column[row].as_py() for column in shown])) > limit
        if not large.any():
            return
        longest = max(range(len(shown)), key=lambda i: pc.max(pc.binary_length(shown[i])).as_py())
        self.refuse(
            batch, self._pool.display[longest], shown[longest], large,
            f"are too large for desk.kind {self._desk.kind}: all fields of an item that people see may have "
            f"{limit:,} bytes",
            "show a shorter text, or the address of a picture instead of the picture itself",
        )

    def finite_numbers(self, batch: SourceBatch, name: str, columns: dict[str, pa.Array]) -> Floats:
        """A column (n,) of n finite numbers. Raises BadInput, which lists the rows, where values are no
        numbers, not finite, or so large that they stand for a missing one."""
        values = columns[name]
        value_kind = self._one_kind(batch, name, values)
        if value_kind == "boolean":
            raise BadInput(
                f"{self._paths[batch.file]}: column {name!r} holds {values.type} values, not numbers; "
                "name another column, or convert it"
            )
        numbers, good = named_numbers(self._paths[batch.file], name, values)
        size = np.abs(numbers)
        if not (good.all() and (size <= _LARGEST_SCORE).all()):
            self.refuse(batch, name, values, ~good | ~np.isfinite(numbers), "are not finite numbers",
                        "give these rows a number, or drop them from the pool")
            self.refuse(batch, name, values, size > _LARGEST_SCORE, f"are beyond ±{_LARGEST_SCORE:g}",
                        "such a number stands for a missing score: drop these rows, or give them a real one")
        return numbers

    def _weight(self, batch: SourceBatch, name: str, columns: dict[str, pa.Array]) -> Floats:
        """A column (n,) of weights, 0 or more. Raises BadInput."""
        weights = self.finite_numbers(batch, name, columns)
        self.refuse(batch, name, columns[name], weights < 0, "are below 0",
                    "a weight says what an item counts for: 0 or more; correct these rows, or drop them")
        return weights

    def _rank(self, batch: SourceBatch, name: str, columns: dict[str, pa.Array]) -> Floats:
        """A column (n,) of whole numbers from 1 on. Raises BadInput."""
        ranks = self.finite_numbers(batch, name, columns)
        self.refuse(batch, name, columns[name], (ranks < 1) | (ranks != np.floor(ranks)), "are no ranks",
                    "a rank is 1 for the first document of a query, then 2, 3 and so on; correct these rows")
        return ranks

    def _contenders(
        self, batch: SourceBatch, contenders: Contenders, columns: dict[str, pa.Array]
    ) -> Floats:
        """(n,) codes of the systems that rows are of. Raises BadInput."""
        sides: list[Ints] = []
        for name in contenders.columns:
            text = self._named(batch, name, columns[name], "name no system", "say whose answer it is")
            number = pc.index_in(text, value_set=pa.array(contenders.names))
            unknown = np.asarray(number.is_null())
            head = ", ".join(map(repr, contenders.names[:5])) + (", ..." if len(contenders.names) > 5 else "")
            self.refuse(batch, name, text, unknown, f"are none of the contenders ({head})",
                        "name it under pool.contenders, or drop these rows")
            sides.append(np.asarray(number.to_numpy(zero_copy_only=False), np.int64))
        if len(sides) > 1:
            name = contenders.columns[1]
            self.refuse(batch, name, columns[name], np.asarray(sides[0] == sides[1]),
                        "compare a system with itself", "drop these rows")
        return code_of(*sides)

    def codes(
        self, batch: SourceBatch, name: str, columns: dict[str, pa.Array], spelled: Predictions | None = None
    ) -> Array:
        """A column (n,) of class names or tags as codes; spelled: as these predictions have them, the pool's
        own unless said. Raises BadInput."""
        predictions = spelled or self._predictions
        values = columns[name]
        self._one_kind(batch, name, values)
        # few distinct values: each is made a text, and looked up, once
        encodable = not (pa.types.is_nested(values.type) or pa.types.is_null(values.type))
        encoded = (values if encodable else self._text(batch, name, columns)).dictionary_encode()
        texts = self._text(batch, name, {name: encoded.dictionary}).to_pylist()
        of_missing = predictions.missing_code
        codes = np.array([
            of_missing if text is None else predictions.code_of(text) for text in texts
        ] or [-1], np.int64)
        missing = missing_of(encoded.indices)
        indices = encoded.indices.fill_null(0) if missing.any() else encoded.indices
        result: Array = codes[numbers_of(indices)]
        result[missing] = of_missing
        if (result < 0).any():
            text = self._text(batch, name, columns)
            self.refuse(batch, name, text, result < 0, *predictions.no_class)
        return result

    def gaps(self, batch: SourceBatch, name: str, columns: dict[str, pa.Array]) -> Bools:
        """(n,) where a column has no value: nothing, blank, or a word for it such as n/a that names no class.
        """
        values = columns[name]
        if pa.types.is_nested(values.type):
            return missing_of(values)
        no_number = np.isnan(numbers_of(values.fill_null(0))) if pa.types.is_floating(values.type) else False
        text = self._text(batch, name, columns)
        return np.asarray(numbers_of(without_value(text, self._classes)) | no_number, np.bool_)

    def _text(self, batch: SourceBatch, name: str, columns: dict[str, pa.Array]) -> pa.StringArray:
        return named_text(self._paths[batch.file], name, columns[name])

    def _one_kind(self, batch: SourceBatch, name: str, values: pa.Array) -> Kind:
        """The kind of a column's values. Raises BadInput where it differs from the rows before."""
        value_kind = kind(values.type)
        if value_kind != "nothing":
            self.kinds.add(ColumnKind(column=name, kind=value_kind, file=batch.file, row=batch.first_row))
        return value_kind

    def refuse(
        self, batch: SourceBatch, name: str, values: pa.Array, bad: Bools, what: str, remedy: str
    ) -> None:
        """Raise BadInput that lists the rows marked in bad (n,), if there are any."""
        if not bad.any():
            return
        places = np.flatnonzero(bad)
        listed = [
            f"row {batch.first_row + place + 1}: {_said(values[place].as_py())}"
            for place in places[:MOST_LISTED].tolist()
        ]
        tail = f" and {len(places) - len(listed)} more at least" if len(places) > len(listed) else ""
        raise BadInput(
            f"{self._paths[batch.file]}: column {name!r}: values {what}: {'; '.join(listed)}{tail}; {remedy}"
        )


@dataclass(frozen=True, slots=True)
class _Rows:
    """One batch while its predictions are read: a `PredictionReader`."""

    checker: RowChecker
    batch: SourceBatch
    given: dict[str, pa.Array]
    spelled: Predictions | None = None   # how names are spelled; None: as the pool's predictions are

    def number_column(self, name: str) -> Floats:
        return self.checker.finite_numbers(self.batch, name, self.given)

    def codes(self, name: str) -> Array:
        return self.checker.codes(self.batch, name, self.given, self.spelled)

    def gaps(self, name: str) -> Bools:
        return self.checker.gaps(self.batch, name, self.given)

    def bridged(self, name: str, gaps: Bools) -> "_Rows":
        which = np.where(gaps, np.argmin(gaps), np.arange(len(gaps)))
        return replace(self, given={**self.given, name: self.given[name].take(pa.array(which))})

    def read_as(self, predictions: Predictions) -> "_Rows":
        return replace(self, spelled=predictions)

    def refuse(self, name: str, bad: Bools, what: str, remedy: str) -> None:
        self.checker.refuse(self.batch, name, self.given[name], bad, what, remedy)


def frozen_schema(spec: Spec) -> pa.Schema:
    """The columns of every part of the frozen pool, in order: the id, predictions, segments, what the cut
    needs, cluster, weight and the like where the spec names them, and where each row came from."""
    predictions = prediction_kind(spec)
    return pa.schema([
        ("item_id", pa.string()),
        *predictions.fields,
        *((name, pa.string()) for name in spec.pool.segments),
        *predictions.cut_fields,
        *([(CLUSTER, pa.string())] if spec.pool.cluster else []),
        *([(WEIGHT, pa.float64())] if spec.pool.weight else []),
        *([(RANK, pa.float64())] if spec.pool.rank else []),
        *([(STRATUM, pa.float64())] if spec.pool.strata else []),
        *([(CONTENDER, pa.float64())] if spec.pool.contenders else []),
        *((FEATURE + name, pa.string()) for name in (spec.judges.columns if spec.judges else ())),
        ("source_file", pa.int32()),
        ("source_row", pa.int64()),
    ])


def _said(value: object) -> str:
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
