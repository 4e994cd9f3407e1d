"""The life of an evaluation: what was asked of it, when it began, when its rounds closed, why it ended, and
that it was given more labels afterwards.

    spec.json        what was asked of it, or of a monitor
    identity.json    a random word that distinguishes evaluations of one name
    times.json       when it began; a time beside each round when it closed. Never compared
    ending.json      why it ended; an evaluation that was extended ends again, `extensions/0001/ending.json`

Besides, the index of the evaluations that have not ended: sweeps advance what is in it. It is no evidence,
and can be rebuilt.
"""

import json
import platform
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import Any, NotRequired
from uuid import uuid4

from typing_extensions import TypedDict

from assay.evalcore.errors import DISTRIBUTION, BadInput
from assay.evalcore.evaluation.stopping import StopReason, Verdict
from assay.tasks.effects import flow_run_id, retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.log import put_logged_record
from assay.tasks.ledger.record import Ledger, find_bytes, find_record, put_record
from assay.tasks.ledger.stores.store import Store

LEDGER_FORMAT = 1   # the next one where what older versions would misread is written

_DECIDE_NUMBERS = {"assay": DISTRIBUTION, "numpy": "numpy", "scipy": "scipy", "pyarrow": "pyarrow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenMethod:
    """The method that `auto` chose when the evaluation began, why it did, and what its interval rests on:
    nothing, or the score. None there in ledgers of version 1.0, which did not say it."""

    method: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Whose it is, and what a label costs, as the spec says; None where it does not."""

    owner: str | None = None
    team: str | None = None
    price_per_label: float | None = None     # in whatever the team counts in
    judge_cost: float | None = None          # of all judgements that were paid for, in the same
    pilot_labels: int | None = None          # that were paid for before the evaluation began

    @property
    def in_words(self) -> str:
        """Owner and team in words, as in `ada@example.com, team search`; empty text where the spec names
        neither. It stands in messages and on pages."""
        return ", ".join(filter(None, [self.owner, f"team {self.team}" if self.team else None]))


NOBODYS = Ownership()   # of a spec that says nothing of it


class OwnershipJson(TypedDict):
    """Whose it is; each key only where the spec gives it."""

    owner: NotRequired[str]
    team: NotRequired[str]
    price_per_label: NotRequired[float]
    judge_cost: NotRequired[float]
    pilot_labels: NotRequired[int]


def ownership_json(ownership: Ownership) -> OwnershipJson:
    """Owner, team and price of a label as an object of JSON, each key only where the spec gives it. The price
    is a number in the owner's currency."""
    document: OwnershipJson = {}
    if ownership.owner is not None:
        document["owner"] = ownership.owner
    if ownership.team is not None:
        document["team"] = ownership.team
    if ownership.price_per_label is not None:
        document["price_per_label"] = ownership.price_per_label
    if ownership.judge_cost is not None:
        document["judge_cost"] = ownership.judge_cost
    if ownership.pilot_labels is not None:
        document["pilot_labels"] = ownership.pilot_labels
    return document


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSpec:
    """The record `spec.json`: a spec as its own JSON, the versions of what began the evaluation or monitor,
    what `auto` chose where it was left the choice, and the format of the whole ledger."""

    spec: Mapping[str, Any]
    versions: Mapping[str, str]         # see `versions`
    auto: ChosenMethod | None = None    # where the method was left to `auto`
    format: int = 1                     # of the whole ledger; the first ones did not say


class OtherFormat(BadInput):
    """A ledger of another format than this version reads; the message names the version that wrote it."""


def write_spec(ledger: Ledger, recorded: RecordedSpec) -> RecordedSpec:
    """The spec that is under its key afterwards: ours, or that of whoever wrote first. Raises OtherFormat
    for a ledger of another format, and DamagedRecord."""
    return _of_our_format(ledger, ledger.put(layout.spec(ledger.name), record.encode(recorded)))


def read_spec(ledger: Ledger) -> RecordedSpec:
    """The spec that an evaluation or monitor was begun with. Raises KeyMissing where nothing was asked,
    OtherFormat for a ledger of another format, and DamagedRecord."""
    return _of_our_format(ledger, ledger.get(layout.spec(ledger.name)))


def find_spec(ledger: Ledger) -> RecordedSpec | None:
    """The spec that an evaluation or monitor was begun with; None where nothing was asked. Raises
    OtherFormat for a ledger of another format, and DamagedRecord."""
    blob = find_bytes(ledger, layout.spec(ledger.name))
    return None if blob is None else _of_our_format(ledger, blob)


def check_format(ledger: Ledger) -> None:
    """Raise OtherFormat for a ledger of another format. One that is damaged is no such thing. A ledger
    without a spec has not begun, and passes."""
    with suppress(record.DamagedRecord):
        find_spec(ledger)


def _of_our_format(ledger: Ledger, blob: bytes) -> RecordedSpec:
    """The record. Whatever else a later format changes, `format` and `versions` stay where they are."""
    key = layout.spec(ledger.name)
    document = record.from_json(blob, key)
    number = document.get("format", 1) if isinstance(document, dict) else LEDGER_FORMAT
    if number == LEDGER_FORMAT:
        return record.decode(RecordedSpec, blob, key)
    of = document.get("versions")
    writer = str(of.get("assay")) if isinstance(of, dict) else ""
    ours = _installed()["assay"]
    is_release = re.fullmatch(r"[0-9][0-9A-Za-z.+]{0,39}", writer) is not None
    # one that is not later than this one reads no further format, whatever the ledger says
    later = is_release and _release(writer) > _release(ours)
    reader = f"{DISTRIBUTION} {writer}" if later else f"a version later than {DISTRIBUTION} {ours}"
    raise OtherFormat(
        f"{ledger.name}: its ledger has format {json.dumps(number)[:20]}, and this version ({DISTRIBUTION} "
        f"{ours}) reads format {LEDGER_FORMAT}; {reader} reads it"
    )


def _release(text: str) -> list[int]:
    """The numbers of a version, for comparing."""
    return [int(number) for number in re.findall(r"\d{1,9}", text)[:3]]


def versions() -> dict[str, str]:
    """Of everything whose version may decide a last digit, as installed when first asked."""
    return {"python": platform.python_version(), **_installed()}


@cache
def _installed() -> Mapping[str, str]:
    return {name: version(package) for name, package in _DECIDE_NUMBERS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The record `identity.json`: a random word, written once, that tells apart evaluations of one name in
    different ledgers.

    What distinguishes evaluations of one name in different ledgers: `identity.json`, a random word.

    Two ledgers may hold evaluations of one name that label on one server; the word keeps their questions
    apart. It is written before the manifest, and never again: another word would ask other questions.
    """

    identity: str


@retried
def own_identity(ledger: Ledger) -> str:
    """The word of an evaluation that is about to begin; a new one if it has none yet. It tells this
    evaluation from another of the same name on a shared desk."""
    return put_record(ledger, layout.identity(ledger.name), Identity(identity=uuid4().hex)).identity


@retried
def read_identity(ledger: Ledger) -> str:
    """The word of an evaluation that has begun. Raises DamagedRecord if it is gone."""
    key = layout.identity(ledger.name)
    entry = find_record(ledger, key, Identity)
    if entry is None:
        raise record.damaged(key, "is missing")
    return entry.identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The record `times.json`: when the evaluation began, and the id of Prefect's flow run that began it,
    empty outside any. It is never compared, and no number depends on it.

    When an evaluation began and its rounds closed, and by which run of a flow: beside the record, and never
    compared.
    """

    begun: datetime
    flow_run: str = ""      # the id of Prefect's flow run that began it, where one did


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The record `rounds/0001/times.json`: when the round was closed, and the id of Prefect's flow run that
    closed it, empty outside any. It is never compared."""

    closed: datetime
    flow_run: str = ""


@retried
def write_begun(ledger: Ledger, moment: datetime) -> None:
    """Write down when the evaluation began, with the id of the present flow run. A moment that is there
    already stays. Tried again while the store is away."""
    put_record(ledger, layout.begun(ledger.name), Begun(begun=moment, flow_run=flow_run_id()))


@retried
def write_closed(ledger: Ledger, round: int, moment: datetime) -> None:
    """Write down when a round was closed, with the id of the present flow run. A moment that is there
    already stays. Tried again while the store is away."""
    put_record(ledger, layout.times(ledger.name, round), Closed(closed=moment, flow_run=flow_run_id()))


@retried
def ensure_closed(ledger: Ledger, round: int, moment: datetime) -> None:
    """Put when a round closed unless it is there: the process that closed it may have crashed before. The
    moment then is that of whoever notices, a little late."""
    if round and not ledger.exists(layout.times(ledger.name, round)):
        put_record(ledger, layout.times(ledger.name, round), Closed(closed=moment, flow_run=flow_run_id()))


def find_begun(ledger: Ledger) -> Begun | None:
    """What was written down when the evaluation began; None if that was removed."""
    return find_record(ledger, layout.begun(ledger.name), Begun)


def find_closed(ledger: Ledger, round: int) -> Closed | None:
    """The same of a round; None if it is open, or if its process crashed and nobody came back since. It says
    when the round closed, and which run of Prefect closed it."""
    return find_record(ledger, layout.times(ledger.name, round), Closed)


def read_begun(ledger: Ledger) -> datetime | None:
    """The moment at which the evaluation began; None where its record is not there, which no number depends
    on. Raises DamagedRecord."""
    entry = find_begun(ledger)
    return None if entry is None else entry.begun


def read_closed(ledger: Ledger, round: int) -> datetime | None:
    """The moment at which a round was closed; None while it is open, and where its process crashed before it
    wrote that down. Raises DamagedRecord."""
    entry = find_closed(ledger, round)
    return None if entry is None else entry.closed


@retried
def read_last_closed(ledger: Ledger) -> datetime | None:
    """When the last round closed, as far as that is written down."""
    matches = (layout.times.match(key) for key in ledger.keys(layout.rounds(ledger.name)))
    numbers = [match[1] for match in matches if match is not None]
    return read_closed(ledger, max(numbers)) if numbers else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The record `ending.json`: why the evaluation stopped and its verdict (None without a limit), and how
    many rounds were closed and how many items were labelled or could not be decided."""

    stopped_by: StopReason
    verdict: Verdict | None     # None without a limit
    rounds: int                 # closed
    labels: int                 # distinct items with a label
    undecided: int              # distinct items people could not decide


def write_ending(ledger: Ledger, ending: Ending, extensions: int = 0) -> Ending:
    """Put why the evaluation ended after so many extensions; returns the ending under the key. Another
    process may have written its own first."""
    return put_record(ledger, layout.ending_after(ledger.name, extensions), ending)


def read_ending(ledger: Ledger, extensions: int = 0) -> Ending | None:
    """Why the evaluation ended after so many extensions, or None if it goes on."""
    return find_record(ledger, layout.ending_after(ledger.name, extensions), Ending)


def enter_index(ledger: Ledger) -> None:
    """Put an evaluation into the index of open ones; it may have been lost."""
    if not ledger.exists(layout.open_index(ledger.name)):
        ledger.put(layout.open_index(ledger.name), b"")


def leave_index(ledger: Ledger) -> None:
    """Take it out, with its checkpoints and its forecast: nothing is due any more. A call that is cut off can
    be made once more.

    The entry goes last: it brings sweeps.
    """
    entry = layout.open_index(ledger.name)
    forecasts = ledger.keys(layout.index_of_forecasts(ledger.name))
    for key in [*forecasts, *(set(ledger.keys(layout.index_of_open(ledger.name))) - {entry}), entry]:
        ledger.store.discard(key)


def open_evaluations(store: Store) -> list[str]:
    """The names of the evaluations in the index of those that have not ended, sorted. The index is no
    evidence, and can be rebuilt."""
    matches = (layout.open_index.match(key) for key in store.keys(layout.OPEN_PREFIX))
    return [values[0] for values in matches if values is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What was asked for, by whom, and where the evaluation stood.

    Extensions: a finished evaluation that was given more labels, `extensions/0001/extension.json`.

    Extension k follows the k-th ending, and the rounds go on from there; the next ending lies beside it. The
    seal of the first round after an extension covers the extension and the seal of the ending before it.
    """

    number: int              # from 1
    rounds: int              # closed by then
    revisions: int           # that there were by then
    labels_before: int       # the budget until then
    labels: int              # the budget from then on, labels bought before included
    beyond_target: bool      # its target had been met: from here on the budget alone stops it
    by: str                  # who asked for it, as they call themselves; may be empty
    reason: str              # may be empty
    at: datetime


def write_extension(ledger: Ledger, extension: Extension) -> Extension:
    """Put an extension; returns the one under its number, which somebody else may have put first. Whoever
    comes second sees by it that somebody else extended."""
    return put_logged_record(ledger, layout.extension(ledger.name, extension.number), extension)


def read_extensions(ledger: Ledger) -> tuple[Extension, ...]:
    """All extensions of an evaluation, in the order of their numbers up to the first that is missing. Raises
    DamagedRecord. Each has its number, its budget, and who asked for it and why."""
    extensions: list[Extension] = []
    while (extension := find_record(
        ledger, layout.extension(ledger.name, len(extensions) + 1), Extension
    )) is not None:
        extensions.append(extension)
    return tuple(extensions)


def extensions_in(records: Mapping[str, bytes]) -> tuple[Extension, ...]:
    """Those among the records of a checkpoint, in order. Raises DamagedRecord."""
    keys = sorted(key for key in records if layout.extension.match(key))
    return tuple(record.decode(Extension, records[key], key) for key in keys)


def extensions_before(extensions: Sequence[Extension], number: int) -> int:
    """How many of these there were when round `number` was planned."""
    return sum(extension.rounds < number for extension in extensions)
