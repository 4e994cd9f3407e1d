"""`verify` of a monitor: does every verdict follow from its window's evaluations and the verdicts before?

    versions          of the spec: numbered without a gap, each allowed after the one before, and not for a
                      window that was due already; what it does to the evidence is recomputed
    openings, states  can be read, and name windows that exist in its calendar
    mutes             can be read, numbered without a gap
    verdicts          numbered without a gap, each recomputed by the version of its window's time, from the
                      ledgers of the evaluations it rests on

A key that cannot be read is a difference like any other, and is named.

Signals and content digests are not recomputed: the predictions of a window are kept frozen in its
evaluations, which are verified by their own names.
"""

from collections.abc import Iterator

from assay.evalcore.plurals import plural
from assay.flows.monitor.evidence import read_part, revision_of
from assay.flows.monitor.judging import judge
from assay.flows.monitor.registry import UnknownMonitor, open_monitor
from assay.flows.monitor.versions import Versions
from assay.flows.verify.amendments import amendment_differences, numbered_differences, unreadable_versions
from assay.flows.verify.checking import UNREADABLE, read_or_say, unreadable
from assay.flows.verify.ledger import Verification
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.differences import Difference, in_one_sentence, value_differences
from assay.tasks.ledger.monitors import WindowVerdict, latest
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import Store, StoreUnreachable


def verify_monitor(store: Store, name: str) -> Verification:
    """Recompute a monitor's verdicts. Raises UnknownMonitor, and StoreError if the store is away."""
    ledger = Ledger(store, layout.monitor(layout.check_name(name)))
    there = frozenset(retried(_keys)(ledger))
    found, notes, recomputed = list(_strangers(there)), [], 0
    try:
        versions = open_monitor(store, name)
    except (StoreUnreachable, UnknownMonitor):
        raise
    except UNREADABLE as error:
        damaged = list(unreadable_versions(ledger, there))
        found += damaged or [unreadable(layout.spec(ledger.name), error)]
        notes.append("nothing was recomputed: the spec cannot be read")
    else:
        found += amendment_differences(ledger, versions, there)
        found += numbered_differences(ledger, versions, there)
        check = _Verdicts(ledger, versions, there)
        found += check.differences()
        recomputed, notes = check.recomputed, check.notes
    return Verification(
        evaluation=ledger.name, finished=False, rounds=sum(map(_is_verdict, there)), labels=0,
        keys=len(there), keys_checked=recomputed, seal=None, differences=tuple(sorted({*found})),
        notes=(
            f"{plural(recomputed, 'verdict')} recomputed; verify its evaluations by their own names", *notes,
        ),
    )


def _keys(ledger: Ledger) -> list[str]:
    return list(ledger.keys(f"{ledger.name}/"))


def _is_verdict(key: str) -> bool:
    return layout.monitor_verdict.match(key) is not None


def _strangers(there: frozenset[str]) -> Iterator[Difference]:
    for key in there:
        if layout.parse(key) is None:
            yield Difference(key=key, difference="is not a key of a monitor")


class _Verdicts:
    """The check of the verdicts, in order: each rests on the ones before it."""

    def __init__(self, ledger: Ledger, versions: Versions, there: frozenset[str]) -> None:
        self._ledger, self._versions = ledger, versions
        self._keys = sorted(filter(_is_verdict, there))
        self.recomputed = 0
        self.notes: list[str] = []

    def differences(self) -> Iterator[Difference]:
        """What is wrong; after a verdict that is missing or cannot be read, no later one is recomputed."""
        verdicts: list[WindowVerdict] = []
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
            yield from self._of_its_time(verdict)
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
        parts = [read_part(Ledger(self._ledger.store, part.evaluation)) for part in verdict.parts]
        computed = judge(self._versions, verdict.window, parts, before)
        self.recomputed += 1
        wrong = list(value_differences(codec.plain(verdict), codec.plain(computed)))
        if wrong:
            yield Difference(key=key, difference=in_one_sentence(wrong))

    def _of_its_time(self, verdict: WindowVerdict) -> Iterator[Difference]:
        due = self._versions.of(verdict.window).number
        if verdict.version != due:
            yield Difference(
                key=layout.monitor_verdict(self._ledger.name, verdict.number),
                difference=f"window {verdict.window} was judged by version {verdict.version} of the spec, "
                           f"and version {due} applies to it",
            )

    def _unrevised(self, verdict: WindowVerdict) -> bool:
        """Whether the labels it rests on have not been revised since."""
        store = self._ledger.store
        return all(revision_of(Ledger(store, part.evaluation)) == part.revision for part in verdict.parts)
