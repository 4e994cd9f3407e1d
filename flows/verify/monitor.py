"""`verify` of a monitor: does every verdict follow from its window's evaluations and the verdicts before?

    spec, openings    can be read, and name windows that are some
    verdicts          numbered without a gap, each recomputed from the ledgers of the evaluations it rests on

Signals and content digests are not recomputed: the predictions of a window are kept frozen in its
evaluations, which are verified by their own names.
"""

from collections.abc import Iterator
from dataclasses import asdict

from assay.evalcore.errors import AssayError
from assay.evalcore.monitoring.calendar import named
from assay.flows.monitor.evidence import read_part, revision_of
from assay.flows.monitor.judging import judge
from assay.flows.monitor.registry import open_monitor
from assay.flows.verify.ledger import Verification
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.differences import Difference, in_one_sentence, value_differences
from assay.tasks.ledger.monitors import WindowVerdict, latest, read_openings, read_verdicts
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import Store, StoreUnreachable
from assay.tasks.spec.monitor import MonitorSpec


def verify_monitor(store: Store, name: str) -> Verification:
    """Recompute a monitor's verdicts. Raises UnknownMonitor, and StoreError if the store is away."""
    spec = open_monitor(store, name)
    ledger = Ledger(store, layout.monitor(name))
    there = frozenset(retried(_keys)(ledger))
    found = sorted({*_strangers(there), *_openings(ledger, spec), *_verdicts(ledger, spec)})
    verdicts = [key for key in there if layout.monitor_verdict.match(key)]
    return Verification(
        evaluation=ledger.name, finished=False, rounds=len(verdicts), labels=0, keys=len(there),
        keys_checked=len(verdicts), seal=None, differences=tuple(found),
        notes=(f"{len(verdicts)} verdicts recomputed; its evaluations are verified by their own names",),
    )


def _keys(ledger: Ledger) -> list[str]:
    return list(ledger.keys(f"{ledger.name}/"))


def _strangers(there: frozenset[str]) -> Iterator[Difference]:
    for key in there:
        if layout.parse(key) is None:
            yield Difference(key=key, difference="is not a key of a monitor")


def _openings(ledger: Ledger, spec: MonitorSpec) -> Iterator[Difference]:
    for window, several in retried(read_openings)(ledger).items():
        key = layout.monitor_opening(ledger.name, window, 1)
        try:
            named(window, spec.kind)
        except AssayError as error:
            yield Difference(key=key, difference=str(error))
        if [opening.number for opening in several] != list(range(1, len(several) + 1)):
            yield Difference(key=key, difference="the openings of this window are not numbered from 1 on")


def _verdicts(ledger: Ledger, spec: MonitorSpec) -> Iterator[Difference]:
    verdicts = retried(read_verdicts)(ledger)
    newest = latest(verdicts)
    for i, verdict in enumerate(verdicts):
        key = layout.monitor_verdict(ledger.name, i + 1)
        if verdict.number != i + 1:
            yield Difference(key=key, difference="is missing, or numbered wrongly")
            return
        if newest[verdict.window] is verdict or _unrevised(ledger.store, verdict):
            try:
                parts = [read_part(Ledger(ledger.store, part.evaluation)) for part in verdict.parts]
                computed = judge(spec, verdict.window, parts, verdicts[:i])
            except StoreUnreachable:
                raise
            except (AssayError, ValueError, KeyError, TypeError, IndexError) as error:
                yield Difference(key=key, difference=f"cannot be recomputed: {type(error).__name__}: {error}")
                continue
            stored, plain = (
                codec.from_json(codec.to_json(asdict(v)), key) for v in (verdict, computed)
            )
            wrong = list(value_differences(stored, plain))
            if wrong:
                yield Difference(key=key, difference=in_one_sentence(wrong))


def _unrevised(store: Store, verdict: WindowVerdict) -> bool:
    """Whether the labels it rests on are still the ones that stand."""
    return all(revision_of(Ledger(store, part.evaluation)) == part.revision for part in verdict.parts)
