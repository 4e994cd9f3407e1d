"""Opening a store by its address (`store:` in a spec, --store, ASSAY_STORE), here or in a worker, and a value
in it as a file.

    s3://bucket/prefix      an S3 bucket; endpoint and credentials come from the AWS_* environment
    file:///absolute/path   a folder; %20 and the like are decoded, as in any URL
    file://./relative       a folder below the current one
    some/path, ~/path       a folder

Addresses are printed and written down, so one that carries credentials is refused without being repeated.
"""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast
from urllib.parse import unquote

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.s3 import S3Store
from assay.tasks.ledger.stores.store import ReadOnly, Remembering, Store, is_key
from assay.tasks.operating_system import path_in_file_address
from assay.tasks.secrets import refuse_secrets

if TYPE_CHECKING:
    from typing_extensions import Buffer

ACCEPTED = "s3://bucket/prefix, file:///absolute/folder, file://./relative/folder, or the path of a folder"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_MAX_PREFIX_BYTES = 250   # of the prefix in a bucket: with the longest key it is below the 1,024 bytes of S3


def open_store(url: str) -> Store:
    """The store at this address, not yet contacted. BadInput says what is wrong with the address. It is a
    folder, `s3://BUCKET/PREFIX`, or `memory://`."""
    if not url.strip():
        raise BadInput(f"the address of the store is empty; it may be {ACCEPTED}")
    if "\0" in url:
        raise BadInput("the address of the store has a NUL character in it")
    scheme = _SCHEME.match(url)
    if scheme is None or scheme[1].lower() != "s3":   # which has words of its own for it
        refuse_secrets(url, "the address of the store")
    # A one-letter "scheme" and a name such as `a:b` without slashes are ordinary file names on this system.
    if scheme is None or (not scheme[2] and scheme[1].lower() not in ("s3", "file")):
        return LocalStore(Path(url), url=url)
    location = url[scheme.end() :]
    match scheme[1].lower(), bool(scheme[2]):
        case "s3", True:
            return _s3(location, url)
        case "file", True:
            return _file(location, url)
        case name, False:
            raise BadInput(f"{name + ':'!r} needs two slashes after it; the address may be {ACCEPTED}")
        case name, _:
            raise BadInput(f"{name!r} is not a kind of store; the address may be {ACCEPTED}")


def _file(location: str, url: str) -> Store:
    if not location.startswith(("/", "./", "../")) and location not in (".", ".."):
        raise BadInput(f"{url!r} names another machine; the address may be {ACCEPTED}")
    path = path_in_file_address(unquote(location))
    if "\0" in path:
        raise BadInput("the address of the store has a NUL character in it")
    return LocalStore(Path(path), url=url)


def _s3(location: str, url: str) -> Store:
    bucket, _, prefix = location.partition("/")
    if "@" in bucket or ":" in bucket:
        raise BadInput(
            "an s3:// address holds only a bucket and a prefix: give credentials in AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, and the server's address in AWS_ENDPOINT_URL"
        )
    if "?" in location or "#" in location:
        raise BadInput(
            "an s3:// address holds only a bucket and a prefix: no '?' or '#'; the server's address belongs "
            "in AWS_ENDPOINT_URL"
        )
    if not _BUCKET.fullmatch(bucket):
        raise BadInput(
            f"{bucket!r} in {url!r} cannot be a bucket: 3 to 63 of a-z, 0-9, '-' and '.', starting and "
            "ending with a letter or digit"
        )
    prefix = prefix.strip("/")
    if prefix and (not is_key(prefix) or len(prefix.encode()) > _MAX_PREFIX_BYTES):
        raise BadInput(
            f"{prefix!r} in {url!r} cannot be a prefix: plain folder names, none starting with '.', no "
            f"backslash, at most {_MAX_PREFIX_BYTES} bytes"
        )
    return S3Store(bucket, prefix, url=url)


class Travelling:
    """Holds a store. Pickled, it holds the address alone: credentials come from each worker's environment."""

    __slots__ = ("store",)

    def __init__(self, store: Store) -> None:
        self.store = store

    def __reduce__(self) -> "tuple[Callable[[str], Travelling], tuple[str]]":
        return _arrived, (address(self.store),)


def address(store: Store) -> str:
    """Where other processes find the store. Raises BadInput for one that lives in the memory of this one. A
    folder is given by its full path."""
    held = store
    while not isinstance(held, LocalStore | S3Store):
        if not isinstance(held, ReadOnly | Remembering):
            raise BadInput(
                f"store: other processes cannot reach {store.url!r}, which is in the memory of this one; "
                "give a folder that all of them see, or s3://bucket/prefix"
            )
        held = held.inner
    return str(held.root) if isinstance(held, LocalStore) else held.url


def _arrived(url: str) -> Travelling:
    return Travelling(open_store(url))


READ_BLOCK_BYTES = 128 * 1024   # read at once of a value that is read as a file


def open_reader(store: Store, key: str) -> BinaryIO:
    """The value under key as a seekable read-only binary file, or KeyMissing. The caller closes it.

    Reading part of a value: a file-like view over a store's range reads.

    pyarrow reads a Parquet file's footer and then only the columns and row groups it is asked for, so a
    frozen part of many megabytes in S3 costs a few small requests. Small reads fetch `block` bytes and the
    next ones are answered from them; a read larger than that is fetched as it is.
    """
    if isinstance(store, LocalStore):
        return store.open(key)
    return cast(BinaryIO, RangeReader(store, key))


class RangeReader(io.RawIOBase):
    """A seekable, read-only file over one value of a store. Not to be shared between threads.

    `read(n)` gives n bytes unless the value ends first. Raises KeyMissing when made, and whatever
    `store.get_range` raises later.
    """

    def __init__(self, store: Store, key: str, block: int = READ_BLOCK_BYTES) -> None:
        super().__init__()
        self._store = store
        self._key = key
        self._size = store.size(key)
        self._block = block
        self._position = 0
        self._held_from = 0
        self._held = b""

    def readable(self) -> bool:
        """True: a value of a store can always be read."""
        return True

    def seekable(self) -> bool:
        """True: reading may always go on at any byte."""
        return True

    def tell(self) -> int:
        """The position of the next byte that is read, counted from the start of the value. Nothing is read
        for it."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """The new position, in bytes from the start of the value; it may lie behind its end, and no request
        is made. Raises ValueError for a position before the start, and for another `whence` than 0, 1 or
        2."""
        origins = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}
        if whence not in origins:
            raise ValueError(f"whence is {whence}, not 0, 1 or 2")
        position = origins[whence] + offset
        if position < 0:
            raise ValueError(f"cannot seek to byte {position}")
        self._position = position
        return position

    def read(self, size: int | None = -1) -> bytes:
        """Exactly `size` bytes, or what is left of the value (all of it for -1). Raises ValueError after it
        was closed, and what the store raises."""
        if self.closed:
            raise ValueError(f"read of {self._key!r} after it was closed")
        bytes_left = max(0, self._size - self._position)
        length = bytes_left if size is None or size < 0 else min(size, bytes_left)
        blob = self._fetch(self._position, length)
        self._position += len(blob)
        return blob

    def readall(self) -> bytes:
        """The bytes from the present position to the end of the value."""
        return self.read()

    def readinto(self, buffer: "Buffer") -> int:
        """Fill the buffer as far as the value goes; gives the number of bytes."""
        view = memoryview(buffer).cast("B")
        blob = self.read(len(view))
        view[: len(blob)] = blob
        return len(blob)

    def _fetch(self, start: int, length: int) -> bytes:
        if length == 0:
            return b""
        if length > self._block:
            return self._store.get_range(self._key, start, length)
        if not (self._held_from <= start and start + length <= self._held_from + len(self._held)):
            # A read near the end (a footer) takes the last block, so that what precedes it is held as well.
            self._held_from = max(0, min(start, self._size - self._block))
            self._held = self._store.get_range(self._key, self._held_from, self._block)
        offset = start - self._held_from
        return self._held[offset : offset + length]
