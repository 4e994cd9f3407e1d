"""The checks of what changed around a monitor: versions of its spec, states of windows, mutes.

Every version is checked against the ones before it: that it was allowed, what it does to the evidence, and
that its first window was not due when it was made. Nobody can then have chosen a limit after looking at a
window that it judges.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.evalcore.errors import AssayError
from assay.evalcore.monitoring.calendar import ended
from assay.flows.monitor.versions import Versions, consequences
from assay.flows.verify.checking import read_or_say
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.differences import Difference, in_one_sentence, value_differences
from assay.tasks.ledger.monitoring.mutes import Mute
from assay.tasks.ledger.monitoring.states import WindowState
from assay.tasks.ledger.monitoring.versions import Amendment
from assay.tasks.ledger.monitors import Opening
from assay.tasks.ledger.owner import Ledger


def unreadable_versions(ledger: Ledger, there: frozenset[str]) -> Iterator[Difference]:
    """The versions that cannot be read at all."""
    for key in sorted(filter(layout.monitor_version.match, there)):
        read = read_or_say(ledger, key, Amendment)
        if isinstance(read, Difference):
            yield read


def amendment_differences(ledger: Ledger, versions: Versions, there: frozenset[str]) -> Iterator[Difference]:
    """What is wrong with the versions after the first."""
    keys = sorted(filter(layout.monitor_version.match, there))
    for i, key in enumerate(keys):
        one = read_or_say(ledger, key, Amendment)
        if isinstance(one, Difference):
            yield one
        elif key != layout.monitor_version(ledger.name, i + 2) or one.number != i + 2:
            yield Difference(key=key, difference="the versions are not numbered from 2 on")
        else:
            yield from (Difference(key=key, difference=said) for said in _of_one(versions, one))


def _of_one(versions: Versions, one: Amendment) -> Iterator[str]:
    before = Versions(versions.all[: one.number - 1])
    old, asked = before.all[-1], versions.all[one.number - 1].asked
    try:
        follows = consequences(before, asked, one.first)
        window = old.spec.window(one.first)
    except AssayError as error:
        yield f"this version is not allowed: {error}"
        return
    computed = {
        "reference": follows.reference, "changed": list(follows.changed), "anew": list(follows.anew),
        "new_model": follows.new_model,
    }
    recorded = codec.plain(one)
    wrong = list(value_differences({name: recorded[name] for name in computed}, computed))
    if wrong:
        yield in_one_sentence(wrong)
    if one.first < old.first:
        yield f"its first window is {one.first}, which is before that of version {old.number}, {old.first}"
    if ended(window, old.spec.settle, one.at):
        yield f"its first window, {one.first}, was due already when it was made"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbered:
    """A kind of record that is numbered within a window, or within the monitor."""

    match: Callable[[str], Sequence[int | str] | None]
    kind: type[Any]
    what: str
    of_window: bool = True


_NUMBERED = (
    _Numbered(match=layout.monitor_opening.match, kind=Opening, what="opening"),
    _Numbered(match=layout.window_state.match, kind=WindowState, what="state"),
    _Numbered(match=layout.mute.match, kind=Mute, what="mute", of_window=False),
)


def numbered_differences(ledger: Ledger, versions: Versions, there: frozenset[str]) -> Iterator[Difference]:
    """What is wrong with openings, states and mutes: each says its number, and none is missing."""
    for kind in _NUMBERED:
        numbers: dict[str, list[int]] = {}
        firsts: dict[str, str] = {}
        for key in sorted(there):
            values = kind.match(key)
            if values is None:
                continue
            window, number = str(values[1]) if kind.of_window else "", int(values[-1])
            numbers.setdefault(window, []).append(number)
            firsts.setdefault(window, key)
            record = read_or_say(ledger, key, kind.kind)
            if isinstance(record, Difference):
                yield record
            elif (getattr(record, "window", ""), record.number) != (window, number):
                of = f" of {record.window}" if kind.of_window else ""
                yield Difference(key=key, difference=f"says it is {kind.what} {record.number}{of}")
        for window, found in numbers.items():
            if kind.of_window:
                try:
                    versions.newest.window(window)
                except AssayError as error:
                    yield Difference(key=firsts[window], difference=str(error))
            if found != list(range(1, len(found) + 1)):
                of = "this window" if kind.of_window else "this monitor"
                yield Difference(
                    key=firsts[window], difference=f"the {kind.what}s of {of} are not numbered from 1 on"
                )
