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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place, read_as
from assay.tasks.connectors.records import Notes, Remark, SystemResponse
from assay.tasks.connectors.traces.trajectory import tells_more, with_results
from assay.tasks.connectors.turns import last_answer, text_of, trajectory_page, turns_of

# Entries of an `.eval` archive (a zip), one at a time, each of bounded size. Some are compressed with
# Zstandard, which the standard library cannot read before Python 3.14; Arrow can.

_LARGEST = 256 << 20      # bytes of an entry, when it is not compressed
_ZSTD = 93
_HEADER = struct.Struct("<4s5H3I2H")     # of an entry, before its name


class Zipped:
    """An archive that is open for reading."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive
        self.names = archive.namelist()

    def read(self, name: str) -> bytes:
        """An entry. Raises BadInput for one that is damaged or too large."""
        try:
            info = self._archive.getinfo(name)
            if info.compress_type == _ZSTD:
                data = self._zstd(info)
            else:
                with self._archive.open(info) as entry:
                    data = entry.read(_LARGEST + 1)
        except (zipfile.BadZipFile, pa.ArrowException, OSError, NotImplementedError, struct.error) as error:
            raise BadInput(f"{self._path}: the entry {name} cannot be read: {error}") from None
        if len(data) > _LARGEST:
            raise BadInput(f"{self._path}: the entry {name} is larger than {_LARGEST >> 20} MB")
        return data

    def _zstd(self, info: zipfile.ZipInfo) -> bytes:
        with self._path.open("rb") as raw:
            raw.seek(info.header_offset)
            *_, name, extra = _HEADER.unpack(raw.read(_HEADER.size))
            raw.seek(name + extra, 1)
            packed = raw.read(min(info.compress_size, _LARGEST))
        with pa.input_stream(pa.BufferReader(packed), compression="zstd") as stream:
            data: bytes = stream.read(_LARGEST + 1)
        return data


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
    """Logs of Inspect."""

    name = "inspect"
    reads = "logs of Inspect, .eval or .json"
    marks = ("status eval", "eval:task eval:model")

    def fits(self, place: Place) -> bool:
        """An archive with a header, or JSON with the keys of a log."""
        if place.is_archive:
            with zipped(place.path) as archive:
                return any(name in archive.names for name in _HEADERS)
        return super().fits(place)

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every sample that has a response."""
        if not place.is_archive:
            log = place.whole()
            yield from _responses(log, log.get("samples") or [], place, notes)
            return
        with zipped(place.path) as archive:
            log = _parsed(place, archive, next(name for name in _HEADERS if name in archive.names))
            names = [name for name in archive.names if name.startswith("samples/")]
            yield from _responses(log, (_parsed(place, archive, name) for name in names), place, notes)


def _responses(
    log: Mapping[str, Any], samples: Iterable[Mapping[str, Any]], place: Place, notes: Notes
) -> Iterator[SystemResponse]:
    about: Any = log.get("eval") or {}
    if log.get("status", "success") != "success":
        notes.tell(f"{place.address}: the run did not finish; what it has is imported")
    for sample in samples:
        with read_as(place, f"the sample {sample.get('id')!r}", "Inspect writes samples"):
            response = _response(about, sample, notes)
        if response is not None:
            yield response


def _response(about: Mapping[str, Any], sample: Mapping[str, Any], notes: Notes) -> SystemResponse | None:
    output: Any = sample.get("output") or {}
    if sample.get("error") or not output.get("choices"):
        notes.leave_out("samples that ended in an error, or without a response")
        return None
    attached: Any = sample.get("attachments") or {}
    message: Any = output["choices"][0]["message"]
    if len(output["choices"]) > 1:
        notes.leave_out("further responses to one request")
    scores = _scores(sample)
    return SystemResponse(
        id=str(sample.get("uuid") or ""), question_id=str(sample["id"]), repeat=int(sample.get("epoch", 0)),
        task=str(about.get("task", "")), system=str(about.get("model", "")),
        run=about.get("eval_id") or about.get("run_id"),
        question=_attached(_question(sample, notes), attached),
        response=_attached(text_of(message, notes, "assistant") or "", attached),
        reference=_reference(sample.get("target")), choice=_choice(sample, scores),
        remarks=[_remark(scorer, score, output, attached) for scorer, score in scores.items()],
        trajectory=_attached(_trajectory(sample, notes), attached, escape),
        about=sample.get("metadata") or {},
    )


def _question(sample: Mapping[str, Any], notes: Notes) -> str | None:
    text, choices = text_of(sample.get("input"), notes), sample.get("choices")
    if not choices or text is None:
        return text
    return text + "\n\n" + "\n".join(f"{chr(ord('A') + i)}) {choice}" for i, choice in enumerate(choices))


def _reference(target: Any) -> str | None:
    return (target if isinstance(target, str) else " | ".join(map(str, target or ()))) or None


def _scores(sample: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """By scorer; a log of the first version has a single score."""
    single = sample.get("score")
    scores = sample.get("scores") or ({"score": single} if single is not None else {})
    return {name: score if isinstance(score, Mapping) else {"value": score} for name, score in scores.items()}


def _choice(sample: Mapping[str, Any], scores: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The answer that a scorer took out of the response to a question with choices."""
    answers = [score.get("answer") for score in scores.values()] if sample.get("choices") else []
    return next((a for a in answers if isinstance(a, str) and 0 < len(a) <= _SHORT), None)


def _remark(
    scorer: str, score: Mapping[str, Any], output: Mapping[str, Any], attached: Mapping[str, str]
) -> Remark:
    """What a scorer says; a rule repeats the response as its reason, which is none."""
    why = score.get("explanation")
    tells = isinstance(why, str) and why and why != output.get("completion")
    return Remark(name=scorer, value=score.get("value"), reason=_attached(why, attached) if tells else None)


def _trajectory(sample: Mapping[str, Any], notes: Notes) -> str | None:
    """All messages, where there are more than a question and its answer."""
    turns = with_results(turns_of(sample.get("messages") or [], "user", notes))
    return trajectory_page(last_answer(turns) or "", turns) if tells_more(turns) else None


def _attached(
    text: str | None, attached: Mapping[str, str], written: Callable[[str], str] = str
) -> str | None:
    """With long texts, which a log keeps apart, put back; written: as they have to be written there."""
    if text is None or "attachment://" not in text:
        return text
    return re.sub(r"attachment://(\w+)", lambda match: written(str(attached.get(match[1], match[0]))), text)


def _parsed(place: Place, archive: Zipped, entry: str) -> Any:
    try:
        value = json.loads(archive.read(entry))
        json.dumps(value, ensure_ascii=False).encode()      # half a sign of Unicode is no text
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place.address}: {entry} is not sound JSON ({error}); copy the log again") from None
    return value
