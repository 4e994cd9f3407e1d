"""A store in a local folder: one file per key.

A value is written to a temporary file, flushed to the disk, and then *linked* to its key. A link is made
whole or not at all, and fails if the key exists: that is the exclusive creation everything rests on (a
rename would overwrite the winner). The folder is flushed too, or a power cut could forget the link.

    <root>/.temporary/<random>    being written, or left behind by a crash; never a key, swept after a day
    <root>/<key>                  a value; its file is read-only (not on Windows)

A key cannot be a folder of another key. Only an ordinary file is a value: a named pipe or a device that
somebody put under a key is nothing, and is not waited for. Every process that writes must see the same file
system.
"""

import errno
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from assay.evalcore.errors import AssayError, BadInput
from assay.tasks.ledger.stores.store import (
    BadKey,
    KeyMissing,
    StoreError,
    StoreUnreachable,
    check_discardable,
    check_folder,
    check_key,
    check_prefix,
    check_range,
    is_discardable,
    is_fleeting,
    is_key,
    refuse_huge,
)
from assay.tasks.operating_system import AS_BYTES, NOT_WAITING, flush_folder, write_durably

LEFTOVER_SECONDS = 24 * 3600  # no writer takes this long: an older temporary file was left by a crash
_CREATE_ATTEMPTS = 5   # to create what others create and discard at the same time
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_LINKS = (errno.EPERM, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK)
_NO_SUCH_VALUE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class LocalStore:
    """A Store in the folder `root`, which is created by the first `put` or `check`."""

    def __init__(self, root: str | Path, *, url: str | None = None) -> None:
        self.url = str(root) if url is None else url
        self.root = Path(root).expanduser().absolute()
        self._temporaries = self.root / ".temporary"
        self._settled: set[Path] = set()  # folders whose own entry this object has flushed to the disk

    def put(self, key: str, blob: bytes) -> bytes:
        """The value survives a power cut once this returns, whoever won; not that of a fleeting key."""
        path = self._path(key)
        gone = [FileNotFoundError] if is_discardable(key) else []
        with self._explained("write", key):
            for _ in range(_CREATE_ATTEMPTS):
                with suppress(*gone):  # its folder was removed with what was discarded: try again
                    self._make_folder(path.parent)
                    if not path.exists() and self._create(path, blob, flush=not is_fleeting(key)):
                        return blob
                    if path.exists() and not (path.is_file() or path.is_dir()):
                        raise StoreError(f"{self.url}: {path} is no ordinary file; remove it, and run again")
                    flush_folder(path.parent)  # the winner may have been cut off before its own flush
                    return path.read_bytes()
        raise StoreError(
            f"{self.url}: others created and discarded {key!r} {_CREATE_ATTEMPTS} times; try again"
        )

    def get(self, key: str) -> bytes:
        with self._explained("read", key), self.open(key) as file:
            refuse_huge(self.url, key, os.fstat(file.fileno()).st_size)
            return file.read()

    def get_range(self, key: str, start: int, length: int) -> bytes:
        check_range(start, length)
        with self._explained("read", key), self.open(key) as file:
            file.seek(start)
            return file.read(length)

    def size(self, key: str) -> int:
        with self._explained("read", key), self.open(key) as file:
            return os.fstat(file.fileno()).st_size

    def exists(self, key: str) -> bool:
        path = self._path(key)
        with self._explained("look for", key):
            return path.is_file()

    def keys(self, prefix: str = "") -> Iterator[str]:
        check_prefix(prefix)
        self._refuse_a_file()
        with self._explained("list", prefix):
            near = self._walk(prefix.rpartition("/")[0])
            return iter(sorted(key for key in near if key.startswith(prefix)))

    def folders(self, prefix: str = "") -> Iterator[str]:
        check_folder(prefix)
        self._refuse_a_file()
        with self._explained("list", prefix):
            try:
                with os.scandir(self.root / prefix) as entries:
                    names = sorted(entry.name for entry in entries if entry.is_dir())
            except (FileNotFoundError, NotADirectoryError):
                names = []
        return (name for name in names if is_key(name))

    def discard(self, key: str) -> None:
        """The folder goes with its last key: nobody has to look into it any more. A missing key is no error.
        Raises BadKey for one that is evidence."""
        check_discardable(key)
        path = self._path(key)
        with self._explained("discard", key):
            try:
                path.unlink()
                if not is_fleeting(key):
                    flush_folder(path.parent)
            except (FileNotFoundError, NotADirectoryError):   # somebody else discarded it, or what it was in
                return
            if key.count("/") > 1:
                with suppress(OSError):   # others are in it
                    path.parent.rmdir()

    def check(self) -> None:
        """Links a file as `put` would, lists the folder, sweeps what crashes left behind."""
        self._refuse_a_file()
        probe = self._temporaries / uuid.uuid4().hex
        with self._explained("write", ".temporary"):
            self._make_folder(self.root)
            try:
                if not self._create(probe, b"probe") or self._create(probe, b"again"):
                    raise StoreError(f"{self.url}: the file system does not create links exclusively")
            finally:
                probe.unlink(missing_ok=True)
            next(self._walk(""), None)
            self._sweep()

    def open(self, key: str) -> BinaryIO:
        """The value as an ordinary file, open for reading bytes; the caller closes it. Raises KeyMissing
        where there is none. Nothing is read before the caller asks."""
        path = self._path(key)
        with self._explained("read", key):
            return _open_file(path)

    def _refuse_a_file(self) -> None:
        if self.root.exists() and not self.root.is_dir():
            raise BadInput(f"the store {self.url!r} is a file, not a folder: {self.root}")

    def _refuse_a_link(self) -> None:
        """Files are removed from this folder: it must be the store's own."""
        if self._temporaries.is_symlink():
            raise StoreError(
                f"{self.url}: {self._temporaries} is a link, and what is in it may be anybody's; remove it"
            )

    def _path(self, key: str) -> Path:
        return self.root / check_key(key)

    def _create(self, path: Path, blob: bytes, *, flush: bool = True) -> bool:
        """Whether path is now ours. Leaves a temporary file behind only if the process is killed."""
        with suppress(FileExistsError):
            os.mkdir(self._temporaries)
        self._refuse_a_link()
        temporary = self._temporaries / uuid.uuid4().hex
        try:
            write_durably(temporary, blob, read_only=True, flush=flush)
            try:
                os.link(temporary, path)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno in _NO_LINKS and not _is_forbidden(path.parent):
                    raise StoreError(
                        f"{self.url}: the file system under {self.root} has no hard links "
                        f"({error.strerror}), so a key cannot be created exclusively; use a local disk, or s3://bucket/prefix"
                    ) from error
                raise
            if flush:
                flush_folder(path.parent)
            return True
        finally:
            temporary.unlink(missing_ok=True)

    def _make_folder(self, folder: Path) -> None:
        """Create folder and what lies above it, each flushed into its parent once per object.

        Also when it existed: the process that made it may have been cut off before its flush.
        """
        if folder in self._settled and folder.is_dir():
            return
        below_root = folder != self.root and folder.is_relative_to(self.root)
        if below_root or not folder.parent.is_dir():
            self._make_folder(folder.parent)
        try:
            os.mkdir(folder)
        except FileExistsError:
            if not folder.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None
        try:
            flush_folder(folder.parent)
        except PermissionError:
            if below_root:  # above, the folders are not ours: we may have no right to open them
                raise
        self._settled.add(folder)

    def _walk(self, folder: str) -> Iterator[str]:
        waiting = [folder]
        while waiting:
            inside = waiting.pop()
            folder = os.path.join(self.root, inside)   # monitors have many thousand, and Path takes its time
            with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
                for entry in entries:
                    key = f"{inside}/{entry.name}" if inside else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        waiting += [] if entry.name.startswith(".") else [key]
                    elif is_key(key) and entry.is_file():
                        yield key

    def _sweep(self) -> None:
        """Remove old leftovers. Should a stopped writer wake up after all, its link fails cleanly."""
        self._refuse_a_link()
        oldest = time.time() - LEFTOVER_SECONDS
        for leftover in self._temporaries.iterdir():
            with suppress(FileNotFoundError):
                if leftover.lstat().st_mtime < oldest:
                    leftover.unlink()

    @contextmanager
    def _explained(self, doing: str, key: str) -> Iterator[None]:
        """Turn an OSError into an error of ours that names the store, the key and the remedy."""
        try:
            yield
        except OSError as error:
            raise self._explain(error, doing, key) from error

    def _explain(self, error: OSError, doing: str, key: str) -> AssayError:
        what = f"{self.url}: cannot {doing} {key!r}"
        if doing == "read" and (isinstance(error, _NO_SUCH_VALUE) or os.path.isdir(self._path(key))):
            return KeyMissing(f"{self.url}: there is nothing under {key!r}")
        if isinstance(error, NotADirectoryError | IsADirectoryError):
            return BadKey(f"{what}: one key cannot be a folder of another ({error.filename})")
        if error.errno in _FULL:
            return StoreError(
                f"{what}: no space left under {self.root}; nothing is half-written. Free space and run again"
            )
        if error.errno == errno.EFBIG:
            return StoreError(
                f"{what}: it is larger than a file may be under {self.root}; nothing is half-written. "
                "Raise the limit (ulimit -f), or use another disk, and run again"
            )
        if error.errno in _FORBIDDEN:
            return StoreUnreachable(
                f"{what}: {error.strerror} ({error.filename}); give this user the right to {doing} there, or "
                "choose another store"
            )
        return StoreError(f"{what}: {error.strerror or error} (under {self.root})")


def _open_file(path: Path) -> BinaryIO:
    """FileNotFoundError for whatever is no ordinary file: opening a named pipe would wait for a writer."""
    descriptor = os.open(path, os.O_RDONLY | NOT_WAITING | AS_BYTES)
    if S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def _is_forbidden(folder: Path) -> bool:
    return not os.access(folder, os.W_OK)
