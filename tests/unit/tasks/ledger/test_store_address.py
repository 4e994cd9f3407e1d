"""Addresses of stores: what is accepted, what is refused, and that credentials in them are never repeated."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.s3 import S3Store


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("assay-ledger", "assay-ledger"),
        ("./a/b", "a/b"),
        ("file://./a/b", "a/b"),
        ("FILE://./a", "a"),
        ("file://.", "."),
        ("a folder/100%", "a folder/100%"),  # a path is taken as it is ...
        ("file://./a%20folder", "a folder"),  # ... a URL is decoded
        ("a:b", "a:b"),
        ("/srv/ledger", "/srv/ledger"),
        ("file:///srv/ledger", "/srv/ledger"),
    ],
)
def test_folders(url: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    store = open_store(url)
    assert isinstance(store, LocalStore)
    assert store.root == tmp_path / folder
    assert store.url == url
    monkeypatch.chdir("/")  # the place does not move with us
    assert store.root == tmp_path / folder


def test_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    store = open_store("~/ledger")
    assert isinstance(store, LocalStore)
    assert store.root == tmp_path / "ledger"


@pytest.mark.parametrize(
    ("url", "bucket", "prefix"),
    [
        ("s3://models/dedup/2026", "models", "dedup/2026"),
        ("s3://models", "models", ""),
        ("S3://models/", "models", ""),
        ("s3://my.models-1/a b/", "my.models-1", "a b"),
    ],
)
def test_buckets(url: str, bucket: str, prefix: str):
    store = open_store(url)
    assert isinstance(store, S3Store)
    assert (store.bucket, store.prefix, store.url) == (bucket, prefix, url)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("a\0b", "NUL"),
        ("gs://models/x", "'gs' is not a kind of store"),
        ("https://models/x", "'https' is not a kind of store"),
        ("s3:models/x", "'s3:' needs two slashes"),
        ("file:/srv/x", "'file:' needs two slashes"),
        ("file://server/share", "another machine"),
        ("s3://", "cannot be a bucket"),
        ("s3:///x", "cannot be a bucket"),
        ("s3://ab/x", "3 to 63"),
        ("s3://Models/x", "cannot be a bucket"),
        ("s3://models/../x", "cannot be a prefix"),
        ("s3://models/a//b", "cannot be a prefix"),
        ("s3://models/.hidden", "cannot be a prefix"),
        ("s3://models/" + "x/" * 200, "at most 250 bytes"),
        ("s3://models/x?endpoint_url=http://h", "AWS_ENDPOINT_URL"),
        ("s3://127.0.0.1:8333/models", "AWS_ENDPOINT_URL"),
    ],
)
def test_other_addresses_are_refused_with_the_remedy(url: str, complaint: str):
    with pytest.raises(BadInput, match=complaint):
        open_store(url)


@pytest.mark.parametrize(
    "url", ["s3://key:hunter2@models/x", "https://key:hunter2@host/x", "s3://models/x?secret=hunter2", "gs://hunter2"]
)
def test_credentials_in_an_address_are_not_repeated(url: str):
    with pytest.raises(BadInput) as error:
        open_store(url)
    assert "hunter2" not in str(error.value)


def test_an_address_is_opened_without_importing_boto3():
    code = (
        "import sys; from assay.tasks.ledger import open_store; open_store('s3://models'); "
        "sys.exit('boto3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=240).returncode == 0


def test_a_file_is_no_store_to_look_in(tmp_path, capsys):
    (tmp_path / "spec.yaml").write_text("name: x")
    assert run_command_line(["status", "--store", str(tmp_path / "spec.yaml")]) == 2
    assert "is a file, not a folder" in capsys.readouterr().err
