"""Files of known labels: an id, a class and what else is asked for, row by row.

Classes are spelled as the spec names them or, of two, as 1/0 or true/false for the positive and the negative
one. An empty label is null: nobody knows.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.tasks.sources.reader import open_source
from assay.tasks.sources.values import as_text

_TRUE = ("1", "1.0", "true", "True")
_FALSE = ("0", "0.0", "false", "False")


def labelled_rows(
    given: str, id_column: str, label_column: str, classes: Sequence[str], *, key: str,
    more: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """The file's rows as (id, class name or null, `more` columns), all text.

    classes   the positive one first
    key       of the spec, named in errors

    Raises BadInput naming the file, the column and the first value that is not a class.
    """
    known = {name: name for name in classes}
    if len(classes) == 2:
        for spellings, name in ((_TRUE, classes[0]), (_FALSE, classes[1])):
            known = dict.fromkeys(spellings, name) | known   # a class that is called "1" keeps its name
    spelled = pa.array(list(known), pa.string())
    meant = pa.array(list(known.values()), pa.string())
    source = open_source(given)
    columns = list(dict.fromkeys([id_column, label_column, *more]))
    for batch in source.batches(columns):
        text = {name: as_text(batch.columns.column(i)) for i, name in enumerate(columns)}
        labels = text[label_column]
        labels = pc.if_else(pc.equal(pc.utf8_trim_whitespace(labels), ""), None, labels)
        position = pc.index_in(labels, value_set=spelled, skip_nulls=True)
        strange = pc.and_(pc.is_null(position), pc.is_valid(labels))
        if pc.any(strange).as_py():
            row = pc.index(strange, True).as_py()
            raise BadInput(
                f"{key}: {source.files[batch.file].path}: column {label_column!r}, row "
                f"{batch.first_row + row + 1}: {labels[row].as_py()!r} is none of the classes "
                f"({', '.join(classes)}); correct the file or `labels`"
            )
        arrays = [text[id_column], meant.take(position), *(text[name] for name in more)]
        yield pa.RecordBatch.from_arrays(arrays, names=["id", "label", *(f"shown_{name}" for name in more)])
