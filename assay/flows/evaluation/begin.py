"""`begin`: check spec and predictions, freeze the pool, and claim the evaluation's name.

    spec.json already there     the same spec resumes if its source still holds the frozen pool; another spec
                                and another pool are refused
    freeze                      the rows checked and written, nothing committed
    desk                        reached and made ready, only now: bad input leaves no empty project behind
    identity.json               the evaluation's own word, never made again
    spec.json                   put just before the manifest: input that is refused does not use up the name
    log/                        begins with the digests of these (tasks.ledger.log)
    manifest.json               commits it all

Twice at once, or again after any crash, the result is the same.
"""

import logging
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.methods.registry import is_auto
from assay.evalcore.methods.two_classes.choice import Choice
from assay.flows.record.opened import Opened, desk_of, open_evaluation, utc_now
from assay.flows.workers.chosen import chosen_workers
from assay.tasks.desks.desk import Desk, prepare_desk
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import (
    LEDGER_FORMAT,
    ChosenMethod,
    RecordedSpec,
    enter_index,
    own_identity,
    read_spec,
    versions,
    write_begun,
    write_spec,
)
from assay.tasks.ledger.log import MARK, begin_log
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import KeyMissing, Store
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.freeze_shards import forget
from assay.tasks.pool.frozen import PART_ROWS
from assay.tasks.pool.inherited import write_inherited
from assay.tasks.pool.kind import PredictionCounts
from assay.tasks.pool.same_source import refuse_changed_source
from assay.tasks.pool.shards import MapOver
from assay.tasks.pool.silent_columns import refuse_columns_that_speak, without_silent_columns
from assay.tasks.settings import Settings
from assay.tasks.sources.files.file import NoFile
from assay.tasks.spec.census import never_met_by_all, refuse_known_answers
from assay.tasks.spec.evaluation import Spec, with_limit

_log = logging.getLogger("assay.begin")


_SILENT = ("pool: weights that are all equal, one stratum and clusters of one item each say nothing, so the "
           "question is asked as without them (the items of the pool, unless `about` says population)")


class NameTaken(BadInput):
    """Raised by `begin` where another evaluation already has this name. The message says in what the two
    differ: their specs, or the pools they froze."""


def begin_evaluation(
    store: Store,
    spec: Spec,
    desk: Desk | None = None,
    *,
    clock: Callable[[], datetime] = utc_now,
    progress: Callable[[int], None] | None = None,
    workers: MapOver | None = None,
    same_source: bool = True,
) -> Opened:
    """Begin an evaluation, or find it begun with the same spec.

    desk          where people label; the one of the spec unless given
    progress      told the number of rows frozen so far
    workers       who freezes a large pool; those of the spec, or of ASSAY_FREEZE_RUNNER, unless given
    same_source   whether the source of one that has begun must still hold the frozen pool; a monitor, which
                  opens windows again when their files change, looks after that itself

    Raises NameTaken for another spec under the same name; SourceChanged, or NoFile, where the source is not
    the frozen pool any more; BadInput or a desk's or store's error for whatever is wrong, and then nothing
    has begun.
    """
    _check_store(store)
    if _begun_as(store, spec):
        opened = open_evaluation(store, spec.name)
        if same_source:
            _compare(opened, spec, progress)
        if opened.manifest.rows > PART_ROWS:
            forget(store, spec.name)      # it may have been killed before it cleared up
        return opened
    _check_audit(store, spec)
    bare_spec = without_silent_columns(spec) if same_source else spec
    if bare_spec is not spec:
        _log.warning("%s", _SILENT)
    if desk is None:
        own_identity(Ledger(store, spec.name))
    chosen_desk = desk if desk is not None else desk_of(store, spec)

    def claim(manifest: Manifest) -> None:
        prepare_desk(chosen_desk)
        own_identity(Ledger(store, spec.name))
        _claim(store, spec, bare_spec.choice_of(manifest.predicted), manifest)
        begin_log(Ledger(store, spec.name))
        write_begun(Ledger(store, spec.name), clock())

    def check_rows(rows: int, counts: PredictionCounts) -> None:
        if not same_source:
            return     # a window of a monitor is what it is: so large, with these predictions
        never = never_met_by_all(bare_spec, rows)
        if never is not None:
            raise BadInput(f"target.half_width {never}")
        refuse_known_answers(bare_spec, counts.predicted)

    manifest = _freeze(bare_spec, store, progress, claim, workers, check_rows)
    _refuse_if_taken(store, spec)
    _log.info("%s: began with %s", spec.name, plural(manifest.rows, "item"))
    return open_evaluation(store, spec.name)


def _compare(opened: Opened, spec: Spec, progress: Callable[[int], None] | None) -> None:
    try:
        refuse_changed_source(opened.ledger, opened.spec, opened.manifest, progress=progress)
        refuse_columns_that_speak(opened.ledger, spec, opened.manifest)
    except NoFile as error:
        raise NoFile(
            f"{error}. Evaluation {opened.name!r} has begun, and its source cannot be compared with its "
            f"pool; restore the source, or go on without it: assay advance {opened.name}"
        ) from None


def _begun_as(store: Store, spec: Spec) -> bool:
    """Whether this very spec has begun under its name. Raises NameTaken if another one holds it."""
    try:
        _refuse_if_taken(store, spec)
    except KeyMissing:
        return False
    return store.exists(layout.manifest(spec.name))


@retried
def _check_audit(store: Store, spec: Spec) -> None:
    """Raises BadInput where judges are to be audited against an evaluation that there is not."""
    audit = None if spec.judges is None else spec.judges.audit
    if audit is not None and not store.exists(layout.manifest(audit.evaluation)):
        raise BadInput(f"judges.audit.evaluation: no evaluation named {audit.evaluation!r} has begun in "
                       f"{store.url}; name one whose labels calibrate the judges, or leave the audit out")


@retried
def _check_store(store: Store) -> None:
    store.check()


@retried
def _refuse_if_taken(store: Store, spec: Spec) -> None:
    recorded, ours = with_limit(read_spec(Ledger(store, spec.name)).spec), spec.to_json()
    if recorded == ours:
        return
    differs = sorted(k for k in {*recorded, *ours} if recorded.get(k) != ours.get(k))
    raise NameTaken(
        f"name: {spec.name!r} is taken in {store.url} by an evaluation with another spec (it differs in "
        f"{', '.join(differs)}); give this one another name, or restore the spec to resume that one"
    )


@effect("freeze-pool", retries=0, shown=lambda spec, *_: f"freeze {spec.name}")
def _freeze(
    spec: Spec, store: Store, progress: Callable[[int], None] | None, claim: Callable[[Manifest], None],
    map_over: MapOver | None, checked: Callable[[int, PredictionCounts], None],
) -> Manifest:
    """No retries of the whole: store and desk retry their own calls, and a pool may have 10⁷ rows."""
    inherited = write_inherited(store, spec)
    runner = spec.freeze_runner or Settings().freeze_runner
    with nullcontext(map_over) if map_over else chosen_workers(runner) as workers:
        return freeze_pool(
            spec, store, progress, claim, inherited=inherited, map_over=workers, checked=checked
        )


def _claim(store: Store, spec: Spec, choice: Choice, manifest: Manifest) -> None:
    """Write the spec under its name, and the evaluation into the index, before the manifest commits both."""
    chosen = choice if is_auto(spec.method) else None
    write_spec(Ledger(store, spec.name), RecordedSpec(
        spec=spec.to_json(),
        versions={**versions(), **MARK},
        auto=None if chosen is None else ChosenMethod(method=chosen.method, reason=chosen.reason),
        format=LEDGER_FORMAT,
    ))
    _refuse_if_taken(store, spec)
    enter_index(Ledger(store, spec.name))
