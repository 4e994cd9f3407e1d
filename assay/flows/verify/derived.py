"""What lies below `index/` and spares the reading of a ledger: does it say what the ledger says?

It is no evidence, and may be removed at any time. But lists and pages tell what it says, `advance` and the
runs of monitors go on from it, and a store that lets nobody overwrite the evidence has to allow it here. So
`verify` names what says anything else:

    index/finished/<evaluation>/   where a finished evaluation stands
    index/open/<evaluation>/       records, estimates and state of the closed rounds
    index/monitors/<name>/         records of windows and verdicts, and the windows of which nothing is due

What does not have the digest in its name, or is of other versions, is believed by nobody, and left alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from assay.evalcore.json_values import value_under
from assay.flows.record.finished import StandingIndex
from assay.flows.record.fold import Fold, fold, known_from, not_begun
from assay.flows.record.opened import Opened
from assay.flows.record.standing import current_standing
from assay.tasks.ledger import layout
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.checkpoint_values import UNREADABLE
from assay.tasks.ledger.checkpoints import CheckpointLost, find_checkpoint, find_kept
from assay.tasks.ledger.findings import (
    Difference,
    Integrity,
    in_one_sentence,
    state_differences,
    value_differences,
)
from assay.tasks.ledger.layout import KeyPattern
from assay.tasks.ledger.monitors import WindowVerdict
from assay.tasks.ledger.record import Ledger, find_bytes

REMOVE = "; remove it: it is made again from the ledger"


def check_derived(opened: Opened, folded: Fold, integrity: Integrity) -> None:
    """What the index says of an evaluation whose ledger is as it should be; what says otherwise is added to
    the findings. folded: of the closed rounds. Raises StoreUnreachable."""
    for difference in (*_finished_differences(opened), *_checkpoint_differences(opened, folded)):
        integrity.add(difference.key, difference.difference)


def _finished_differences(opened: Opened) -> Iterator[Difference]:
    index = StandingIndex(opened.ledger.store, [opened.name])
    if index.read_kept(opened.name) is None:
        return
    (key,) = index.kept(opened.name)
    stored = codec.from_json(find_bytes(opened.ledger, key) or b"{}", key)["standing"]
    computed = codec.plain(replace(current_standing(opened), forecast=None))
    summary, ledger_says = (
        {name: value_under(record, name) for name in _TOLD}
        for record in (stored, _as_far_as(stored, computed))
    )
    sentences = list(value_differences(summary, ledger_says))
    if sentences:
        yield Difference(key=key, difference=in_one_sentence(sentences) + REMOVE)


# of a standing, what version 1.0.0 kept too; wordings may be others in each version
_TOLD = ("state", "ending", "verdict", "rounds", "labels", "undecided", "known", "budget", "revision",
         "revised_items", "confidence_asked")


def _as_far_as(stored: object, computed: object) -> object:
    """What was computed, without the fields that an earlier version did not have in its records."""
    match stored, computed:
        case (dict() as old, dict() as new):
            return {name: _as_far_as(old[name], value) for name, value in new.items() if name in old}
        case (list() as old, list() as new) if len(old) == len(new):
            return list(map(_as_far_as, old, new))
        case _:
            return computed


def _checkpoint_differences(opened: Opened, folded: Fold) -> Iterator[Difference]:
    ledger = opened.ledger
    entries = find_checkpoint(ledger)
    newest = entries.newest
    if newest is None:
        return
    key = _newest(entries.keys, layout.checkpoint, newest.round)
    sentences = list(_other_records(ledger, newest.records))
    begun = not_begun(opened.statistics)
    if folded.state.round != newest.round:
        folded = fold(ledger, opened.statistics, rounds=newest.round)
    try:
        checkpoint = known_from(ledger, newest, begun).fold
        for name in ("state", "as_if", "labelled", "last_asked", "reused"):
            sentences += state_differences(getattr(checkpoint, name), getattr(folded, name), name)
        for number, (kept_look, look) in enumerate(zip(checkpoint.looks, folded.looks, strict=True), 1):
            stored, computed = (codec.plain(row.look()) for row in (kept_look, look))
            sentences += value_differences(stored, computed, f"round {number}")
    except (CheckpointLost, *UNREADABLE):
        pass     # nobody goes on from it
    if sentences:
        yield Difference(key=key, difference=in_one_sentence(sentences) + REMOVE)


def derived_monitor_differences(ledger: Ledger, keys: frozenset[str]) -> list[Difference]:
    """What the newest checkpoint of a monitor says otherwise than its ledger, of which these are the keys.
    Raises StoreUnreachable. A checkpoint is only a shortcut, so it must say what the records say."""
    entries = find_kept(ledger)
    checkpoint = entries.newest
    if checkpoint is None:
        return []
    key = _newest(entries.keys, layout.monitor_checkpoint, checkpoint.verdicts)
    records = checkpoint.records
    sentences = list(_other_records(ledger, records))
    of_window = [
        (record_key, match[1]) for record_key in sorted(keys) for kind in _OF_WINDOW
        if (match := kind.match(record_key))
    ]
    verdicts = [layout.monitor_verdict(ledger.name, number) for number in range(1, checkpoint.verdicts + 1)]
    of_settled = [record_key for record_key, window in of_window if window in checkpoint.settled]
    sentences += [f"leaves out {missing}" for missing in (*verdicts, *of_settled) if missing not in records]
    ended_windows = {window for record_key, window in of_window if layout.window_state.match(record_key)}
    if not sentences:
        ended_windows |= {codec.decode(WindowVerdict, records[key], key).window for key in verdicts}
        sentences += [
            f"says that nothing is due for {window}" for window in sorted(checkpoint.settled - ended_windows)
        ]
    return [Difference(key=key, difference=in_one_sentence(sentences) + REMOVE)] if sentences else []


_OF_WINDOW = (layout.monitor_opening, layout.window_state)


def _newest(keys: frozenset[str], kind: KeyPattern[str, int, str], number: int) -> str:
    """The key that is read first of those of this number."""
    return max(key for key in keys if (match := kind.match(key)) and match[1] == number)


def _other_records(ledger: Ledger, records: Mapping[str, bytes]) -> Iterator[str]:
    for key, blob in sorted(records.items()):
        if find_bytes(ledger, key) != blob:
            yield f"has another {key}"
