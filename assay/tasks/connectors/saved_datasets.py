"""Datasets of Hugging Face that were saved with `save_to_disk`, read without the package.

A folder with one dataset, or with several splits: then a column `split` says which. Columns are taken as they
are; the numbers of a class label become its names, and -1, which stands for no label, is missing. Pictures,
sound and films are not imported.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import Importer
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.records import Layout, LogEntry, Notes, Written
from assay.tasks.connectors.tables import write_table

_STATE, _INFO, _SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
_MEDIA = ("Image", "Audio", "Video", "Pdf")


class SavedDatasets(Importer):
    """The importer of datasets that Hugging Face's `datasets` saved with `save_to_disk`: rows are taken as
    they are, and a column `split` is added where there are several splits."""

    name = "datasets"
    reads = "a folder that Hugging Face datasets saved (save_to_disk)"

    def fits(self, place: Place) -> bool:
        """Whether a folder holds a saved dataset, by the names of its files; no file is opened."""
        return _SPLITS in place.names or {_STATE, _INFO} <= place.names

    def write(self, places: Sequence[Place], to: Path, layout: Layout | None, notes: Notes) -> Written:
        """The rows of all places, one place after the other. Raises BadInput that names a file."""
        return write_table(chain.from_iterable(
            self.guarded(place, self.batches(place, notes)) for place in places), to)

    def batches(self, place: Place, notes: Notes) -> Iterator[pa.RecordBatch]:
        """The rows of a dataset, or of every split in its order with the split's name in a column, some
        thousands at a time."""
        if _SPLITS not in place.names:
            yield from _rows(place.path, notes)
            return
        for split in _json(place.path / _SPLITS).get("splits") or ():
            for batch in _rows(place.path / str(split), notes):
                yield batch.append_column("split", pa.array([str(split)] * len(batch), pa.string()))


def _rows(folder: Path, notes: Notes) -> Iterator[pa.RecordBatch]:
    """Rows of one dataset, file by file."""
    features = _json(folder / _INFO).get("features") or {}
    for file in _json(folder / _STATE).get("_data_files") or ():
        path = folder / Path(str(file["filename"])).name
        try:
            with pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped) as stream:
                for batch in stream:
                    batch.validate(full=True)
                    yield _plain(batch, features, notes)
        except (pa.ArrowException, OSError) as error:
            raise BadInput(f"{path}: is no sound Arrow file ({error}); save the dataset again") from None


def _plain(batch: pa.RecordBatch, features: LogEntry, notes: Notes) -> pa.RecordBatch:
    columns: dict[str, pa.Array] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        feature = features.get(name)
        kind = feature.get("_type") if isinstance(feature, Mapping) else None
        if kind in _MEDIA:
            notes.tell(f"not imported: the column {name!r}, which holds media ({kind.lower()})")
        elif kind == "ClassLabel" and isinstance(feature, Mapping) and feature.get("names"):
            names = feature["names"]
            classes = [None if i is None or not 0 <= i < len(names) else names[i] for i in column.to_pylist()]
            columns[name] = pa.array(classes, pa.string())
        else:
            columns[name] = column
    return pa.RecordBatch.from_pydict(columns)


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BadInput(f"{path}: is not there; save the dataset again")
    return Place(str(path)).whole()
