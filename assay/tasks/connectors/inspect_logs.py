"""Logs of Inspect: `.eval` archives and `.json` files, read without the package.

A log is one run of a task by a model. A sample is a response to a question: `input` is the question, the
completion is the response, `target` is the reference, every scorer is a judge. Epochs are repeats.

    C, I and N of a scorer   correct, incorrect and incorrect (no answer)
    P                        partial, or a half beside numbers
    a mapping                a judge for each of its keys
    a list                   not imported
"""

import json
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.records import LogEntry, Notes, SystemResponse
from assay.tasks.connectors.shapes import Scores, Shape, members, texts_of_conversation
from assay.tasks.connectors.turns import text_of, turns_of, with_results

_LARGEST = 256 << 20      # bytes of an entry, when it is not compressed
_ZSTD = 93
_HEADER = struct.Struct("<4s5H3I2H")     # of an entry, before its name


class Zipped:
    """A zip archive that is open for reading: the names of its entries, and their bytes, also of those that
    are packed with zstd.

    Entries of an `.eval` archive (a zip), one at a time, each of bounded size. Some are compressed with
    Zstandard, which the standard library cannot read before Python 3.14; Arrow can.
    """

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive
        self.names = archive.namelist()

    def read(self, name: str) -> bytes:
        """An entry. Raises BadInput for one that is damaged or too large."""
        try:
            info = self._archive.getinfo(name)
            with self._zstd(info) if info.compress_type == _ZSTD else self._archive.open(info) as entry:
                data: bytes = entry.read(_LARGEST + 1)
        except (zipfile.BadZipFile, pa.ArrowException, OSError, NotImplementedError, struct.error) as error:
            raise BadInput(f"{self._path}: the entry {name} cannot be read: {error}") from None
        if len(data) > _LARGEST:
            raise BadInput(f"{self._path}: the entry {name} is larger than {_LARGEST >> 20} MB")
        return data

    def _zstd(self, info: zipfile.ZipInfo) -> pa.NativeFile:
        with self._path.open("rb") as raw:
            raw.seek(info.header_offset)
            *_, name, extra = _HEADER.unpack(raw.read(_HEADER.size))
            raw.seek(name + extra, 1)
            packed = raw.read(min(info.compress_size, _LARGEST))
        return pa.input_stream(pa.BufferReader(packed), compression="zstd")


@contextmanager
def zipped(path: Path) -> Iterator[Zipped]:
    """Open an archive. Raises BadInput for a file that is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield Zipped(path, archive)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise BadInput(f"{path}: is no sound archive ({error}); copy it again") from None


_HEADERS = ("header.json", "_journal/start.json")
_SHORT = 40      # characters of an extracted answer that is one of a few choices


class InspectLogs(LogImporter):
    """The importer of logs of Inspect, `.eval` archives or `.json`: every sample is a response, every scorer
    a judge, every epoch a repeat."""

    name = "inspect"
    reads = "logs of Inspect, .eval or .json"
    marks = ("status eval", "eval:task eval:model")
    written = "Inspect writes samples"
    lost = "samples that ended in an error, or without a response"
    shape = Shape(
        id="uuid", question_id="id", repeat="epoch", task="log.task", system="log.model", question="input",
        run="log.eval_id|log.run_id", response="output.choices", reference="target", error="error",
        about=("metadata",), scores=(Scores(at="scores", reason="explanation"),),
    )

    def fits(self, place: Place) -> bool:
        """An archive with a header, or JSON with the keys of a log."""
        if place.is_archive:
            with zipped(place.path) as archive:
                return any(name in archive.names for name in _HEADERS)
        return super().fits(place)

    def record_name(self, number: int, record: LogEntry) -> str:
        """A sample, by its id."""
        return f"the sample {record.get('id')!r}"

    def records(self, place: Place, notes: Notes) -> Iterator[LogEntry]:
        """Samples, with what the log says of all of them."""
        if not place.is_archive:
            log = place.whole()
            yield from self._samples(log, log.get("samples") or [], place, notes)
            return
        with zipped(place.path) as archive:
            log = _parsed(place, archive, next(name for name in _HEADERS if name in archive.names))
            names = [name for name in archive.names if name.startswith("samples/")]
            yield from self._samples(log, (_parsed(place, archive, name) for name in names), place, notes)

    def _samples(
        self, log: LogEntry, samples: Iterable[LogEntry], place: Place, notes: Notes
    ) -> Iterator[LogEntry]:
        if log.get("status", "success") != "success":
            notes.tell(f"{place.address}: the run did not finish; what it has is imported")
        yield from ({**sample, "log": dict(log.get("eval") or {})} for sample in samples)

    def response(self, record: LogEntry, notes: Notes) -> SystemResponse | None:
        """Its first completion; of a question with choices what a scorer took out of it too."""
        sample = _with_attachments(record)
        if sample.get("scores") is None and sample.get("score") is not None:      # of the first version
            sample["scores"] = {"score": sample["score"]}
        options = (sample.get("output") or {}).get("choices") or ()
        first = notes.first_answer(options)["message"] if options else None
        answer = text_of(first, notes, "assistant") or "" if options else None
        response = self.shape.response_of(sample, notes, response=answer, question_id=str(sample["id"]))
        if response is None:
            return None
        choices, question = sample.get("choices"), response.question
        answers = [score.get("answer") for score in members(sample.get("scores"))] if choices else []
        if choices and question is not None:
            question += "\n\n" + "\n".join(f"{chr(ord('A') + i)}) {text}" for i, text in enumerate(choices))
        turns = with_results(turns_of(sample.get("messages") or [], "user", notes))
        return replace(
            response, question=question, trajectory=texts_of_conversation(turns)["trajectory"],
            choice=next(
                (word for word in answers if isinstance(word, str) and 0 < len(word) <= _SHORT), None
            ),
        )


def _with_attachments(sample: LogEntry) -> dict[str, Any]:
    """With long texts, which a log keeps apart, put back."""
    attached: Any = sample.get("attachments")
    if not attached:
        return dict(sample)
    within = json.dumps({name: value for name, value in sample.items()
                         if name not in ("attachments", "events", "store")})
    whole: dict[str, Any] = json.loads(re.sub(
        r"attachment://(\w+)", lambda match: json.dumps(str(attached.get(match[1], match[0])))[1:-1], within))
    return whole


def _parsed(place: Place, archive: Zipped, entry: str) -> Any:
    try:
        value = json.loads(archive.read(entry))
        json.dumps(value, ensure_ascii=False).encode()      # half a sign of Unicode is no text
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place.address}: {entry} is not sound JSON ({error}); copy the log again") from None
    return value
