"""From the address of a store (`store:` in a spec, --store, ASSAY_STORE) to the store.

    s3://bucket/prefix      an S3 bucket; endpoint and credentials come from the AWS_* environment
    file:///absolute/path   a folder; %20 and the like are decoded, as in any URL
    file://./relative       a folder below the current one
    some/path, ~/path       a folder

Addresses are printed and written down, so one that carries credentials is refused without being repeated.
"""

import re
from pathlib import Path
from urllib.parse import unquote

from assay.evalcore.errors import BadInput
from assay.tasks.addresses import refuse_secrets
from assay.tasks.ledger.stores.key_check import is_key
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.ledger.stores.s3 import S3Store
from assay.tasks.operating_system import path_in_file_address

ACCEPTED = "s3://bucket/prefix, file:///absolute/folder, file://./relative/folder, or the path of a folder"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_MAX_PREFIX_BYTES = 250


def open_store(url: str) -> Store:
    """The store at this address, not yet contacted. BadInput says what is wrong with the address."""
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
    rest = url[scheme.end() :]
    match scheme[1].lower(), bool(scheme[2]):
        case "s3", True:
            return _s3(rest, url)
        case "file", True:
            return _file(rest, url)
        case name, False:
            raise BadInput(f"{name + ':'!r} needs two slashes after it; the address may be {ACCEPTED}")
        case name, _:
            raise BadInput(f"{name!r} is not a kind of store; the address may be {ACCEPTED}")


def _file(rest: str, url: str) -> Store:
    if not rest.startswith(("/", "./", "../")) and rest not in (".", ".."):
        raise BadInput(f"{url!r} names another machine; the address may be {ACCEPTED}")
    path = path_in_file_address(unquote(rest))
    if "\0" in path:
        raise BadInput("the address of the store has a NUL character in it")
    return LocalStore(Path(path), url=url)


def _s3(rest: str, url: str) -> Store:
    bucket, _, prefix = rest.partition("/")
    if "@" in bucket or ":" in bucket:
        raise BadInput(
            "an s3:// address holds only a bucket and a prefix: give credentials in AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, and the server's address in AWS_ENDPOINT_URL"
        )
    if "?" in rest or "#" in rest:
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
