"""`verify --bundle`: is a bundle whole, whose is it, and does all in it follow from the record that lies in
it?

    files       each is what bundle.json says, and no other is there
    signature   of bundle.json, by the key that is given, or by the one in the bundle
    time stamp  of bundle.json, resting on the certificate that is given
    ledger      computed again, as `verify` does with a store, and sealed as bundle.json says
    report      says what the ledger comes to

Nothing outside the bundle is read: no store, no source, no network.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.evalcore.errors import BadInput
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.verify.checking import UNREADABLE
from assay.flows.verify.ledger import Verification, verify
from assay.tasks.ledger.findings import Difference, in_one_sentence, value_differences
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import BadKey, Store
from assay.tasks.report.bundle import LEDGER, Bundle

_REPORT = "report/report.json"
_COMPARED = ("evaluation", "state", "stopped_by", "verdict", "labels", "rounds", "revision", "estimates")


def verify_bundle(
    path: Path, key: bytes | None = None, root: bytes | None = None, seal: str | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> Verification:
    """What there is to say of a bundle.

    key    the public key in PEM that it has to be signed with; None: any, or none
    root   the certificate in PEM that its time stamp has to rest on; None: any, or no time stamp
    seal   the digest that the newest seal must have, as noted elsewhere; None: the one that bundle.json has
    watch  of the rounds recomputed so far, and of how many there are

    Raises BadInput for what is no bundle, and what `verify` raises.
    """
    with Bundle(path) as bundle, TemporaryDirectory(prefix="assay-bundle-") as folder:
        different, notes = list(bundle.differences()), []
        for statement, wrong in (bundle.signed(key), bundle.stamped(root)):
            notes += [statement] if statement else []
            different += [wrong] if wrong else []
        store = LocalStore(folder)
        try:
            for name, blob in bundle.ledger():
                store.put(name, blob)
        except BadKey as error:
            raise BadInput(f"{path}: holds what is no key of a ledger: {error}") from None
        integrity = verify(store, bundle.evaluation, seal or bundle.seal, None, watch)
        different += [replace(one, key=LEDGER + one.key) for one in integrity.differences]
        different += _of_report(bundle, store)
    return replace(
        integrity, differences=tuple(sorted(different)), notes=(*notes, *integrity.notes),
        as_sealed=[LEDGER + name for name in integrity.as_sealed],
    )


def _of_report(bundle: Bundle, store: Store) -> Iterator[Difference]:
    """Where the report says something else than the ledger."""
    if _REPORT not in bundle.names:
        return
    with suppress(*UNREADABLE):      # of a ledger that cannot be read `verify` has said so
        standing = current_standing(open_evaluation(store, bundle.evaluation))
        current = json.loads(json.dumps(standing.to_json()))
        try:
            reported = json.loads(bundle.read(_REPORT))
        except ValueError:
            reported = {}
        estimates, due = ({name: table.get(name) for name in _COMPARED} for table in (reported, current))
        wrong = list(value_differences(estimates, due))
        if wrong:
            yield Difference(key=_REPORT, difference=in_one_sentence(wrong))
