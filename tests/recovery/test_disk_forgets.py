"""A power cut on a disk that forgets whatever was not flushed: a key that was put is there, whole.

Promised: once `put` has returned, its key survives a power cut, with every folder it lies in, whoever put it
first. A key whose `put` was cut off is there whole, or not at all. No order between keys is needed beyond
that: each is put before the next begins.
"""

import os
from pathlib import Path

import pytest

from assay.tasks.ledger.checkpoints import put_derived
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores import local
from assay.tasks.ledger.stores.local import LocalStore

KEYS = {
    "spam/spec.json": b"what", "spam/rounds/0001/plan.parquet": b"p" * 5000, "spam/log/000001.json": b"{}",
}


class PowerCut(BaseException):
    """Nothing on the way up may catch it."""


class ForgetfulDisk:
    """What would be there after a power cut: bytes that were flushed, under names whose folder was."""

    def __init__(self, root, monkeypatch, cut_at=None):
        self.root, self.cut_at, self.calls = Path(root), cut_at, 0
        self.flushed: dict[int, bytes] = {}              # inode -> bytes on the disk
        self.named: dict[Path, dict[str, int]] = {}      # folder -> the entries it has on the disk
        self._real = {name: getattr(os, name) for name in ("fsync", "link", "mkdir")}
        for name, call in self._real.items():
            monkeypatch.setattr(os, name, self._watched(name, call))

    def _watched(self, name, call):
        def watched(*arguments, **more):
            self.calls += 1
            if self.calls == self.cut_at:
                raise PowerCut(f"before {name}")
            result = call(*arguments, **more)
            if name == "fsync":
                self._flush(arguments[0])
            return result

        return watched

    def _flush(self, descriptor):
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.is_dir():
            self.named[path] = {one.name: one.stat().st_ino for one in path.iterdir()}
        else:
            self.flushed[path.stat().st_ino] = path.read_bytes()

    def after_a_power_cut(self):
        """Key -> bytes: files whose bytes were flushed, in folders that are on the disk from the root on."""
        found, waiting = {}, [self.root]
        while waiting:
            folder = waiting.pop()
            for name, inode in self.named.get(folder, {}).items():
                path = folder / name
                if path.is_dir():
                    waiting += [] if name.startswith(".") else [path]
                else:
                    found[str(path.relative_to(self.root))] = self.flushed.get(inode, b"")
        return found


def put_all(root, monkeypatch, cut_at=None):
    """The disk, and the keys whose `put` had returned."""
    disk, done = ForgetfulDisk(root, monkeypatch, cut_at), []
    store = LocalStore(Path(root))
    try:
        for key, blob in KEYS.items():
            store.put(key, blob)
            done.append(key)
    except PowerCut:
        pass
    return disk, done


def test_what_was_put_survives_and_what_was_not_is_whole_or_not_there(tmp_path, monkeypatch):
    root = tmp_path / "whole"
    root.mkdir()
    with monkeypatch.context() as patched:
        disk, done = put_all(root, patched)
    assert (done, disk.after_a_power_cut()) == (list(KEYS), KEYS)
    assert disk.calls > 10
    for at in range(1, disk.calls + 1):
        root = tmp_path / f"cut-{at}"
        root.mkdir()
        with monkeypatch.context() as patched:
            cut, done = put_all(root, patched, at)
        left = cut.after_a_power_cut()
        assert all(left.get(key) == KEYS[key] for key in done), f"forgotten, cut at {at}"
        assert all(blob == KEYS[key] for key, blob in left.items()), f"half a value, cut at {at}"
        # and the next process goes on
        store = LocalStore(root)
        assert {key: store.put(key, blob) for key, blob in KEYS.items()} == KEYS


def test_a_key_that_somebody_else_put_and_did_not_flush_survives_once_put_has_said_so(tmp_path, monkeypatch):
    key, blob = "spam/log/000001.json", b"first"
    with monkeypatch.context() as patched:
        patched.setattr(local, "flush_folder", lambda folder: None)
        LocalStore(tmp_path).put(key, blob)       # killed before it flushed
    with monkeypatch.context() as patched:
        disk = ForgetfulDisk(tmp_path, patched)
        disk.flushed = {one.stat().st_ino: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}
        assert LocalStore(tmp_path).put(key, b"second") == blob
    assert disk.after_a_power_cut() == {key: blob}


def test_what_is_kept_while_a_pool_is_frozen_waits_for_no_disk_and_is_made_anew_where_it_was_cut(
    tmp_path, monkeypatch
):
    key, blob = "index/freezing/spam/000000-aa-0000.ids", b"hashes"
    with monkeypatch.context() as patched:
        disk = ForgetfulDisk(tmp_path, patched)
        LocalStore(tmp_path).put(key, blob)
        assert key not in disk.after_a_power_cut()
        flushed = disk.flushed.copy()
        LocalStore(tmp_path).discard(key)
        assert disk.flushed == flushed
    store = LocalStore(tmp_path)
    store.put(key, b"")          # what a power cut leaves: a name without its bytes
    put_derived(Ledger(store, "spam"), key, blob, ())
    assert store.get(key) == blob


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_double_forgets_what_is_not_flushed(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "flush_folder", lambda folder: None)
    with monkeypatch.context() as patched:
        disk, _ = put_all(tmp_path, patched)
    assert disk.after_a_power_cut() == {}
