"""What two ledgers of one evaluation must have in common, whatever happened on the way to them.

Keys that hold random words or count attempts are left out (identities, posts), and so is what names answers
by their digest: an answer holds the moment it was given. Of times it is compared that they are there, and
that none is earlier than the one before. Everything else is compared: keys, columns, values. Of the answers
themselves it is who was asked and what was said. A kind of key that is not known here is compared like all
others, so whoever adds one need not add it here.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from assay.tasks.ledger import record as codec
from assay.tasks.ledger.findings import value_differences
from assay.tasks.ledger.stores.store import Store

_BESIDE = re.compile(r"(.+/)?(identity|sources|seal)\.json|.+/posts/.+")
_LOG = re.compile(r"log/[0-9]+\.json")   # of an entry it is compared which record it put
_TIMES = re.compile(r"(.+/)?times\.json")
_ANSWER = re.compile(r"(.+/)annotations/[0-9a-f]{64}\.json")
_PACK = re.compile(r".+/pack\.jsonl")   # the answers of a closed round, once more
_FILE_INSIDE = b64encode(b"PAR1").decode()[:5]   # how one begins
_NAMES_ANSWERS = "annotations"   # a column, or a field, of digests of answers

Record = Mapping[str, Any]


def record_of(store: Store, evaluation: str) -> Record:
    """Key below the evaluation -> its value, in a form that can be compared."""
    record: dict[str, Any] = {}
    times: list[str] = []
    for key in store.keys(f"{evaluation}/"):
        below = key.removeprefix(f"{evaluation}/")
        answer = _ANSWER.fullmatch(below)
        if answer:
            record.setdefault(f"{answer[1]}annotations", set()).add(_said(store.get(key), key))
        elif _PACK.fullmatch(below):
            record[below] = {_said(line, key) for line in store.get(key).splitlines()}
        elif _TIMES.fullmatch(below):
            record[below] = "a time"
            times += codec.from_json(store.get(key), key).values()
        elif _LOG.fullmatch(below):
            record[below] = codec.from_json(store.get(key), key)["key"]
        elif not _BESIDE.fullmatch(below):
            record[below] = _value(key, store.get(key))
    record["times in order"] = sorted(times) in (times, [*times[-1:], *times[:-1]])
    return {key: sorted(value) if isinstance(value, set) else value for key, value in record.items()}


def record_differences(found: Record, expected: Record) -> list[str]:
    """Every place where two records differ; nothing if they are the same evaluation."""
    return list(_differences(found, expected))


def _differences(found: Record, expected: Record) -> Iterator[str]:
    for key in sorted({*found, *expected}):
        if key not in found or key not in expected:
            yield f"{key} is {'missing' if key in expected else 'one too many'}"
        else:
            yield from (f"{key}: {one}" for one in value_differences(found[key], expected[key]))


def _said(answer: bytes, key: str) -> tuple[str, str, str]:
    """The item, whether it was skipped, and what was said of it."""
    said = codec.from_json(answer, key)
    return said["item_id"], said["kind"], str(said["label"])


def _value(key: str, blob: bytes) -> Any:
    if key.endswith(".json"):
        return _without_digests(codec.from_json(blob, key))
    if key.endswith(".parquet"):
        columns, attached = codec.from_parquet(blob, key)
        return {"columns": _without_digests(columns), "attached": _opened(attached, key)}
    return blob.hex()


def _opened(attached: Mapping[str, str], key: str) -> dict[str, Any]:
    """What is attached to a file, with a file inside it (the design, in a plan) read like any other.

    The last bit of its numbers depends on how many threads a process adds up with.
    """
    return {
        name: _value(f"{key}.parquet", b64decode(text)) if text.startswith(_FILE_INSIDE) else text
        for name, text in attached.items()
    }


def _without_digests(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_digests(it) for name, it in value.items() if name != _NAMES_ANSWERS}
    return [_without_digests(one) for one in value] if isinstance(value, list) else value
