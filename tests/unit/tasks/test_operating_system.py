"""What systems do differently, by taking away here what others do not have."""

import errno
import io
import os
import re
import signal
import stat
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from assay.evalcore.errors import BadInput
from assay.tasks import operating_system as ours
from assay.tasks.desks.label_studio import local
from assay.tasks.desks.label_studio.local import LocalLabelStudioError
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.opening import open_store
from assay.tasks.ledger.stores.store import KeyMissing
from assay.tasks.sources.reader import list_local

HOUSE = Path(__file__).parents[3] / "assay"
# what some system does not have, or does otherwise
GUARDED = re.compile(
    r"\bO_(?!WRONLY|CREAT|APPEND|RDONLY|EXCL)[A-Z]+|\bfcntl\b|\bpthread_\w+|\bsched_getaffinity|\bfchmod"
    r"|\bumask\(|\bos\.fork|\bos\.name\b|sys\.platform|\bsymlink|\bSIGKILL|\bgetuid|\bos\.rename|\.rename\("
)
# not in the core: Linux and macOS only
OUTSIDE = {"tasks/desks/label_studio/local.py"}


@pytest.fixture
def windows(monkeypatch):
    monkeypatch.setattr(ours, "WINDOWS", True)


def test_nothing_else_asks_which_system_it_is():
    found = {
        path.relative_to(HOUSE).as_posix()
        for folder in ("evalcore", "tasks", "flows", "face")
        for path in (HOUSE / folder).rglob("*.py") for line in path.read_text(encoding="utf-8").splitlines()
        if GUARDED.search(line.partition("#")[0])
    }
    # a pool that is renamed onto a file: refused before, so it does not matter who overwrites
    assert found - OUTSIDE == {"tasks/operating_system.py", "tasks/connectors/tables.py"}


def test_files_are_written_as_bytes_and_are_not_inherited(tmp_path, monkeypatch):
    asked = []
    plain = os.open
    monkeypatch.setattr(ours, "AS_BYTES", 1 << 30)
    monkeypatch.setattr(os, "open", lambda path, flags, mode: (asked.append(flags), plain(
        path, flags & ~(1 << 30), mode))[1])
    ours.write_durably(tmp_path / "new", b"a\nb\r\n", read_only=True)
    assert (tmp_path / "new").read_bytes() == b"a\nb\r\n"
    assert asked[0] & (1 << 30)
    assert asked[0] & os.O_CLOEXEC
    with pytest.raises(FileExistsError):
        ours.write_durably(tmp_path / "new", b"", read_only=True)


def test_a_value_is_read_only_where_its_other_name_can_still_be_removed(tmp_path, monkeypatch):
    ours.write_durably(tmp_path / "here", b"", read_only=True)
    assert not (tmp_path / "here").stat().st_mode & stat.S_IWUSR
    monkeypatch.setattr(ours, "WINDOWS", True)
    ours.write_durably(tmp_path / "there", b"", read_only=True)
    assert (tmp_path / "there").stat().st_mode & stat.S_IWUSR


def test_where_folders_cannot_be_opened_a_store_keeps_values_all_the_same(tmp_path, monkeypatch, windows):
    plain = os.open

    def no_folder(path, *given, **more):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "a folder", str(path))
        return plain(path, *given, **more)

    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.setattr(os, "open", no_folder)
    store = LocalStore(tmp_path / "store")
    store.check()
    assert store.put("a/b", b"first") == b"first"
    assert store.put("a/b", b"second") == b"first"
    assert list(store.keys()) == ["a/b"]


def test_a_key_that_is_a_folder_of_others_holds_nothing_whatever_the_system_calls_it(tmp_path, monkeypatch):
    store = LocalStore(tmp_path)
    store.put("a/b", b"")
    refused = PermissionError(errno.EACCES, "a folder", str(tmp_path / "a"))

    def denied(_path):
        raise refused

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(KeyMissing):
        store.get("a")


def test_processors_are_counted_where_nobody_says_which_are_ours(monkeypatch):
    assert ours.available_processors() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert ours.available_processors() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert ours.available_processors() == 1


def _threads():
    np.eye(2) @ np.eye(2)   # what multiplies is there
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.mark.skipif(not _threads(), reason="the linear algebra of this machine says nothing of threads")
def test_threads_come_back_when_the_last_is_done(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with threadpool_limits(limits=2, user_api="blas"):
        before = _threads()
        first, second = ours.one_thread(), ours.one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert _threads() == {1}
        second.__exit__(None, None, None)
        assert _threads() == before
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
        with ours.one_thread():
            assert _threads() == before


def test_interrupts_are_held_where_they_can_be(monkeypatch):
    with ours.interrupts_held():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    mask = signal.pthread_sigmask
    monkeypatch.delattr(signal, "pthread_sigmask")
    with ours.interrupts_held():
        assert signal.SIGINT not in mask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize(
    ("rest", "there", "here"),
    [("/C:/pools/a.csv", "C:/pools/a.csv", "/C:/pools/a.csv"), ("/srv/a.csv", "/srv/a.csv", "/srv/a.csv"),
     ("./a", "./a", "./a"), ("", "", "")],
)
def test_a_file_address_may_name_a_drive(monkeypatch, rest, there, here):
    assert ours.path_in_file_address(rest) == here
    monkeypatch.setattr(ours, "WINDOWS", True)
    assert ours.path_in_file_address(rest) == there


def test_a_drive_is_no_kind_of_store(windows):
    assert open_store("C:\\ledger").url == "C:\\ledger"
    assert open_store("file:///C:/ledger").root.name == "ledger"
    with pytest.raises(BadInput, match="not a kind of store"):
        open_store("ftp://host/ledger")


def test_paths_with_backslashes_are_split_like_others(monkeypatch, windows):
    pieces = ["data\\_hidden\\a.csv", "data\\b\\a.csv", "data\\.c.csv"]
    monkeypatch.setattr("assay.tasks.sources.reader.glob", lambda source, recursive: pieces)
    monkeypatch.setattr(os.path, "isfile", lambda name: True)
    monkeypatch.setattr("assay.tasks.sources.reader.LocalFile.at", lambda path: path)
    assert list_local("data\\**\\*.csv") == ["data/b/a.csv"]


def test_pipes_get_utf8(monkeypatch, windows):
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    out = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr("sys.stdout", out)
    ours.print_as_utf8()
    print("≥ 0.8", flush=True)
    assert out.buffer.getvalue() == "≥ 0.8\n".encode()


def test_a_label_studio_of_this_machine_is_refused_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(local, "WINDOWS", True)
    with pytest.raises(LocalLabelStudioError, match=r"Linux and macOS only.*desk\.url"):
        local.install(tmp_path)
    assert not list(tmp_path.iterdir())
