"""The store fails: S3 through a proxy before a real server, and a disk that is full.

S3 faults meet one request of an evaluation, or that request and all that follow it for a while, which is more
than the attempts of a call. A full disk is a real small file system where one may be mounted (tmpfs), and
else a quota on what the store writes; it is full at a different byte in every trial.
"""

import csv
import errno
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from doubles.small_pool import small_spec
from services.faulty_proxy import (
    Fault,
    FaultyProxy,
    Request,
    cut_reply,
    drop_reply,
    drop_request,
    faulty_proxy,
    hang,
    s3_error,
)
from services.ledger_record import Record
from services.s3 import S3Server

from assay.tasks.desks.kind import Resources
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores import local
from assay.tasks.ledger.stores import s3 as s3_store
from assay.tasks.ledger.stores.store import MemoryStore, Store
from assay.tasks.spec.evaluation import Spec
from benchmarks.recovery.trials import FaultKind, Trial, judge, run_through

NAME = "faulted"
READ_SECONDS = 4.0     # our client waits for a reply; a minute in production
STAYS = 30             # requests in a row: more than all attempts of a call
PLENTY = "64m"
BLOCK = 4096           # bytes a disk gives at once

ANY_REQUEST: dict[str, tuple[str, str, Fault]] = {   # name: methods it is for, how, the fault
    "answers 500": ("", "the proxy answers in its stead", s3_error(500, "InternalError")),
    "answers 503 SlowDown": ("", "the proxy answers in its stead", s3_error(503, "SlowDown")),
    "does a conditional put, and its reply is lost": ("PUT", "the proxy passes on and hangs up", drop_reply),
    "never hears of it": ("", "the proxy hangs up", drop_request),
    "answers half": ("GET", "the proxy sends half of the reply and hangs up", cut_reply),
    "hangs past the timeout": (
        "", f"the proxy is silent for {READ_SECONDS + 0.5} s, the client waits {READ_SECONDS}",
        hang(READ_SECONDS + 0.5),
    ),
}


class _Evaluations:
    """Evaluations of one spec with simulated annotators, in any store."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.spec: Spec = small_spec(folder, n=60, name=NAME, budget={"labels": 4}, batch_size=2)
        with (folder / "labels.csv").open(newline="") as opened:
            self.truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
        undisturbed = Trial(kind=FaultKind(service="", fault="", injected=""))
        self.expected: Record | None = None
        self.expected = self.evaluate(undisturbed, MemoryStore())
        assert not undisturbed.said, undisturbed

    def evaluate(
        self, trial: Trial, store: Store, recover: Callable[[], None] = lambda: None
    ) -> Record:
        """A whole evaluation, judged when nothing fails any more; its record."""
        resources = Resources(store=store)
        run_through(
            trial, self.spec, store, lambda: self.spec.desk.open(self.spec.labelling, resources),
            recover=recover,
        )
        recover()
        self.done()
        return judge(trial, store, NAME, self.truth, self.expected)


    def done(self) -> None:
        """Told when the evaluation has run through, before anything is read to judge it."""


class S3Stage(_Evaluations):
    """A real S3 behind a proxy."""

    def __init__(self, folder: Path, s3: S3Server, proxy: FaultyProxy) -> None:
        self.s3, self.proxy = s3, proxy
        super().__init__(folder)
        self.requests: list[str] = []      # methods, of an undisturbed evaluation
        proxy.choose = lambda request: self.requests.append(request.method)
        self.evaluate(Trial(kind=FaultKind(service="", fault="", injected="")), open_store(s3.new_url()))

    def done(self) -> None:
        """Nothing is counted, and nothing fails, from here on."""
        self.proxy.choose = None

    def positions(self, name: str, many: int, draw: random.Random) -> list[int]:
        """So many requests by number, of the methods the fault is for, writes and reads alike."""
        methods = ANY_REQUEST[name][0]
        fitting = [n for n, method in enumerate(self.requests) if not methods or method == methods]
        return sorted(draw.sample(fitting, min(many, len(fitting))))

    def trial(self, name: str, at: int, stays: bool = False) -> Trial:
        """One of ANY_REQUEST at one request, or from it on."""
        _, injected, fault = ANY_REQUEST[name]
        kind = FaultKind(
            service="S3", fault=f"{name}, again and again" if stays else name,
            injected=f"{injected}, {STAYS} requests in a row" if stays else injected,
        )
        trial = Trial(kind=kind)
        count = 0

        def choose(_request: Request) -> Fault | None:
            nonlocal count
            count += 1
            if not at < count <= at + (STAYS if stays else 1):
                return None
            trial.injected = True
            return fault

        self.proxy.choose = choose

        def recover() -> None:
            self.proxy.choose = None       # the outage is over

        self.evaluate(trial, open_store(self.s3.new_url()), recover)
        return trial


@contextmanager
def s3_stage(folder: Path, s3: S3Server) -> Iterator[S3Stage]:
    """A stage with a proxy of its own, an impatient client, and the environment that leads to it."""
    kept = {name: os.environ.get(name) for name in s3.environment}
    seconds = s3_store.S3_READ_SECONDS
    with faulty_proxy(s3.endpoint) as proxy:
        os.environ.update(s3.environment)
        os.environ.update({"AWS_ENDPOINT_URL": proxy.url, "AWS_ENDPOINT_URL_S3": proxy.url})
        s3_store.S3_READ_SECONDS = READ_SECONDS  # type: ignore[assignment]
        try:
            yield S3Stage(folder, s3, proxy)
        finally:
            s3_store.S3_READ_SECONDS = seconds
            s3_store._shared_client.cache_clear()
            for name, value in kept.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


class DiskStage(_Evaluations):
    """A local store on a disk that fills up."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder
        self.size = self._size_of_a_ledger()

    def trial(self, share: float) -> Trial:
        """The disk has room for this share of a ledger."""
        room = int(share * self.size)
        mounted = _mount(self.folder / "disk", room)
        how = (
            "a real file system of a few hundred kB (tmpfs), enlarged after the error" if mounted
            else "a quota on what the store writes, lifted after the error"
        )
        trial = Trial(kind=FaultKind(service="disk", fault="is full", injected=how))
        if mounted:
            with _unmounted_after(self.folder / "disk"):
                store = open_store(str(self.folder / "disk" / "ledger"))
                self.evaluate(trial, store, lambda: _enlarge(self.folder / "disk"))
        else:
            with _quota(room) as quota:
                store = open_store(str(self.folder / f"ledger-{room}"))
                self.evaluate(trial, store, quota.lift)
        trial.injected = any("no space left" in message for message in trial.said)
        return trial

    def _size_of_a_ledger(self) -> int:
        """Bytes on a disk of 4 kB blocks: what an undisturbed evaluation takes."""
        folder = self.folder / "undisturbed"
        self.evaluate(Trial(kind=FaultKind(service="", fault="", injected="")), open_store(str(folder)))
        return sum(-(-path.stat().st_size // BLOCK) * BLOCK for path in folder.rglob("*") if path.is_file())


class _Quota:
    def __init__(self, room: int) -> None:
        self.room: float = room

    def lift(self) -> None:
        """Room for everything from now on."""
        self.room = float("inf")


@contextmanager
def _quota(room: int) -> Iterator[_Quota]:
    """The local store may write so many bytes; then half a value is written and ENOSPC comes."""
    quota, write = _Quota(room), local.write_durably

    def limited(path: Path, blob: bytes, *, read_only: bool, flush: bool = True) -> None:
        blocks = -(-len(blob) // BLOCK) * BLOCK
        if blocks > quota.room:
            path.write_bytes(blob[: len(blob) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        quota.room -= blocks
        write(path, blob, read_only=read_only, flush=flush)

    local.write_durably = limited
    try:
        yield quota
    finally:
        local.write_durably = write


def _mount(folder: Path, room: int) -> bool:
    """Whether a file system of so many bytes is now mounted there."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={max(room, BLOCK)},nr_inodes=0", "tmpfs", str(folder)]
    with suppress(OSError):
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return False


def _enlarge(folder: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,size={PLENTY}", str(folder)], capture_output=True, check=True)


@contextmanager
def _unmounted_after(folder: Path) -> Iterator[None]:
    """The mounted file system, gone when the block ends."""
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], capture_output=True, check=False)
