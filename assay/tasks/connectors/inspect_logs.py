"""Logs of Inspect: `.eval` archives and `.json` files, read without the package.

A log is one run of a task by a model. A sample is a response to a question: `input` is the question, the
completion is the response, `target` is the reference, every scorer is a judge. Epochs are repeats.

    C, I and N of a scorer   correct, incorrect and incorrect (no answer)
    P                        partial
    a mapping                a judge for each of its keys
    a list                   not imported
"""

import re
import struct
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter, Place, read_as
from assay.tasks.connectors.log_text import content_text, sound_json, text_of_messages
from assay.tasks.connectors.records import Notes, Plain, SystemResponse, Verdict
from assay.tasks.connectors.traces.trajectory import tells_more, with_results
from assay.tasks.connectors.turns import trajectory_page, turns_of

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


_JSON_LOG = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:\s*\{')
_LETTERS: Mapping[str, Verdict] = {"C": True, "I": False, "N": False, "P": "partial"}
_HEADERS = ("header.json", "_journal/start.json")
_SHORT = 40      # characters of an extracted answer that is one of a few choices


class InspectLogs(LogImporter):
    """Logs of Inspect."""

    name = "inspect"
    reads = "logs of Inspect, .eval or .json"

    def fits(self, place: Place) -> bool:
        """An archive with a header, or JSON that begins as a log does."""
        if place.start.startswith(b"PK\x03\x04"):
            with zipped(place.path) as archive:
                return any(name in archive.names for name in _HEADERS)
        return _JSON_LOG.match(place.start) is not None

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every sample that has a response."""
        if not place.start.startswith(b"PK"):
            log = _parsed(place, place.path.name, place.path.read_bytes())
            samples = log.get("samples") or []
            yield from _responses(log, samples, _in_letters(s.get("scores") for s in samples), place, notes)
            return
        with zipped(place.path) as archive:
            log = _parsed(place, "", archive.read(next(name for name in _HEADERS if name in archive.names)))
            names = [name for name in archive.names if name.startswith("samples/")]
            samples = (_parsed(place, name, archive.read(name)) for name in names)
            yield from _responses(log, samples, _in_letters(_summaries(place, archive)), place, notes)


def _responses(
    log: dict[str, Any], samples: Iterable[dict[str, Any]], letters: set[str], place: Place, notes: Notes
) -> Iterator[SystemResponse]:
    about: Any = log.get("eval") or {}
    if log.get("status", "success") != "success":
        notes.tell(f"{place.given}: the run did not finish; what it has is imported")
    for sample in samples:
        with read_as(place, f"the sample {sample.get('id')!r}", "Inspect writes samples", "log"):
            response = _response(about, sample, letters, notes)
        if response is not None:
            yield response


def _response(
    about: dict[str, Any], sample: dict[str, Any], letters: set[str], notes: Notes
) -> SystemResponse | None:
    output: Any = sample.get("output") or {}
    if sample.get("error") or not output.get("choices"):
        notes.leave_out("samples that ended in an error, or without a response")
        return None
    attached: Any = sample.get("attachments") or {}
    message: Any = output["choices"][0]["message"]
    if len(output["choices"]) > 1:
        notes.leave_out("further responses to one request")
    judged, reasons = _judged(sample, letters, notes)
    return SystemResponse(
        question_id=str(sample["id"]), repeat=int(sample.get("epoch", 1)), task=str(about.get("task", "")),
        system=str(about.get("model", "")), run=str(about.get("eval_id") or about.get("run_id") or ""),
        question=_attached(_question(sample, notes), attached),
        response=_attached(content_text(message.get("content"), notes), attached),
        reference=_reference(sample.get("target")), choice=_choice(sample),
        judged=judged, reasons={name: _attached(text, attached) or "" for name, text in reasons.items()},
        trajectory=_attached(_trajectory(sample, notes), attached, escape),
        about=_plain(sample.get("metadata") or {}, notes),
    )


def _question(sample: dict[str, Any], notes: Notes) -> str | None:
    asked = text_of_messages(sample.get("input"), notes)
    choices: Any = sample.get("choices")
    if not choices or asked is None:
        return asked
    return asked + "\n\n" + "\n".join(f"{chr(ord('A') + i)}) {choice}" for i, choice in enumerate(choices))


def _reference(target: Any) -> str | None:
    found = target if isinstance(target, str) else " | ".join(map(str, target or ()))
    return found or None


def _choice(sample: dict[str, Any]) -> str | None:
    """The answer that a scorer took out of the response to a question with choices."""
    scores: Any = sample.get("scores") or {}
    found = [score.get("answer") for score in scores.values()] if sample.get("choices") else []
    return next((a for a in found if isinstance(a, str) and 0 < len(a) <= _SHORT), None)


def _judged(
    sample: dict[str, Any], letters: set[str], notes: Notes
) -> tuple[dict[str, Verdict | None], dict[str, str]]:
    judged: dict[str, Verdict | None] = {}
    reasons: dict[str, str] = {}
    for scorer, value in _values(sample.get("scores")):
        if isinstance(value, list):
            notes.leave_out(f"scores that are lists, of {scorer}")
        else:
            judged[scorer] = _LETTERS[value] if scorer in letters and isinstance(value, str) else value
    scores: Any = sample.get("scores") or {}
    for scorer, score in scores.items():
        why = score.get("explanation")
        # a rule repeats the response as its reason
        if isinstance(why, str) and why and why != (sample.get("output") or {}).get("completion"):
            reasons[scorer] = why
    return judged, reasons


def _values(scores: Any) -> Iterator[tuple[str, Any]]:
    """(scorer, value); of a mapping one for each key."""
    for scorer, score in (scores or {}).items():
        value = score.get("value")
        if isinstance(value, Mapping):
            yield from ((f"{scorer} {key}", inner) for key, inner in value.items())
        else:
            yield scorer, value


def _in_letters(all_scores: Iterable[Any]) -> set[str]:
    """The scorers whose every word is one of the letters for right and wrong."""
    said: dict[str, set[str]] = defaultdict(set)
    for scores in all_scores:
        for scorer, value in _values(scores):
            if isinstance(value, str):
                said[scorer].add(value)
    return {scorer for scorer, words in said.items() if words <= set(_LETTERS)}


def _summaries(place: Place, archive: Zipped) -> Iterator[Any]:
    """The scores of every sample, from the short form that an archive keeps beside the samples."""
    names = [name for name in archive.names if name == "summaries.json"]
    names = names or [name for name in archive.names if name.startswith("_journal/summaries/")]
    for name in names:
        yield from (one.get("scores") for one in _parsed(place, name, archive.read(name)))


def _trajectory(sample: dict[str, Any], notes: Notes) -> str | None:
    """All messages, where there are more than a question and its answer."""
    turns = with_results(turns_of(sample.get("messages") or [], "user", notes))
    said = next((turn.text for turn in reversed(turns) if turn.role == "assistant" and turn.text), "")
    return trajectory_page(said, turns) if tells_more(turns) else None


def _attached(
    text: str | None, attached: Mapping[str, str], written: Callable[[str], str] = str
) -> str | None:
    """With long texts, which a log keeps apart, put back; written: as they have to be written there."""
    if text is None or "attachment://" not in text:
        return text
    return re.sub(r"attachment://(\w+)", lambda found: written(str(attached.get(found[1], found[0]))), text)


def _plain(metadata: Mapping[str, Any], notes: Notes) -> dict[str, Plain]:
    nested = [name for name, value in metadata.items() if isinstance(value, Mapping | list)]
    for name in nested:
        notes.leave_out(f"metadata that is no single value: {name}")
    return {name: value for name, value in metadata.items() if name not in nested}


def _parsed(place: Place, entry: str, data: bytes) -> Any:
    try:
        return sound_json(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place.given}: {entry} is not sound JSON ({error}); copy the log again") from None
