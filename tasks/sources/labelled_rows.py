"""Files of known labels: an id, a label and what else is asked for, row by row.

How labels may be spelled is the caller's to say (`AnswerKind.spelled`). A missing label is null: nobody
knows. So is an empty text, unless it means something: no tag; and so are n/a, NaN and the like, unless one is
a label.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.annotators.answers.base import AnswerKind
from assay.evalcore.errors import BadInput
from assay.tasks.sources.reader import open_source
from assay.tasks.sources.values import as_text, without_value

_MOST_LISTED = 20   # classes, in a message


def labelled_rows(
    given: str, id_column: str, label_column: str, answers: AnswerKind, *, key: str, more: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """The file's rows as (id, label in its fixed spelling or null, `more` columns), all text.

    answers     what a label may be
    key         of the spec, named in errors

    Raises BadInput naming the file, the column and the first value that is no label.
    """
    source = open_source(given)
    columns = list(dict.fromkeys([id_column, label_column, *more]))
    for batch in source.batches(columns):
        text = {name: as_text(batch.columns.column(i)) for i, name in enumerate(columns)}
        labels = pc.utf8_trim_whitespace(text[label_column])
        labels = pc.if_else(pc.equal(labels, ""), answers.empty, text[label_column])
        encoded = labels.dictionary_encode()
        means = [answers.spelled(written) for written in encoded.dictionary.to_pylist()]
        meant = pa.array(means, pa.string()).take(encoded.indices)
        strange = pc.and_(pc.is_null(meant), pc.invert(without_value(labels)))
        if pc.any(strange).as_py():
            row = pc.index(strange, True).as_py()
            raise BadInput(
                f"{key}: {source.files[batch.file].path}: column {label_column!r}, row "
                f"{batch.first_row + row + 1}: {labels[row].as_py()!r} is {no_answer(answers)}; correct the "
                "file or `labels`"
            )
        arrays = [text[id_column], meant, *(text[name] for name in more)]
        yield pa.RecordBatch.from_arrays(arrays, names=["id", "label", *(f"shown_{name}" for name in more)])


def no_answer(answers: AnswerKind) -> str:
    """What is said of a text that is no answer: none of the classes (...), not a number from 0 to 10."""
    names = [*answers.choices[:_MOST_LISTED], *(["..."] if len(answers.choices) > _MOST_LISTED else [])]
    listed = ", ".join(names)
    if answers.several:
        return f"no set of tags, joined by bars, out of {listed}"
    return f"none of the classes ({listed})" if names else f"not {answers.wanted}"
