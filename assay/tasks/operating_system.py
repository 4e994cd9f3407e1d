"""What Linux, macOS and Windows do differently. Nothing else in the core asks which one it is.

Beyond the core, a Label Studio of this machine is started on Linux and macOS only (desks/label_studio/local).
"""

import errno
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

WINDOWS = os.name == "nt"
INTERRUPTED = 130     # the exit code after Ctrl-C: 128 and the number of the signal, as shells have it
OUTPUT_CLOSED = 141   # after the reader of a pipe went away, in the same way
SAFE = "interrupted; nothing is lost: run the same command again"
_EVERYBODY_READS = 0o444   # mode of a file that nobody writes
AS_BYTES = getattr(os, "O_BINARY", 0)         # Windows: or each line feed would become two bytes
NOT_INHERITED = getattr(os, "O_CLOEXEC", 0)   # flags of os.open, where there are such
NOT_WAITING = getattr(os, "O_NONBLOCK", 0)
NOT_FOLLOWING = getattr(os, "O_NOFOLLOW", 0)   # of a link
_HEAPS, _OWN_PAGES, _KEPT_FREE = -8, -3, -1   # M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h
_CANNOT_FLUSH = (errno.EINVAL, errno.EOPNOTSUPP)   # some file systems cannot flush a folder


def write_durably(path: Path, blob: bytes, *, read_only: bool, flush: bool = True) -> None:
    """Create a file with these bytes, on the disk when this returns. FileExistsError if there is one.

    read_only   nobody may write to it. Not on Windows, where a read-only file could not be removed again
    flush       False: it reaches the disk when the system likes, as of what a power cut may take
    """
    mode = _EVERYBODY_READS if read_only and not WINDOWS else 0o666   # less what the umask forbids
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOT_INHERITED | AS_BYTES
    descriptor = os.open(path, flags, mode)
    try:
        remainder = memoryview(blob)
        while remainder:
            remainder = remainder[os.write(descriptor, remainder) :]
        if flush:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system can: Windows opens no folder."""
    as_folder = getattr(os, "O_DIRECTORY", None)
    if as_folder is None:
        return
    descriptor = os.open(folder, os.O_RDONLY | as_folder | NOT_INHERITED)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_FLUSH:
            raise
    finally:
        os.close(descriptor)


def nobody_reads(descriptor: int) -> bool:
    """Whether it is a pipe whose reader went away. Windows cannot tell: then no."""
    poll = getattr(select, "poll", None)
    if poll is None:
        return False
    poller = poll()
    poller.register(descriptor, 0)      # errors alone, which need not be asked for
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poller.poll(0))


def available_processors() -> int:
    """How many this process may use; on macOS and Windows, how many there are."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


class ThreadLimits(Protocol):
    """Limits of the threads of libraries, as threadpoolctl sets them until they are taken back."""

    def restore_original_limits(self) -> None: ...


class _OneThread:
    """How many calls are inside `one_thread`, and what gives the threads back after the last."""

    lock = threading.Lock()
    inside = 0
    limits: "ThreadLimits | None" = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra on one thread meanwhile, in the whole process, unless the environment says how many.

    Our matrices are small: a second thread mostly waits for the first, and takes a processor to do so.
    """
    if "OPENBLAS_NUM_THREADS" in os.environ:
        yield
        return
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with _OneThread.lock:
        _OneThread.inside += 1
        if _OneThread.inside == 1:
            _OneThread.limits = threadpool_limits(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _OneThread.lock:
            _OneThread.inside -= 1
            if _OneThread.inside == 0 and _OneThread.limits is not None:
                _OneThread.limits.restore_original_limits()


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Ctrl-C waits until the end, for this thread and the processes that it starts. Not on Windows."""
    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None:
        yield
        return
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)


def path_in_file_address(address: str) -> str:
    """What follows `file://`, as a path: on Windows `/C:/pools` is C:/pools."""
    return address[1:] if WINDOWS and address[:1] == "/" and address[2:3] == ":" else address


def with_slashes(path: str) -> str:
    """A path as Python and we split it: with slashes, where Windows would write backslashes."""
    return path.replace("\\", "/") if WINDOWS else path


def print_as_utf8() -> None:
    """Pipes and files get UTF-8, as terminals do: on Windows, else the alphabet of the region, without ≥."""
    for stream in (sys.stdout, sys.stderr):
        if WINDOWS and stream is not None and not os.environ.get("PYTHONIOENCODING"):
            stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]


def in_the_way_of(folder: Path) -> Path | None:
    """The nearest path above the folder (or itself) that exists, if it is no folder we may write to.

    None if nothing is in the way.
    """
    nearest = folder.absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    usable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    return None if usable else nearest


def share_memory_of_threads() -> None:
    """Let all threads of this process share two heaps, where the C library is glibc.

    It makes a heap for each thread that is busy, up to eight a processor, and what one has given back no
    other uses: a service of many threads grows for a long time.
    """
    _tell_malloc({_HEAPS: 2})


def keep_freed_memory() -> None:
    """Let this process, which works through pieces of one size and then ends, use again what it has freed,
    where the C library is glibc.

    It gives arrays of a few megabytes back to the system at once, which fills each new one with zeros: a
    tenth of the time of a freeze. The most that is held at once stays the same.
    """
    _tell_malloc({_OWN_PAGES: 32 << 20, _KEPT_FREE: 1 << 30})


def _tell_malloc(settings: Mapping[int, int]) -> None:
    import ctypes

    try:
        for name, value in settings.items():
            ctypes.CDLL(None).mallopt(name, value)
    except (AttributeError, OSError, TypeError):   # another C library: it has its own ways
        return
