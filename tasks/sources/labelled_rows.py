"""Files of known labels: an id, a class and what else is asked for, row by row.

How classes may be spelled is the caller's to say (`assay.tasks.sources.spellings`). An empty label is null:
nobody knows.
"""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.tasks.sources.reader import open_source
from assay.tasks.sources.values import as_text

_MOST_LISTED = 20   # classes, in a message


def labelled_rows(
    given: str, id_column: str, label_column: str, spellings: Mapping[str, str], *, key: str,
    more: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """The file's rows as (id, class name or null, `more` columns), all text.

    spellings   what the file may hold -> the class it means
    key         of the spec, named in errors

    Raises BadInput naming the file, the column and the first value that is not a class.
    """
    spelled = pa.array(list(spellings), pa.string())
    meant = pa.array(list(spellings.values()), pa.string())
    classes = list(dict.fromkeys(spellings.values()))
    some = [*classes[:_MOST_LISTED], *(["..."] if len(classes) > _MOST_LISTED else [])]
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
                f"({', '.join(some)}); correct the file or `labels`"
            )
        arrays = [text[id_column], meant.take(position), *(text[name] for name in more)]
        yield pa.RecordBatch.from_arrays(arrays, names=["id", "label", *(f"shown_{name}" for name in more)])
