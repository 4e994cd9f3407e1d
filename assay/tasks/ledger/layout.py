"""The ledger's keys: the one place that spells them, and the one that reads them.

    layout.plan("spam", 3)      "spam/rounds/0003/plan.parquet"
    layout.plan.match(key)      ("spam", 3), or None for a key of another kind
    layout.parse_key(key)       what any key is: its kind and its values

Keys of an evaluation begin with its name, those of a monitor with `monitors/` and its name; both are called
the owner. Rounds are written with four digits (or more, from round 10,000 on), so keys sort by round up to
9,999. What is below `index/` is no evidence: it can be removed, and is made again
(docs/measured/ledger-cost.md). `desks/` is none either, but the memory of desks that have no server of their
own.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from string import Formatter
from typing import Any, Generic, TypeVarTuple

from assay.evalcore.errors import BadInput

Values = TypeVarTuple("Values")

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
RESERVED = ("index", "monitors", "desks")    # folders of a store: no evaluation has these names
_EVALUATION = rf"(?!(?:{'|'.join(RESERVED)})(?:/|$)){NAME}"
_MONITOR = rf"monitors/{NAME}"
_TEXT = {
    "evaluation": _EVALUATION,
    "monitor": _MONITOR,
    "owner": rf"{_EVALUATION}|{_MONITOR}",
    "window": NAME,
    "month": r"\d{4}-\d{2}",
    "alert": r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}",
    "channel": r"[a-z0-9][a-z0-9-]*",
    "desk": r"[a-z][a-z-]*",
}


class KeyForm:
    """A template that spells keys and reads them, whatever the types of the values in them.

    `KeyPattern` says what a template may hold, and is the same template for values whose types are known.
    """

    def __init__(self, template: str) -> None:
        self.template = template
        parts = list(Formatter().parse(template))
        self.fields = tuple(name for _, name, _, _ in parts if name)
        self._regex = re.compile("".join(_parts_of_expression(parts)))
        self._numbers = {name for _, name, spec, _ in parts if name and _is_number(spec)}

    def __repr__(self) -> str:
        return f"KeyPattern({self.template!r})"

    def spelled(self, values: Sequence[object]) -> str:
        """The key of these values, which are the template's fields in order."""
        return self.template.format(**dict(zip(self.fields, values, strict=True)))

    def values_in(self, key: str) -> tuple[int | str, ...] | None:
        """The values that spell a key; None for a key of another kind."""
        match = self._regex.fullmatch(key)
        if match is None:
            return None
        values = tuple(
            int(text) if name in self._numbers else text
            for name, text in zip(self.fields, match.groups(), strict=True)
        )
        return values if self.spelled(values) == key else None


class KeyPattern(KeyForm, Generic[*Values]):
    """One kind of key, or a prefix of keys (its template ends in a slash).

    How a kind of key is written: one template, which both spells a key and reads one.

    A template is a path with named fields, such as `{evaluation}/rounds/{round:04d}/plan.parquet`:

        {round:04d}    a whole number, written with at least so many digits
        {digest}       a SHA-256 in hexadecimal digits; `{digest:.16}` is the first 16 of them
        {window}       text; `_TEXT` says what a field of this name may hold

    Reading is the exact inverse of spelling: a key matches only if its values spell it again.
    """

    def __call__(self, *values: *Values) -> str:
        """The key of these values, which are the template's fields in order."""
        return self.spelled(values)

    def match(self, key: str) -> tuple[*Values] | None:
        """The values that spell a key; None for a key of another kind."""
        values: Any = self.values_in(key)
        result: tuple[*Values] | None = values
        return result


def _parts_of_expression(parts: list[tuple[str, str | None, str | None, str | None]]) -> Iterator[str]:
    for text, name, spec, _ in parts:
        yield re.escape(text)
        if name and _is_number(spec):
            yield r"(\d+)"
        elif name == "digest":
            yield f"([0-9a-f]{{{(spec or '.64').removeprefix('.')}}})"
        elif name:
            yield f"({_TEXT[name]})"


def _is_number(spec: str | None) -> bool:
    return bool(spec) and str(spec).endswith("d")


# Of an evaluation or a monitor.
spec = KeyPattern[str]("{owner}/spec.json")                      # what was asked
log_entries = KeyPattern[str]("{owner}/log/")                    # what was decided, in one chain
log_entry = KeyPattern[str, int]("{owner}/log/{entry:06d}.json")
alerts = KeyPattern[str]("{owner}/alerts/")                      # the outbox
alert = KeyPattern[str, str]("{owner}/alerts/{alert}.json")      # what is to be told, once
alert_tries = KeyPattern[str, str]("{owner}/alerts/{alert}.tries/")
# An attempt to tell a channel, made by whoever creates the key; and that it is known to have failed.
alert_try = KeyPattern[str, str, str, int]("{owner}/alerts/{alert}.tries/{channel}.{attempt:04d}.json")
alert_failed = KeyPattern[str, str, str, int](
    "{owner}/alerts/{alert}.tries/{channel}.{attempt:04d}.failed.json"
)
# Settles an alert for a channel: told, or why not.
alert_sent = KeyPattern[str, str, str]("{owner}/alerts/{alert}.sent/{channel}.json")

# The alert was raised while its owner was muted: nobody is told of it.
alert_muted = KeyPattern[str, str]("{owner}/alerts/{alert}.muted.json")
mutes = KeyPattern[str]("{owner}/mutes/")
mute = KeyPattern[str, int]("{owner}/mutes/{mute:04d}.json")     # until when, and why
mute_seal = KeyPattern[str, int]("{owner}/mutes/{mute:04d}.seal.json")
# Of an evaluation: what is there from the beginning.
manifest = KeyPattern[str]("{evaluation}/pool/manifest.json")    # its presence means: has begun
pool_part = KeyPattern[str, int, str]("{evaluation}/pool/part-{part:05d}-{digest:.16}.arrow")  # its rows
pool_shown = KeyPattern[str, int, int, str](    # what people see of them, in files
    "{evaluation}/pool/shown-{part:05d}-{file:04d}-{digest:.16}.arrow"
)
pool_sources = KeyPattern[str]("{evaluation}/pool/sources.json")   # files it was read from; never compared
partition = KeyPattern[str, str]("{evaluation}/partitions/{digest:.32}.json")       # strata and cells
partition_starts = KeyPattern[str, str]("{evaluation}/partitions/{digest:.32}.starts")   # of cells, in
# The rows that the cells hold, by shard.
partition_rows = KeyPattern[str, int, str]("{evaluation}/partitions/rows-{shard:05d}-{digest:.16}")
inherited = KeyPattern[str, str]("{evaluation}/inherited-{digest:.16}.parquet")   # labels bought earlier
outcomes = KeyPattern[str, str]("{evaluation}/outcomes-{digest:.16}.parquet")   # came by themselves
held = KeyPattern[str, str]("{evaluation}/held-{digest:.16}.parquet")   # labels that were there before
gold = KeyPattern[str, str]("{evaluation}/gold/{digest}.json")   # items of known answer
identity = KeyPattern[str]("{evaluation}/identity.json")   # a random word: no other ledger has it
begun = KeyPattern[str]("{evaluation}/times.json")         # when it began; never compared

# Of a round of an evaluation.
rounds = KeyPattern[str]("{evaluation}/rounds/")
round_folder = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/")
plan = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/plan.parquet")       # its draws
design = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/design.parquet")   # probabilities by cell
posts = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/posts/")
# An attempt to post its items, made by whoever creates the key; and that all of them were seen on the desk.
post = KeyPattern[str, int, int]("{evaluation}/rounds/{round:04d}/posts/{attempt:04d}.json")
arrived = KeyPattern[str, int, int]("{evaluation}/rounds/{round:04d}/posts/{attempt:04d}.arrived.json")
annotations = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/annotations/")
annotation = KeyPattern[str, int, str]("{evaluation}/rounds/{round:04d}/annotations/{digest}.json")
closing = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/closing.json")    # it is closed with gaps
pack = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/pack.jsonl")   # the answers it was closed with
labels = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/labels.parquet")   # closes it
estimate = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/estimate.json")
annotators = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/annotators.json")   # how people do
seal = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/seal.json")   # digests of all it rests on
times = KeyPattern[str, int]("{evaluation}/rounds/{round:04d}/times.json")   # when it closed; never compared

# Of an evaluation that has ended.
ending = KeyPattern[str]("{evaluation}/ending.json")     # why it ended
final_seal = KeyPattern[str]("{evaluation}/seal.json")   # digests of that and of the last round's seal
# Of an extension: what was asked for; why the evaluation ended again, and the seal of that.
extensions = KeyPattern[str]("{evaluation}/extensions/")
extension = KeyPattern[str, int]("{evaluation}/extensions/{extension:04d}/extension.json")
later_ending = KeyPattern[str, int]("{evaluation}/extensions/{extension:04d}/ending.json")
later_seal = KeyPattern[str, int]("{evaluation}/extensions/{extension:04d}/seal.json")

# Of labels that changed after their rounds were closed.
revisions = KeyPattern[str]("{evaluation}/revisions/")
revision_labels = KeyPattern[str, int]("{evaluation}/revisions/{revision:04d}/labels.parquet")
revision_estimate = KeyPattern[str, int]("{evaluation}/revisions/{revision:04d}/estimate.json")
revision_annotators = KeyPattern[str, int]("{evaluation}/revisions/{revision:04d}/annotators.json")
revision_seal = KeyPattern[str, int]("{evaluation}/revisions/{revision:04d}/seal.json")

# Of a monitor: versions of its spec, evaluations opened for a window and what kept it from a verdict, and
# verdicts, numbered over its life.
monitor_versions = KeyPattern[str]("{monitor}/versions/")
monitor_version = KeyPattern[str, int]("{monitor}/versions/{version:04d}.json")
monitor_version_seal = KeyPattern[str, int]("{monitor}/versions/{version:04d}.seal.json")
monitor_windows = KeyPattern[str]("{monitor}/windows/")
monitor_window = KeyPattern[str, str]("{monitor}/windows/{window}/")
monitor_opening = KeyPattern[str, str, int]("{monitor}/windows/{window}/openings/{opening:04d}.json")
window_state = KeyPattern[str, str, int]("{monitor}/windows/{window}/states/{state:04d}.json")
window_state_seal = KeyPattern[str, str, int]("{monitor}/windows/{window}/states/{state:04d}.seal.json")
monitor_opening_seal = KeyPattern[str, str, int](
    "{monitor}/windows/{window}/openings/{opening:04d}.seal.json"
)
monitor_verdicts = KeyPattern[str]("{monitor}/verdicts/")
monitor_verdict = KeyPattern[str, int]("{monitor}/verdicts/{verdict:06d}.json")
monitor_verdict_seal = KeyPattern[str, int]("{monitor}/verdicts/{verdict:06d}.seal.json")

# What people did about an incident: acknowledged, assigned or snoozed.
responses = KeyPattern[str]("{monitor}/responses/")
response = KeyPattern[str, int]("{monitor}/responses/{response:04d}.json")

# Labels that are bought in a month, numbered in the order in which runs claimed them.
month_claims = KeyPattern[str, str]("{monitor}/months/{month}/")
month_claim = KeyPattern[str, str, int]("{monitor}/months/{month}/{claim:04d}.json")

# Of a desk without a server of its own, by round and asking (1: for the first time).
desk_of_evaluation = KeyPattern[str, str]("desks/{desk}/{evaluation}/")
desk_posts = KeyPattern[str, str, int, int]("desks/{desk}/{evaluation}/{round:04d}/{asking:d}/posted/")
desk_post = KeyPattern[str, str, int, int, str](          # what one post put on the desk
    "desks/{desk}/{evaluation}/{round:04d}/{asking:d}/posted/{digest:.16}.json"
)
desk_mores = KeyPattern[str, str, int, int]("desks/{desk}/{evaluation}/{round:04d}/{asking:d}/more/")
desk_more = KeyPattern[str, str, int, int, int, str](     # items that are to be answered by so many people
    "desks/{desk}/{evaluation}/{round:04d}/{asking:d}/more/{annotators:04d}-{digest:.16}.json"
)
desk_request = KeyPattern[str, str, str](                # a request to tell answers that was carried out
    "desks/{desk}/{evaluation}/requests/{digest:.32}.json"
)
desk_tellings = KeyPattern[str, str, int, int]("desks/{desk}/{evaluation}/{round:04d}/{asking:d}/told/")
desk_telling = KeyPattern[str, str, int, int, int](       # the answers of one call of `tell`
    "desks/{desk}/{evaluation}/{round:04d}/{asking:d}/told/{telling:06d}.json"
)

# What functions that judge said of some rows, kept beside the desks: outside the record.
judged_rows = KeyPattern[str, str]("desks/judges/{evaluation}/judged/{digest:.32}.json")

# Of the store: evaluations that have begun and not ended, the checkpoints from which they and the monitors go
# on, what the finished ones came to, what looks at closed rounds found, and alerts that a channel waits for.
index_of_open = KeyPattern[str]("index/open/{evaluation}/")
open_index = KeyPattern[str]("index/open/{evaluation}/entry")
checkpoint = KeyPattern[str, int, str]("index/open/{evaluation}/{round:04d}-{digest:.32}")
checkpoint_run = KeyPattern[str, str]("index/open/{evaluation}/run-{digest:.32}")   # early rounds of one
index_of_finished = KeyPattern[str]("index/finished/{evaluation}/")
finished = KeyPattern[str, str]("index/finished/{evaluation}/{digest:.32}")
index_of_looks = KeyPattern[str]("index/looks/{evaluation}/")
looked_at = KeyPattern[str, int, str]("index/looks/{evaluation}/{round:04d}-{digest:.32}")   # up to this
index_of_forecasts = KeyPattern[str]("index/forecasts/{evaluation}/")
forecast = KeyPattern[str, int, str]("index/forecasts/{evaluation}/{round:04d}-{digest:.32}")
index_of_monitor = KeyPattern[str]("index/{monitor}/")
monitor_checkpoint = KeyPattern[str, int, str]("index/{monitor}/{verdict:06d}-{digest:.32}")
monitor_checkpoint_run = KeyPattern[str, str]("index/{monitor}/run-{digest:.32}")   # early records of one
alert_index = KeyPattern[str, str]("index/alerts/{owner}/{alert}")
# Of a pool that is being frozen: what a shard came to, and the hashes of its ids.
index_of_freezing = KeyPattern[str]("index/freezing/{evaluation}/")
freezing_receipt = KeyPattern[str, int, str]("index/freezing/{evaluation}/{shard:06d}-{digest:.32}.json")
freezing_scores = KeyPattern[str, int, str]("index/freezing/{evaluation}/{shard:06d}-{digest:.32}.scores")
freezing_ids = KeyPattern[str, int, str, int](
    "index/freezing/{evaluation}/{shard:06d}-{digest:.32}-{run:04d}.ids"
)
OPEN_PREFIX = "index/open/"
FINISHED_PREFIX = "index/finished/"
ALERTS_PREFIX = "index/alerts/"
MONITORS_PREFIX = "monitors/"

KINDS: tuple[KeyForm, ...] = tuple(
    kind for kind in globals().values() if isinstance(kind, KeyPattern) and not kind.template.endswith("/")
)


@dataclass(frozen=True, slots=True)
class Key:
    """What a key of the ledger is: the pattern that it follows, which is its kind, and the values in it,
    such as the name of an evaluation and the number of a round."""

    kind: KeyForm    # one of the patterns above
    values: tuple[int | str, ...]

    @property
    def round(self) -> int | None:
        """The number of the round that the key belongs to; None for a key of no round. Rounds are counted
        from 1."""
        return self._number("round")

    @property
    def revision(self) -> int | None:
        """The number of the revision that the key belongs to; None for a key of no revision. Revisions are
        counted from 1."""
        return self._number("revision")

    @property
    def extension(self) -> int | None:
        """The number of the extension that the key belongs to; None for a key of no extension. Extensions are
        counted from 1."""
        return self._number("extension")

    def _number(self, field: str) -> int | None:
        values = dict(zip(self.kind.fields, self.values, strict=True))
        return int(values[field]) if field in values else None


@lru_cache(1 << 12)     # listings name the same keys again
def parse_key(key: str) -> Key | None:
    """What a key is; None for one that no pattern spells."""
    for kind in KINDS:
        values = kind.values_in(key)
        if values is not None:
            return Key(kind, values)
    return None


def check_name(name: str) -> str:
    """The name itself, if it can name an evaluation: it becomes a folder, a project and an artifact's key.

    Raises BadInput otherwise.
    """
    if not re.fullmatch(NAME, name) or name in RESERVED:
        raise BadInput(
            f"{name!r} cannot be the name of an evaluation: use 1 to 100 letters, digits, dots, dashes and "
            f"underscores, beginning with a letter or digit (and not the words {', '.join(RESERVED)})"
        )
    return name


def natural_order(name: str) -> list[tuple[int, str]]:
    """Sorts names as people do: `x` before `x-r1`, and `x-r2` before `x-r10`."""
    pieces = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(int(piece), piece) if piece.isdecimal() else (-1, piece) for piece in pieces]


def monitor_ledger(name: str) -> str:
    """A monitor as the owner of its keys: the name of its ledger."""
    return MONITORS_PREFIX + name


def windows_of(evaluation: str) -> Iterator[tuple[str, str]]:
    """What an evaluation's name may mean: the monitors, as owners, and the windows it may belong to.

    Evaluations of a monitor are called `<monitor>-<window>`, and `-r1` behind that.
    """
    for dash in re.finditer("-", evaluation):
        window = re.sub(r"(-r\d+)?$", "", evaluation[dash.end():])
        if re.fullmatch(NAME, evaluation[:dash.start()]) and re.fullmatch(NAME, window):
            yield monitor_ledger(evaluation[:dash.start()]), window


def ending_after(evaluation: str, extensions: int) -> str:
    """The key of the record that ends an evaluation after so many extensions: `ending.json` after none, else
    the one below the last extension."""
    return later_ending(evaluation, extensions) if extensions else ending(evaluation)


def final_seal_after(evaluation: str, extensions: int) -> str:
    """The key of the seal of the ending that follows so many extensions, the ending of `ending_after`. It
    covers everything that was written until then."""
    return later_seal(evaluation, extensions) if extensions else final_seal(evaluation)


def digest(blob: bytes) -> str:
    """The SHA-256 of the bytes, as 64 hexadecimal digits. Seals and the log are made of such digests, and so
    are the names of keys that follow from their content."""
    return sha256(blob).hexdigest()
