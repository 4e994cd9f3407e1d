"""A folder store when the disk is full, the power fails, or the folder is not what it should be."""

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.stores.local import LEFTOVER_SECONDS, LocalStore
from assay.tasks.ledger.stores.store import KeyMissing, StoreError, StoreUnreachable


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "ledger")


def files(store: LocalStore) -> set[str]:
    return {path.relative_to(store.root).as_posix() for path in store.root.rglob("*") if path.is_file()}


# --- a process killed while it writes ---------------------------------------------------------------------

KILLED_AT_ITS_LINK = """
import os, signal, sys
from assay.tasks.ledger.stores.local import LocalStore
link = os.link
def cut(source, target):
    if sys.argv[2] == "after":
        link(source, target)
    os.kill(os.getpid(), signal.SIGKILL)
os.link = cut
LocalStore(sys.argv[1]).put("e/rounds/0001/plan", b"the first plan")
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_leaves_the_whole_value_or_none_and_a_leftover_that_is_no_key(store: LocalStore, when: str):
    killed = subprocess.run([sys.executable, "-c", KILLED_AT_ITS_LINK, str(store.root), when], timeout=240)
    assert killed.returncode == -signal.SIGKILL
    leftovers = {name for name in files(store) if name.startswith(".temporary/")}
    assert len(leftovers) == 1
    survived = when == "after"
    assert list(store.keys()) == (["e/rounds/0001/plan"] if survived else [])
    # The next writer carries on with what survived, and its own temporary file is gone.
    won = store.put("e/rounds/0001/plan", b"a second plan")
    assert won == (b"the first plan" if survived else b"a second plan")
    assert files(store) == {"e/rounds/0001/plan"} | leftovers


def test_check_sweeps_old_leftovers_and_spares_what_may_be_at_work(store: LocalStore):
    store.put("e/spec.json", b"1")
    for name, age in [("old", LEFTOVER_SECONDS + 60), ("young", 60)]:
        leftover = store.root / ".temporary" / name
        leftover.write_bytes(b"half a val")
        os.utime(leftover, (time.time() - age, time.time() - age))
    assert list(store.keys()) == ["e/spec.json"]
    store.check()
    assert files(store) == {"e/spec.json", ".temporary/young"}


# --- a disk that refuses ----------------------------------------------------------------------------------


def full_after(monkeypatch: pytest.MonkeyPatch, room: int, code: int = errno.ENOSPC) -> None:
    """A disk with `room` bytes left: writes what fits, then refuses."""
    write, left = os.write, [room]

    def write_what_fits(descriptor: int, data: bytes) -> int:
        if left[0] == 0:
            raise OSError(code, os.strerror(code))
        written = write(descriptor, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr("assay.tasks.ledger.stores.local.os.write", write_what_fits)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_nothing_and_the_put_can_be_repeated(store: LocalStore, code: int):
    store.put("e/spec.json", b"1")
    with pytest.MonkeyPatch.context() as disk:
        full_after(disk, room=7, code=code)
        with pytest.raises(StoreError, match="cannot write 'e/plan': no space left under") as error:
            store.put("e/plan", b"more than seven bytes")
        assert str(store.root) in str(error.value)
    assert files(store) == {"e/spec.json"}
    assert store.put("e/plan", b"more than seven bytes") == b"more than seven bytes"


def test_a_limit_of_the_size_of_files_leaves_nothing_and_says_what_to_do(store: LocalStore):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(StoreError, match="ulimit"):
            store.put("e/large.json", b"x" * 101)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path for path in store.root.rglob("*") if path.is_file()] == []
    assert store.put("e/large.json", b"x" * 101) == b"x" * 101


def test_a_write_in_several_pieces_is_whole(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    write = os.write
    monkeypatch.setattr("assay.tasks.ledger.stores.local.os.write", lambda fd, data: write(fd, data[:3]))
    store.put("e/plan", b"twenty-one characters")
    assert store.get("e/plan") == b"twenty-one characters"


def test_a_flush_that_fails_leaves_nothing(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    store.put("e/spec.json", b"1")

    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as disk:
        disk.setattr("assay.tasks.ledger.stores.local.os.fsync", broken)
        with pytest.raises(StoreError, match="cannot write 'e/plan': Input/output error"):
            store.put("e/plan", b"x")
    assert files(store) == {"e/spec.json"}
    assert store.put("e/plan", b"y") == b"y"


# --- durability -------------------------------------------------------------------------------------------


def flushed_folders(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    fsync, flushed = os.fsync, []

    def remember(descriptor: int) -> None:
        fsync(descriptor)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.is_dir():
            flushed.append(path)

    monkeypatch.setattr("assay.tasks.ledger.stores.local.os.fsync", remember)
    return flushed


def test_every_folder_above_a_new_key_is_flushed(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    flushed = flushed_folders(monkeypatch)
    store.put("e/rounds/plan", b"x")
    # Each folder is an entry of the one above it; the key is an entry of the last.
    assert flushed == [store.root.parent, store.root, store.root / "e", store.root / "e/rounds"]


def test_a_loser_flushes_what_the_winner_may_not_have(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    LocalStore(store.root).put("e/plan", b"x")
    flushed = flushed_folders(monkeypatch)
    store.put("e/plan", b"y")
    assert flushed[-1] == store.root / "e"
    assert {store.root, store.root.parent} <= set(flushed)


def test_a_value_cannot_be_written_to_by_mistake(store: LocalStore):
    store.put("e/plan", b"x")
    assert (store.root / "e/plan").stat().st_mode & 0o222 == 0


# --- a folder that is not what it should be ---------------------------------------------------------------


def test_nothing_is_created_before_the_first_put(store: LocalStore):
    assert list(store.keys()) == []
    assert not store.exists("e/plan")
    store.discard("index/open/e")
    assert not store.root.exists()


def test_a_store_that_is_a_file_is_refused(tmp_path: Path):
    (tmp_path / "ledger").write_text("not a folder")
    store = LocalStore(tmp_path / "ledger")
    with pytest.raises(BadInput, match="is a file, not a folder"):
        store.check()
    with pytest.raises(BadInput):
        store.put("e/plan", b"x")


def test_a_file_system_without_hard_links_is_named(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("assay.tasks.ledger.stores.local.os.link", refuse)
    for call in (store.check, lambda: store.put("e/plan", b"x")):
        with pytest.raises(StoreError, match="no hard links"):
            call()
    assert files(store) == set()


def test_check_finds_out_that_links_overwrite(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("assay.tasks.ledger.stores.local.os.link", os.replace)
    with pytest.raises(StoreError, match="does not create links exclusively"):
        store.check()


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_we_may_not_write_to_says_so(store: LocalStore, monkeypatch: pytest.MonkeyPatch, code: int):
    store.put("e/spec.json", b"1")
    opened = os.open

    def refuse(path: Path, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(code, os.strerror(code), str(path))
        return opened(path, flags, *mode)

    monkeypatch.setattr("assay.tasks.ledger.stores.local.os.open", refuse)
    for call in (store.check, lambda: store.put("e/plan", b"x")):
        with pytest.raises(StoreUnreachable, match="the right to write there"):
            call()


def test_a_folder_that_cannot_be_listed_is_an_error_not_an_empty_ledger(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
):
    store.put("e/spec.json", b"1")

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(StoreUnreachable, match="cannot list"):
        store.keys()


def test_a_folder_made_by_hand_again_is_flushed_again(store: LocalStore, monkeypatch: pytest.MonkeyPatch):
    store.put("e/plan", b"x")
    (store.root / "e/plan").unlink()
    (store.root / "e").rmdir()
    flushed = flushed_folders(monkeypatch)
    assert store.put("e/plan", b"y") == b"y"
    assert store.root in flushed


def test_a_folder_of_the_index_goes_with_its_last_key(tmp_path):
    store = LocalStore(tmp_path)
    for key in ("index/open/e/1", "index/open/e/2", "index/x"):
        store.put(key, b"")
    store.discard("index/open/e/1")
    assert (tmp_path / "index/open/e").is_dir()
    store.discard("index/open/e/2")
    store.discard("index/x")
    assert sorted(path.name for path in (tmp_path / "index").rglob("*")) == ["open"]
    assert store.put("index/open/e/3", b"3") == b"3"


def test_a_folder_that_another_process_removes_meanwhile_is_no_error(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
):
    for key in ("index/open/e/1", "index/open/e/2"):
        store.put(key, b"")
    unlink = Path.unlink

    def both_at_once(path: Path) -> None:
        unlink(path)
        monkeypatch.undo()
        LocalStore(store.root).discard("index/open/e/2")

    monkeypatch.setattr(Path, "unlink", both_at_once)
    store.discard("index/open/e/1")
    assert not (store.root / "index/open/e").exists()


# --- what somebody put where files should be ----------------------------------------------------------------


def test_check_follows_no_link_and_removes_nothing_outside_the_store(store: LocalStore, tmp_path: Path):
    store.put("e/spec.json", b"1")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "letter").write_text("not ours")
    os.utime(outside / "letter", (0, 0))
    (store.root / ".temporary").rmdir()
    (store.root / ".temporary").symlink_to(outside)
    for call in (store.check, lambda: store.put("e/plan", b"x")):
        with pytest.raises(StoreError, match="is a link"):
            call()
    assert [path.name for path in outside.iterdir()] == ["letter"]


def test_a_named_pipe_under_a_key_is_nothing_and_is_not_waited_for(store: LocalStore):
    store.put("e/spec.json", b"1")
    os.mkfifo(store.root / "e" / "plan")
    assert list(store.keys()) == ["e/spec.json"]
    assert not store.exists("e/plan")
    for call in (store.get, store.size, store.open, lambda key: store.get_range(key, 0, 1)):
        with pytest.raises(KeyMissing):
            call("e/plan")
    with pytest.raises(StoreError, match="plan is no ordinary file; remove it"):
        store.put("e/plan", b"x")
    assert files(store) == {"e/spec.json"}
