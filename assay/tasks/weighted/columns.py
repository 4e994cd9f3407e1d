"""Columns of the source that a new question asks about, for the labelled items alone.

The rows are found by file and row number, and each has to be the item that was frozen: its id, its
predictions and everything else that the frozen pool holds of it are compared.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.weighted.judge_effects import Feature
from assay.tasks.ledger import layout
from assay.tasks.ledger.manifest import SHOWN, FilesRead, Manifest
from assay.tasks.ledger.record import Ledger, find_record
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.pool.frozen import FrozenRow, frozen_row
from assay.tasks.pool.shown import shown_of
from assay.tasks.sources.reader import SourceBatch, file_at, read_rows
from assay.tasks.sources.values import as_text
from assay.tasks.spec.evaluation import Spec


def column_as_texts(
    spec: Spec, ledger: Ledger, manifest: Manifest, rows: Sequence[FrozenRow], column: str
) -> list[str]:
    """A column of these items as text; a missing value is the empty text.

    Raises BadInput naming file and row where the source is gone, lacks the column, or no longer holds what
    was frozen.
    """
    texts = [""] * len(rows)
    for batch, places in _batches(spec, ledger, manifest, rows, column):
        values = as_text(batch.columns.column(batch.columns.num_columns - 1)).fill_null("").to_pylist()
        for place, value in zip(places, values, strict=True):
            texts[place] = value
    return texts


def predictions_of_column(
    spec: Spec, ledger: Ledger, manifest: Manifest, rows: Sequence[FrozenRow], column: str
) -> list[int]:
    """A column of predictions of these items as codes of classes. Raises BadInput as `column_as_texts`. One
    code an item, in the order of `rows`."""
    codes = [0] * len(rows)
    checker = _checker(spec, manifest)
    for batch, places in _batches(spec, ledger, manifest, rows, column):
        values = batch.columns.column(batch.columns.num_columns - 1)
        for place, code in zip(places, checker.codes(batch, column, {column: values}).tolist(), strict=True):
            codes[place] = code
    return codes


def files_written_since(ledger: Ledger, manifest: Manifest, rows: Sequence[FrozenRow]) -> list[str]:
    """Of the files that hold these items, those whose size or time of writing is not that of the freeze.
    Reading a column from them would mix old rows and new ones."""
    files_read = find_record(ledger, layout.pool_sources(ledger.name), FilesRead)
    then = {} if files_read is None else {file.path: (file.size, file.version) for file in files_read.files}
    paths = [manifest.sources[file].path for file in sorted({row.source_file for row in rows})]
    files = {path: file_at(path) for path in paths}
    return [path for path in paths if then.get(path) != (files[path].size, files[path].version)]


def _checker(spec: Spec, manifest: Manifest) -> RowChecker:
    return RowChecker(spec, [source.path for source in manifest.sources])


def _batches(
    spec: Spec, ledger: Ledger, manifest: Manifest, rows: Sequence[FrozenRow], column: str
) -> list[tuple[SourceBatch, list[int]]]:
    """The rows file by file, the column asked for last, and the place of each among `rows`."""
    of_file: defaultdict[int, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        of_file[row.source_file].append(place)
    batches = []
    for file, places in sorted(of_file.items()):
        file_rows, path = [rows[place] for place in places], manifest.sources[file].path
        checker = _checker(spec, manifest)
        numbers = [row.source_row for row in file_rows]
        table = read_rows(path, numbers, list(dict.fromkeys([*checker.columns, column])))
        shown = shown_of(ledger.store, manifest, spec.pool.display, file_rows)
        _refuse_other_items(checker, manifest, path, table.select(checker.columns), (file_rows, shown))
        names = [*checker.columns, column]
        record = pa.RecordBatch.from_arrays(
            [table.column(name).combine_chunks() for name in names], names=[f"{i}" for i in range(len(names))]
        )
        batches.append((SourceBatch(file=file, first_row=0, columns=record), places))
    return batches


def _refuse_other_items(
    checker: RowChecker, manifest: Manifest, path: str, table: pa.Table,
    frozen: tuple[Sequence[FrozenRow], Sequence[Mapping[str, str]]],
) -> None:
    """frozen: the rows, and what people see of them."""
    rows, shown = frozen
    record = pa.RecordBatch.from_arrays(
        [column.combine_chunks() for column in table.columns], names=table.column_names
    )
    batch = SourceBatch(file=rows[0].source_file, first_row=0, columns=record)
    for row, values, texts in zip(rows, checker.check(batch).to_pylist(), shown, strict=True):
        read = frozen_row(row.row, values, manifest.segment_names)
        read_row = replace(read, source_file=row.source_file, source_row=row.source_row)
        # as text, so that a score that is not there equals itself
        if repr(read_row) != repr(row) or any(values[SHOWN + name] != text for name, text in texts.items()):
            raise BadInput(
                f"{path} row {row.source_row + 1}: item {row.item_id!r} is not what it was when the pool was "
                "frozen; restore the file"
            )


MOST_LEVELS = 20   # different values of a column of texts
FEW_VALUES = 5           # different numbers, up to which each is a level


def feature_of_texts(name: str, texts: Sequence[str]) -> Feature:
    """A column as it was read: numbers, if all it holds are numbers and more than FEW_VALUES of them differ;
    else levels.  What is empty is no number, and a level of its own.

    Raises BadInput for a text with more than MOST_LEVELS levels.
    """
    values = [text for text in texts if text]
    different = len(set(values))
    numbers = [_number(text) for text in values]
    if different > FEW_VALUES and None not in numbers:
        return Feature(name=name, number=np.array([
            float("nan") if not text else float(text) for text in texts
        ]))
    if different > MOST_LEVELS:
        raise BadInput(f"feature {name!r} has {different} different values among the labelled items, and not "
                       f"all are numbers; name a column of numbers, or of {MOST_LEVELS} values at most")
    return Feature(name=name, level=texts)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None
