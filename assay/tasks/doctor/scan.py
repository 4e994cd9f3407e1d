"""One pass over a source, or a sample of it, that counts what its columns hold.

Some 35 bytes a row read are kept: a hash of the id, and score, probability, prediction and label as numbers.
Everything else is counts and the first few bad rows.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.class_names import classes_of_columns
from assay.evalcore.types import Array, Bools, Floats, Ints
from assay.tasks.arrow import lengths_of, mask_of, missing_of, numbers_of, texts_of, yes_of
from assay.tasks.doctor.portion import Portion
from assay.tasks.doctor.roles import Roles
from assay.tasks.pool.checked_rows import MOST_LISTED
from assay.tasks.pool.duplicate_ids import SeenIds, first_duplicates
from assay.tasks.sources.chances import within_0_and_1
from assay.tasks.sources.reader import SourceBatch
from assay.tasks.sources.values import NO_VALUE, as_numbers, as_text, named_text, none_beside, without_value

MOST_CLASSES = 1_000     # distinct values of a prediction or label that are told apart


@dataclass(slots=True)
class Defect:
    """Values of a column that cannot be used: how many, and where the first ones are."""

    count: int = 0
    first: list[str] = field(default_factory=list)      # "FILE row 17: 'abc'"

    def add(self, bad: Bools, batch: SourceBatch, path: str, values: pa.Array) -> None:
        """Count the bad rows of a batch, and write down file, row and value of the first few. The flags and
        `values` are (n,), for the n rows of the batch."""
        places = np.flatnonzero(bad)
        self.count += len(places)
        for place in places[: MOST_LISTED - len(self.first)].tolist():
            value = values[place].as_py()
            self.first.append(f"{path} row {batch.first_row + place + 1}: "
                              f"{'missing' if value is None else repr(value)[:60]}")


@dataclass(slots=True, kw_only=True)
class Scan:
    """What one pass over the rows of a file has counted: missing, repeated and unusable values with
    examples, and the classes that occur. As arrays (N,) of the N rows read: score, probability, and codes
    of prediction and label."""

    rows: int = 0                    # that were read
    total: int = 0                   # of the source: more than `rows` where a sample was read
    missing_ids: Defect = field(default_factory=Defect)
    duplicates: list[str] = field(default_factory=list)          # "'17' (rows 3, 9)", the first few
    bad_numbers: dict[str, Defect] = field(default_factory=dict)  # by column: missing, not finite, no number
    outside: Defect = field(default_factory=Defect)              # probabilities not within [0, 1]
    predictions: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    missing_predictions: Defect = field(default_factory=Defect)
    missing_labels: int = 0
    no_label: Counter[str] = field(default_factory=Counter)      # words for no value, in their place
    bad_labels: Defect = field(default_factory=Defect)           # of labels that are numbers: others
    score: Floats = field(default_factory=lambda: np.empty(0))    # (N,) NaN where there is none
    probability: Floats = field(default_factory=lambda: np.empty(0))
    prediction: Ints = field(default_factory=lambda: np.empty(0, np.int64))   # code in `prediction_names`
    label: Ints = field(default_factory=lambda: np.empty(0, np.int64))        # or -1
    prediction_names: list[str] = field(default_factory=list)
    label_names: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all rows of the source were read, so that counts are exact and not scaled up from a sample.
        Files up to a fixed size are read whole."""
        return self.rows == self.total

    @property
    def times(self) -> float:
        """Rows of the source for each row that was read: the factor by which counts of a sample are scaled
        up. 1.0 where nothing was read."""
        return self.total / self.rows if self.rows else 1.0

    def about(self, count: int) -> str:
        """So many of the rows read, as a number of all rows: `about 1,200` where a sample was read. The
        number is grouped by thousands."""
        return f"{count:,}" if self.complete else f"about {count * self.times:,.0f}"

    def which(self, rows: str) -> str:
        """The words as they are, or with `looked at` behind them where only a sample was read: for messages
        about rows. So no sentence claims more than was read."""
        return rows if self.complete else f"{rows} looked at"


def scan(portion: Portion, roles: Roles, progress: Callable[[int], None] | None = None) -> Scan:
    """Read every row of the portion once (ids a second time where some are suspected to be there twice).

    Raises BadInput where the file itself cannot be read on.
    """
    result, seen_ids = Scan(), SeenIds()
    parts: dict[str, list[Array]] = {name: [] for name in ("score", "probability", "prediction", "label")}
    paths = [file.path for file in portion.files]
    codes: dict[str, dict[str, int]] = {"prediction": {}, "label": {}}
    columns = roles.columns
    numbers, classes = _by_kind(roles)
    for batch in portion.batches(columns) if columns else ():
        values = {name: batch.columns.column(i) for i, name in enumerate(columns)}
        path = paths[batch.file]
        result.rows += batch.columns.num_rows
        if roles.id is not None:
            text = named_text(path, roles.id, values[roles.id])
            missing = missing_of(text) | (lengths_of(text) == 0)
            result.missing_ids.add(missing, batch, path, values[roles.id])
            seen_ids.add(text.filter(mask_of(~missing)) if missing.any() else text)
        for role, name in numbers:
            parts[role].append(_numbers(result, name, values[name], batch, path, role == "probability"))
        for role, name in classes:
            text = named_text(path, name, values[name])
            parts[role].append(
                _classes(result, role, codes[role], text, batch, path, of_tags=roles.outcome == "tags"))
        if roles.outcome == "number" and roles.label is not None:
            _number_labels(result, values[roles.label], batch, path)
        if progress:
            progress(result.rows)
    result.score, result.probability = (_joined(parts[role], np.float64) for role in ("score", "probability"))
    result.prediction, result.label = (_joined(parts[role], np.int64) for role in ("prediction", "label"))
    result.prediction_names, result.label_names = list(codes["prediction"]), list(codes["label"])
    if roles.outcome != "tags":
        _without_words(result)
    if roles.outcome in ("two classes", "classes", "grades"):
        _one_spelling(result)
    if roles.id is not None:
        result.duplicates = _duplicates(portion, roles.id, seen_ids)
    result.total = portion.total(result.rows)
    return result


def _by_kind(roles: Roles) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(role, column) of what is read as numbers, and of what is read as classes; labels that are numbers are
    only counted."""
    scales = [("score", roles.score), ("probability", roles.probability)]
    decided = [("prediction", roles.prediction), ("label", roles.label)]
    if roles.outcome == "number":
        scales, decided = decided[:1], []
    return [(r, c) for r, c in scales if c is not None], [(r, c) for r, c in decided if c is not None]


def _numbers(
    result: Scan, name: str, values: pa.Array, batch: SourceBatch, path: str, chance: bool
) -> Floats:
    try:
        numbers, good = as_numbers(values)
    except (pa.ArrowException, BadInput):
        numbers, good = np.full(len(values), np.nan), np.zeros(len(values), np.bool_)
    bad = ~good | ~np.isfinite(numbers)
    result.bad_numbers.setdefault(name, Defect()).add(bad, batch, path, values)
    if chance:
        numbers, beyond = within_0_and_1(numbers)
        outside = ~bad & beyond
        result.outside.add(outside, batch, path, values)
        bad |= outside
    return np.where(bad, np.nan, numbers)


def _classes(
    result: Scan, role: str, codes: dict[str, int], text: pa.StringArray, batch: SourceBatch, path: str,
    *, of_tags: bool,
) -> Ints:
    blank = missing_of(text) if of_tags else lengths_of(pc.utf8_trim_whitespace(text)) == 0     # or missing
    encoding = (text.filter(mask_of(~blank)) if blank.any() else text).dictionary_encode()
    names: list[str] = encoding.dictionary.to_pylist()
    counts = result.predictions if role == "prediction" else result.labels
    place = np.full(len(text), -1, np.int64)
    place[~blank] = numbers_of(encoding.indices)
    for i, n in zip(*np.unique(place, return_counts=True), strict=True):
        if i >= 0 and (names[i] in counts or len(counts) < MOST_CLASSES):
            counts[names[i]] += int(n)
    missing = place < 0
    if role == "prediction":
        result.missing_predictions.add(missing, batch, path, text)
    else:
        result.missing_labels += int(missing.sum())
    for value in names:
        if value not in codes and len(codes) < MOST_CLASSES:
            codes[value] = len(codes)
    table = np.array([*(codes.get(value, -1) for value in names), -1], np.int64)   # -1 picks the last
    return table[place]


def _number_labels(result: Scan, values: pa.Array, batch: SourceBatch, path: str) -> None:
    text = as_text(values)
    missing = missing_of(text) | yes_of(without_value(text))
    numbers, good = as_numbers(text)
    result.missing_labels += int(missing.sum())
    words = text.filter(mask_of(missing)).to_pylist()
    result.no_label.update(word for word in words if word and word.strip())
    result.bad_labels.add(~missing & ~(good & np.isfinite(numbers)), batch, path, values)


def _without_words(result: Scan) -> None:
    """Take words for no value out of the labels, where they are no class that is predicted; and out of
    predictions, which are then missing, where those are numbers otherwise, or all labels are known and none
    of them is called so."""
    numbers = _are_numbers(set(result.predictions) - NO_VALUE)
    of_labels = set(result.labels) if result.labels and not result.missing_labels else NO_VALUE
    none = NO_VALUE if numbers else none_beside(of_labels, of_labels)
    for word in [word for word in result.predictions if word.strip() in none]:
        many = result.predictions.pop(word)
        result.missing_predictions.count += many
        result.missing_predictions.first.append(f"{word!r} in {many:,}")
        _drop(result.prediction, result.prediction_names, word)
    none = none_beside(result.predictions, result.labels)
    for word in [word for word in result.labels if word.strip() in none]:
        result.no_label[word] = result.labels.pop(word)
        result.missing_labels += result.no_label[word]
        _drop(result.label, result.label_names, word)


def _one_spelling(result: Scan) -> None:
    """Count every class once, however it is written."""
    of_predictions, of_labels = classes_of_columns([result.predictions, result.labels])
    for counts, names, codes, classes in (
        (result.predictions, result.prediction_names, result.prediction, of_predictions),
        (result.labels, result.label_names, result.label, of_labels),
    ):
        merged: Counter[str] = Counter()
        for name in names:
            merged[classes.get(name, name)] += counts[name]
        place = {name: i for i, name in enumerate(merged)}
        table = np.array([*(place[classes.get(name, name)] for name in names), -1], np.int64)
        codes[:] = table[codes]
        counts.clear()
        counts.update(merged)
        names[:] = list(merged)


def _drop(codes: Ints, names: list[str], word: str) -> None:
    place = names.index(word)
    codes[codes == place] = -1
    codes[codes > place] -= 1
    del names[place]


def _are_numbers(values: Collection[str]) -> bool:
    return bool(values) and bool(as_numbers(texts_of(list(values)))[1].all())


def _duplicates(portion: Portion, name: str, seen_ids: SeenIds) -> list[str]:
    suspects = seen_ids.suspects()
    if not len(suspects):
        return []

    def ids() -> Iterator[pa.StringArray]:
        return (as_text(batch.columns.column(0)) for batch in portion.batches([name]))

    listed = islice(first_duplicates(suspects, ids), MOST_LISTED)
    duplicates = [(value, rows) for value, rows in listed if value]
    if portion.complete:
        return [f"{value!r} (rows {', '.join(str(row + 1) for row in rows)})" for value, rows in duplicates]
    places = _places(portion, name, {row for _, rows in duplicates for row in rows})
    return [f"{value!r} ({', '.join(places[row] for row in rows)})" for value, rows in duplicates]


def _places(portion: Portion, name: str, rows: set[int]) -> dict[int, str]:
    """`FILE row 17` of rows of a sample, by their number among those that are read."""
    places, before = {}, 0
    for batch in portion.batches([name]):
        after = before + batch.columns.num_rows
        for row in (row for row in rows if before <= row < after):
            places[row] = f"{portion.files[batch.file].path} row {batch.first_row + row - before + 1}"
        before = after
    return places


def _joined(chunks: list[Array], dtype: type) -> Array:
    values: Array = np.concatenate(chunks) if chunks else np.empty(0, dtype)
    chunks.clear()
    return values
