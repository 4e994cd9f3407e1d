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
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.evalcore.errors import AssayError, BadInput
from assay.evalcore.json_values import value_under
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.bundle import GatheredBundle, ledger_keys
from assay.flows.report.gather import report_data
from assay.flows.verify.checking import UNREADABLE
from assay.flows.verify.ledger import Verification, verify
from assay.tasks.ledger.findings import Difference, in_one_sentence, value_differences
from assay.tasks.ledger.life import versions
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import BadKey, Store
from assay.tasks.report.alike import alike, pictures_alike
from assay.tasks.report.bundle import CONTENT, LEDGER, OF_CONTENT, Bundle

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
        if not integrity.differences:
            different += _of_the_rest(bundle, store)
            if not _by_this_version(bundle):
                notes.append("of the report only the figures in report.json were compared, because another "
                             "version of Assay made it; what else it says `assay report` tells")
    return replace(
        integrity, differences=tuple(sorted(different)), notes=(*notes, *integrity.notes),
        as_sealed=[LEDGER + name for name in integrity.as_sealed],
    )


def _of_the_rest(bundle: Bundle, store: Store) -> Iterator[Difference]:
    """Where what is not the ledger says something else than the ledger, or does not belong there."""
    own = f"{LEDGER}{bundle.evaluation}/"
    for name in bundle.names:
        if name.startswith(LEDGER) and not name.startswith(own):
            yield Difference(key=name, difference="is not of the ledger of this evaluation")
    try:
        opened = open_evaluation(store, bundle.evaluation)
        data = report_data(opened, current_standing(opened))
        file = Path(str(bundle.about.get("verify")).removeprefix("assay verify --bundle "))
        made = GatheredBundle(opened, data, file, ledger_keys(opened), bundle.drawn_by)
    except UNREADABLE as error:
        yield Difference(key=_REPORT, difference=f"cannot be compared: {type(error).__name__}: {error}")
        return
    for name in ("seal", "pool_digest"):
        if bundle.about.get(name) != made.about[name]:
            yield Difference(key=CONTENT, difference=f"{name} is not that of the ledger")
    strange = {name for name in bundle.names if not name.startswith(LEDGER)} - {*made.files, *OF_CONTENT}
    yield from (Difference(key=name, difference="is no file of a bundle") for name in sorted(strange))
    if not _by_this_version(bundle):
        yield from _of_figures(bundle, made.files[_REPORT])
        return
    for name, blob in made.files.items():
        if name not in bundle.names:
            yield Difference(key=name, difference="is missing")
        elif not alike(name, bundle.file_bytes(name), blob):
            yield Difference(key=name, difference="says something else than what is made of the ledger now")
        elif name.endswith(".html") and not pictures_alike(bundle.file_bytes(name), blob):
            yield Difference(key=name, difference=_other_pictures(bundle.drawn_by, made.drawn_here))


def _other_pictures(drawn_by: str, here: str) -> str:
    shown = "shows pictures that are not those of the ledger"
    if drawn_by == here:
        return shown
    return (
        f"{shown} as matplotlib {here} draws them; the bundle says that {drawn_by} drew them: "
        f"pip install matplotlib=={drawn_by}, and verify again"
    )


def _by_this_version(bundle: Bundle) -> bool:
    made_by = bundle.about.get("versions")
    return bool(value_under(made_by, "this_bundle", "assay") == versions()["assay"])


def _of_figures(bundle: Bundle, due: bytes) -> Iterator[Difference]:
    """Where the figures of the report are not those of the ledger, whatever words another version has."""
    try:
        reported, new = (json.loads(blob) for blob in (bundle.file_bytes(_REPORT), due))
        wrong = list(value_differences(
            {name: reported.get(name) for name in _COMPARED}, {name: new.get(name) for name in _COMPARED}
        ))
    except (AssayError, ValueError, AttributeError, RecursionError) as error:
        wrong = [f"cannot be read: {type(error).__name__}"]
    if wrong:
        yield Difference(key=_REPORT, difference=in_one_sentence(wrong))
