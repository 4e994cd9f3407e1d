"""`verify` of a monitor: does every verdict follow from its window's evaluations and the verdicts before?

    versions          of the spec: numbered without a gap, each allowed after the one before, and not for a
                      window that was due already; what it does to the evidence is recomputed
    openings, states  can be read, and name windows that exist in its calendar; a number of labels that was
                      decided from earlier windows is the one that the verdicts known then give
    claims            of a month's labels: numbered without a gap; every opening has the labels of its own
    mutes             can be read, numbered without a gap
    verdicts          numbered without a gap, each recomputed by the version of its window's time, from the
                      ledgers of the evaluations it rests on
    log               fits every record, and the seals of those evaluations
    alerts            can be read, and so can the attempts to send them
    derived           what the index says, which is no evidence, says nothing else (flows.verify.derived)

A key that cannot be read is a difference like any other, and is named.

Signals and content digests are not recomputed: the predictions of a window are kept frozen in its
evaluations, which are verified by their own names.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import Field, dataclass, replace
from typing import ClassVar, Protocol

from assay.evalcore.errors import AssayError, plural
from assay.evalcore.monitoring.calendar import ended
from assay.flows.monitor.judging import judge, read_window_evidence, revision_of, size_for
from assay.flows.monitor.versions import UnknownMonitor, Versions, consequences, open_monitor
from assay.flows.verify.checking import UNREADABLE, read_or_say, unreadable_key
from assay.flows.verify.derived import derived_monitor_differences
from assay.flows.verify.ledger import Verification
from assay.flows.verify.unsealed import check_alerts
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.findings import Difference, Integrity, in_one_sentence, value_differences
from assay.tasks.ledger.integrity import check_monitor_seals
from assay.tasks.ledger.life import check_format
from assay.tasks.ledger.log_check import check_log
from assay.tasks.ledger.monitors import Amendment, Claim, Mute, Opening, WindowState, WindowVerdict, latest
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.responses import IncidentResponse
from assay.tasks.ledger.stores.store import Store, StoreUnreachable


def verify_monitor(
    store: Store, name: str, seal: str | None = None, among: str | None = None
) -> Verification:
    """Recompute a monitor's verdicts.

    seal    the digest that the seal of the newest verdict must have, as noted earlier; None: any
    among   a digest that one of the seals must have, as noted earlier; None: any

    Raises UnknownMonitor, OtherFormat, and StoreError if the store is away.
    """
    ledger = Ledger(store, layout.monitor_ledger(layout.check_name(name)))
    retried(check_format)(ledger)
    keyset = frozenset(retried(_keys)(ledger))
    differences, notes, recomputed = list(_unknown_keys(keyset)), [], 0
    try:
        versions = open_monitor(store, name)
    except (StoreUnreachable, UnknownMonitor):
        raise
    except UNREADABLE as error:
        damaged = list(unreadable_versions(ledger, keyset))
        differences += damaged or [unreadable_key(layout.spec(ledger.name), error)]
        notes.append("nothing was recomputed: the spec cannot be read")
    else:
        differences += amendment_differences(ledger, versions, keyset)
        differences += numbered_differences(ledger, versions, keyset)
        check = _Verdicts(ledger, versions, keyset)
        differences += check.differences()
        differences += _sizes(ledger, versions, keyset, check.verdicts)
        recomputed, notes = check.recomputed, check.notes
    sealed = Integrity(
        ledger=ledger, keys=keyset, known={}, rounds=0, finished=False, notes=notes
    )
    retried(check_monitor_seals)(sealed)
    retried(check_log)(sealed)
    changed = {difference.key for difference in sealed.differences}
    differences += claim_differences(ledger, keyset, changed, sealed.checked)   # openings vouch for them
    retried(check_alerts)(sealed)
    sealed.expect(seal, among, layout.log_entry(ledger.name, 1))
    if not differences and not sealed.differences:
        differences += retried(derived_monitor_differences)(ledger, keyset)
    bad_keys = {difference.key for difference in differences}
    return Verification(
        evaluation=ledger.name, finished=False, rounds=sum(map(_is_verdict, keyset)), labels=0,
        keys=len(keyset), keys_checked=len(sealed.checked & keyset), seal=sealed.last_seal,
        as_sealed=sorted((bad_keys & sealed.checked) - changed),
        differences=tuple(sorted({*differences, *(d for d in sealed.differences if d.key not in bad_keys)})),
        notes=(
            f"{plural(recomputed, 'verdict')} recomputed; verify its evaluations by their own names", *notes,
        ),
    )


def _keys(ledger: Ledger) -> list[str]:
    return list(ledger.keys(f"{ledger.name}/"))


def _is_verdict(key: str) -> bool:
    return layout.monitor_verdict.match(key) is not None


def _unknown_keys(keyset: frozenset[str]) -> Iterator[Difference]:
    for key in keyset:
        if layout.parse_key(key) is None:
            yield Difference(key=key, difference="is not a key of a monitor")


def _sizes(
    ledger: Ledger, versions: Versions, keyset: frozenset[str], verdicts: Sequence[WindowVerdict]
) -> Iterator[Difference]:
    for key in sorted(filter(layout.monitor_opening.match, keyset)):
        opening = read_or_say(ledger, key, Opening)
        if isinstance(opening, Difference) or opening.sizing is None:
            continue
        if opening.sizing.verdicts > len(verdicts):
            yield Difference(key=key, difference="its labels were decided from verdicts that are missing")
        elif opening.sizing != size_for(versions, opening.window, verdicts[:opening.sizing.verdicts]):
            yield Difference(key=key, difference="its labels do not follow from the windows before")
        elif opening.labels > opening.sizing.labels:
            yield Difference(key=key, difference="it has more labels than were decided on")


class _Verdicts:
    """The check of the verdicts, in order: each rests on the ones before it."""

    def __init__(self, ledger: Ledger, versions: Versions, keyset: frozenset[str]) -> None:
        self._ledger, self._versions = ledger, versions
        self._keys = sorted(filter(_is_verdict, keyset))
        self.recomputed = 0
        self.verdicts: list[WindowVerdict] = []   # that could be read, up to the first that could not
        self.notes: list[str] = []

    def differences(self) -> Iterator[Difference]:
        """What is wrong; after a verdict that is missing or cannot be read, no later one is recomputed. Each
        verdict is computed again from its evaluation and the verdicts before it."""
        verdicts = self.verdicts
        for key in self._keys:
            expected = layout.monitor_verdict(self._ledger.name, len(verdicts) + 1)
            read = read_or_say(self._ledger, key, WindowVerdict)
            if isinstance(read, Difference):
                yield read
            elif key != expected or read.number != len(verdicts) + 1:
                yield Difference(key=expected, difference="is missing, or numbered wrongly")
            else:
                verdicts.append(read)
                continue
            self.notes.append(f"no verdict after number {len(verdicts)} was recomputed")
            break
        # a later verdict on the same window may be among those that cannot be read
        newest = latest(verdicts) if len(verdicts) == len(self._keys) else {}
        for i, verdict in enumerate(verdicts):
            yield from self._version_differences(verdict)
            try:
                if newest.get(verdict.window) is verdict or self._unrevised(verdict):
                    yield from self._recompute(verdict, verdicts[:i])
            except StoreUnreachable:
                raise
            except UNREADABLE as error:
                key = layout.monitor_verdict(self._ledger.name, verdict.number)
                yield Difference(key=key, difference=f"cannot be recomputed: {type(error).__name__}: {error}")

    def _recompute(self, verdict: WindowVerdict, before: list[WindowVerdict]) -> Iterator[Difference]:
        key = layout.monitor_verdict(self._ledger.name, verdict.number)
        evaluation = Ledger(self._ledger.store, verdict.rests_on.evaluation)
        evidence = read_window_evidence(evaluation, verdict.rests_on.follow_ups)
        computed = judge(self._versions, verdict.window, evidence, before, recorded=verdict)
        self.recomputed += 1
        wrong = list(value_differences(codec.plain(verdict), codec.plain(computed)))
        if wrong:
            yield Difference(key=key, difference=in_one_sentence(wrong))

    def _version_differences(self, verdict: WindowVerdict) -> Iterator[Difference]:
        due = self._versions.version_of(verdict.window).number
        if verdict.version != due:
            yield Difference(
                key=layout.monitor_verdict(self._ledger.name, verdict.number),
                difference=f"window {verdict.window} was judged by version {verdict.version} of the spec, "
                           f"and version {due} applies to it",
            )

    def _unrevised(self, verdict: WindowVerdict) -> bool:
        """Whether the labels it rests on have not been revised since."""
        part = verdict.rests_on
        return revision_of(Ledger(self._ledger.store, part.evaluation)) == part.revision


def unreadable_versions(ledger: Ledger, keyset: frozenset[str]) -> Iterator[Difference]:
    """A difference for each version of a monitor's spec that cannot be read, in order of their keys; nothing
    for those that can.

    The checks of what changed around a monitor: versions of its spec, states of windows, mutes.

    Every version is checked against the ones before it: that it was allowed, what it does to the evidence,
    and that its first window was not due when it was made. Nobody can then have chosen a limit after looking
    at a window that it judges.
    """
    for key in sorted(filter(layout.monitor_version.match, keyset)):
        read = read_or_say(ledger, key, Amendment)
        if isinstance(read, Difference):
            yield read


def amendment_differences(ledger: Ledger, versions: Versions, keyset: frozenset[str]) -> Iterator[Difference]:
    """What is wrong with the versions of a monitor's spec after the first: one that cannot be read, a gap in
    the numbers from 2 on, or a version that the one before does not allow."""
    keys = sorted(filter(layout.monitor_version.match, keyset))
    for i, key in enumerate(keys):
        amendment = read_or_say(ledger, key, Amendment)
        if isinstance(amendment, Difference):
            yield amendment
        elif key != layout.monitor_version(ledger.name, i + 2) or amendment.number != i + 2:
            yield Difference(key=key, difference="the versions are not numbered from 2 on")
        else:
            yield from (Difference(key=key, difference=text) for text in _of_one(versions, amendment))


def _of_one(versions: Versions, change: Amendment) -> Iterator[str]:
    before = replace(versions, all=versions.all[: change.number - 1])
    old, spec = before.all[-1], versions.all[change.number - 1].asked
    try:
        follows = consequences(before, spec, change.first)
        window = old.spec.window(change.first)
    except AssayError as error:
        yield f"this version is not allowed: {error}"
        return
    computed = {
        "reference": follows.reference, "changed": list(follows.changed), "anew": list(follows.anew),
        "new_model": follows.new_model,
    }
    recorded = codec.plain(change)
    wrong = list(value_differences({name: recorded[name] for name in computed}, computed))
    if wrong:
        yield in_one_sentence(wrong)
    if change.first < old.first:
        yield f"its first window is {change.first}, which is before that of version {old.number}, {old.first}"
    if ended(window, old.spec.settle, change.at):
        yield f"its first window, {change.first}, was due already when it was made"


class NumberedRecord(Protocol):
    """A record of a ledger that says its own number."""

    __dataclass_fields__: "ClassVar[dict[str, Field[object]]]"

    @property
    def number(self) -> int:
        """Its number, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbered:
    """A kind of record that is numbered within a window, or within the monitor."""

    match: Callable[[str], Sequence[int | str] | None]
    kind: "type[NumberedRecord]"
    what: str
    of_window: bool = True


_NUMBERED = (
    _Numbered(match=layout.monitor_opening.match, kind=Opening, what="opening"),
    _Numbered(match=layout.window_state.match, kind=WindowState, what="state"),
    _Numbered(match=layout.mute.match, kind=Mute, what="mute", of_window=False),
    _Numbered(match=layout.response.match, kind=IncidentResponse, what="response", of_window=False),
)


def numbered_differences(ledger: Ledger, versions: Versions, keyset: frozenset[str]) -> Iterator[Difference]:
    """What is wrong with openings, states and mutes: each says its number, and none is missing. A number that
    is missing or stands under another key is one difference."""
    for kind in _NUMBERED:
        numbers: dict[str, list[int]] = {}
        firsts: dict[str, str] = {}
        for key in sorted(keyset):
            values = kind.match(key)
            if values is None:
                continue
            window, number = str(values[1]) if kind.of_window else "", int(values[-1])
            numbers.setdefault(window, []).append(number)
            firsts.setdefault(window, key)
            record = read_or_say(ledger, key, kind.kind)
            if isinstance(record, Difference):
                yield record
            elif ((of_window := getattr(record, "window", "")), record.number) != (window, number):
                of = f" of {of_window}" if kind.of_window else ""
                yield Difference(key=key, difference=f"says it is {kind.what} {record.number}{of}")
        for window, numbering in numbers.items():
            if kind.of_window:
                try:
                    versions.newest.window(window)
                except AssayError as error:
                    yield Difference(key=firsts[window], difference=str(error))
            if numbering != list(range(1, len(numbering) + 1)):
                of = "this window" if kind.of_window else "this monitor"
                yield Difference(
                    key=firsts[window], difference=f"the {kind.what}s of {of} are not numbered from 1 on"
                )


def claim_differences(
    ledger: Ledger, keyset: frozenset[str], changed: Collection[str], vouched: set[str]
) -> Iterator[Difference]:
    """Claims that cannot be read or are numbered wrongly, and openings with other labels than claimed.

    changed: keys that do not fit their seals: no claim is checked against such an opening
    vouched: the keys of the claims that fit their openings are added

    The check of the labels that a monitor's openings claimed of their months.

    An opening is sealed, and says its month and its labels; so its claim is checked against it.
    """
    claimed: dict[str, tuple[str, Claim]] = {}
    for key in sorted(filter(layout.month_claim.match, keyset)):
        read = read_or_say(ledger, key, Claim)
        if isinstance(read, Difference):
            yield read
        elif key != layout.month_claim(ledger.name, read.month, read.number):
            yield Difference(key=key, difference=f"says it is claim {read.number} of {read.month}")
        elif read.number > 1 and layout.month_claim(ledger.name, read.month, read.number - 1) not in keyset:
            yield Difference(key=key, difference="the claim before it is missing")
        else:
            of = layout.monitor_opening(ledger.name, read.window, read.opening)
            if codec.encode(read) != ledger.get(key):
                yield Difference(key=key, difference="is not written the way claims are: it was edited")
            claimed.setdefault(of, (key, read))
    for key in sorted(filter(layout.monitor_opening.match, keyset)):
        opening = read_or_say(ledger, key, Opening)
        if key in changed:
            continue
        if isinstance(opening, Difference) or opening.evaluation is None or opening.outcomes == "complete":
            continue   # it bought nothing, or cannot be read, which is said elsewhere
        if key not in claimed:
            yield Difference(key=key, difference="no labels of its month were claimed for it")
            continue
        claim_key, claim = claimed[key]
        if (claim.month, claim.labels) != (opening.month, opening.labels):
            yield Difference(key=claim_key, difference=f"is not what {key} got: {opening.labels} labels")
        else:
            vouched.add(claim_key)
