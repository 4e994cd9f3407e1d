"""The evidence bundle: one archive with a report and all that it rests on, to be checked on another machine.

    README.md              what it is, and how it is checked, with Assay and without
    model-card.md          data, sampling, uncertainty and limits, for the papers of a model
    report/                the report, for people and for programs
    evidence/              the evidence pack
    ledger/                the record itself, from which every number is computed again
    bundle.json            the SHA-256 of each file, the evaluation, its newest seal, the versions
    bundle.json.sig        a signature of bundle.json, where there is a key, and public-key.pem
    bundle.json.tsr        a time stamp of bundle.json, where a server is named

Whoever has bundle.json unchanged has the rest unchanged. Unlike the evidence pack by itself, a bundle holds
what people saw and answered: nothing could be computed again without it.
"""

import hashlib
import json
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from assay.evalcore.errors import BadInput
from assay.evalcore.json_values import JsonObject
from assay.tasks.ledger import record
from assay.tasks.ledger.findings import Difference
from assay.tasks.report.evidence import NO_TIME
from assay.tasks.report.files import ReportNotWritten
from assay.tasks.signatures import (
    SigningKey,
    WrongSignature,
    check_signature,
    key_fingerprint,
    stamped_at,
    time_stamp,
)

LEDGER = "ledger/"
CONTENT, SIGNATURE, PUBLIC_KEY, TIME_STAMP = (
    "bundle.json", "bundle.json.sig", "public-key.pem", "bundle.json.tsr",
)
OF_CONTENT = (CONTENT, SIGNATURE, PUBLIC_KEY, TIME_STAMP)
_BUNDLE_FORMAT = 1   # number of the format of a bundle
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,40}")
_DIGESTED_BYTES = 1 << 20   # read at once for a digest
_LARGEST_RATIO, _SMALL_BUNDLE_BYTES = 100, 64 << 20   # times as large unpacked, and bytes beside

README = """\
# Evidence of the evaluation {evaluation}

`report/report.html` is the report, `model-card.md` what belongs into the papers of the model. `bundle.json`
has the SHA-256 of every file here. The ledger is what the numbers are computed from; it holds what people saw
and answered.

With Assay {version}, on any machine and without the store:

    pip install 'assay-evaluation[signing]' matplotlib=={matplotlib}
    assay verify --bundle {file} --key KEY.pem --time-root ROOT.pem

computes every draw, label and estimate again, and compares the report. `--key` is the public key that you got
from whoever signed, by another way than this file; `--time-root` the certificate of the time stamp server.

Without Assay, in a folder where this file is unpacked:

    python3 - <<'END'
    import hashlib, json
    for name, digest in json.load(open("bundle.json"))["files"].items():
        assert hashlib.sha256(open(name, "rb").read()).hexdigest() == digest, name
    END
    base64 -d bundle.json.sig > signature
    openssl pkeyutl -verify -pubin -inkey KEY.pem -rawin -in bundle.json -sigfile signature
    openssl ts -verify -data bundle.json -in bundle.json.tsr -CAfile ROOT.pem
"""


def write_bundle(
    path: Path, about: JsonObject, contents: Iterable[tuple[str, bytes]], key: SigningKey | None = None,
    time_server: str | None = None,
) -> None:
    """Write the archive of these files, replaced whole.

    about        what bundle.json says beside the digests: evaluation, seal, versions
    contents     name -> bytes of each file, one at a time
    key          signs it
    time_server  the address of a server of RFC 3161, which stamps it

    Raises ReportNotWritten where it cannot be written; what `time_stamp` raises.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(partial, "w") as archive:
            digests = {}
            for name, blob in contents:
                _add(archive, name, blob)
                digests[name] = hashlib.sha256(blob).hexdigest()
            files = dict(sorted(digests.items()))
            content = record.to_json({"format_number": _BUNDLE_FORMAT, **about, "files": files})
            _add(archive, CONTENT, content)
            if key is not None:
                _add(archive, SIGNATURE, key.sign(content))
                _add(archive, PUBLIC_KEY, key.public)
            if time_server is not None:
                _add(archive, TIME_STAMP, time_stamp(time_server, content))
        os.replace(partial, path)
    except OSError as error:
        raise ReportNotWritten(f"cannot write {path}: {error.strerror}; choose another file") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _add(archive: zipfile.ZipFile, name: str, blob: bytes) -> None:
    entry = zipfile.ZipInfo(name, NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, blob)


class Bundle:
    """A bundle that is there; to be used in `with`."""

    def __init__(self, path: Path) -> None:
        """Raises BadInput for what is no bundle."""
        try:
            self._archive = zipfile.ZipFile(path)
        except (ValueError, *_DAMAGED) as error:
            raise BadInput(f"{path}: cannot be read as a bundle: {error}") from None
        there = self._archive.infolist()
        packed, unpacked = sum(one.compress_size for one in there), sum(one.file_size for one in there)
        if unpacked > _LARGEST_RATIO * packed + _SMALL_BUNDLE_BYTES:
            raise BadInput(f"{path}: is no bundle: unpacked it is far larger than packed")
        self.names = [name for name in self._archive.namelist() if not name.endswith("/")]
        try:
            self.content = self._archive.read(CONTENT)
            self.about: JsonObject = json.loads(self.content)
            about = self.about
            self.evaluation, self.files = str(about["evaluation"]), dict(about["files"])
            self.seal: str | None = None if about["seal"] is None else str(about["seal"])
            self.format_number = about["format_number"]
            drawn_by = str(about.get("drawn_by"))
            self.drawn_by = drawn_by if _VERSION.fullmatch(drawn_by) else "another version"
        except (KeyError, TypeError, ValueError, *_DAMAGED):
            raise BadInput(f"{path}: is no bundle: it has no {CONTENT} that can be read") from None
        if self.format_number != _BUNDLE_FORMAT:
            raise BadInput(
                f"{path}: is a bundle of format {self.format_number}, and this version reads format "
                f"{_BUNDLE_FORMAT}; "
                "check it with the version of Assay that its README.md names"
            )

    def __enter__(self) -> "Bundle":
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def file_bytes(self, name: str) -> bytes:
        """The bytes of a file. Raises BadInput where they are damaged."""
        try:
            return self._archive.read(name)
        except (KeyError, *_DAMAGED) as error:
            raise BadInput(f"{name}: cannot be read from the bundle: {error}") from None

    def ledger(self) -> Iterator[tuple[str, bytes]]:
        """The keys and values of the record."""
        for name in self.names:
            if name.startswith(LEDGER):
                yield name.removeprefix(LEDGER), self.file_bytes(name)

    def differences(self) -> Iterator[Difference]:
        """Files that are not what bundle.json says, that it lacks, or that are missing or there twice.
        Digests are SHA-256, and nothing outside the bundle is read."""
        for name in sorted({*self.names, *self.files} - set(OF_CONTENT)):
            if name not in self.files:
                yield Difference(key=name, difference=f"is not in {CONTENT}: it was put there afterwards")
            elif self.names.count(name) != 1:
                why = "is missing" if name not in self.names else "is there twice"
                yield Difference(key=name, difference=why)
            elif (digest := self._digest(name)) != self.files[name]:
                why = f"its digest is {digest}; {CONTENT} has {self.files[name]}"
                yield Difference(key=name, difference=why)
        for name in OF_CONTENT:
            if self.names.count(name) > 1:
                yield Difference(key=name, difference="is there twice")

    def _digest(self, name: str) -> str | None:
        digest = hashlib.sha256()
        try:
            with self._archive.open(name) as opened:
                while chunk := opened.read(_DIGESTED_BYTES):
                    digest.update(chunk)
        except _DAMAGED:
            return None
        return digest.hexdigest()

    def signed(self, key: bytes | None) -> tuple[str | None, Difference | None]:
        """What is to be said of the signature, and what is wrong with it.

        key   the public key in PEM that it has to be by; None: whatever key lies in the bundle
        """
        if SIGNATURE not in self.names:
            missing = Difference(key=SIGNATURE, difference="is missing: nobody signed it")
            return "not signed", None if key is None else missing
        if key is None and PUBLIC_KEY not in self.names:
            return None, Difference(key=PUBLIC_KEY, difference="is missing")
        public = self.file_bytes(PUBLIC_KEY) if key is None else key
        try:
            check_signature(public, self.file_bytes(SIGNATURE), self.content)
        except WrongSignature as error:
            return None, Difference(key=SIGNATURE, difference=str(error))
        whose = "the key given with --key" if key is not None else (
            "the key in the bundle itself, which anybody can put there: compare it, or give --key"
        )
        return f"signed by {key_fingerprint(public)}, {whose}", None

    def stamped(self, root: bytes | None) -> tuple[str | None, Difference | None]:
        """What is to be said of the time stamp, and what is wrong with it; root: as `stamped_at` takes it.
        The first is a sentence with the time that the stamp says."""
        if TIME_STAMP not in self.names:
            missing = Difference(key=TIME_STAMP, difference="is missing: nobody stamped it")
            return None, None if root is None else missing
        try:
            at = stamped_at(self.file_bytes(TIME_STAMP), self.content, root)
        except WrongSignature as error:
            return None, Difference(key=TIME_STAMP, difference=str(error))
        whose = "by the server of --time-root" if root is not None else (
            "if its server is who it says: give its certificate with --time-root"
        )
        return f"there since {at:%Y-%m-%d %H:%M:%S} UTC, {whose}", None


_DAMAGED = (
    OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError,
    struct.error,
)
