"""A spec and what it names: the pool, with the same errors that `begin` would raise, the store and the desk.

Of the pool of a file or a spec: its usable numbers, what they look like, and what it would cost.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.evalcore.errors import AssayError, BadInput, Remediable, plural
from assay.evalcore.evaluation.stopping import PRICE_OF_FEWER, rule_in_words
from assay.evalcore.forecast.labels_needed import Played
from assay.evalcore.forecast.prognosis import PROGNOSIS_LABELS, PoolColumns, Prognosis, Wanted, prognosis
from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.registry import auto
from assay.evalcore.methods.two_classes.choice import Aim, Choice
from assay.tasks.doctor.columns import look_at_columns, sample
from assay.tasks.doctor.examination import (
    Examination,
    Finding,
    of_all_rows,
    ok,
    problem,
    sample_findings,
    sample_json,
    warning,
)
from assay.tasks.doctor.judge import (
    alike_finding,
    calibration_finding,
    direction_finding,
    doubtful_classes,
    judge_columns,
    look_at_desk,
    look_at_store,
    of_systems,
    ties_finding,
    with_differing,
)
from assay.tasks.doctor.numbers import (
    ClassNames,
    UsableRows,
    class_names,
    or_at_it,
    refuse_unknown_positive,
    threshold_of,
    usable_rows,
)
from assay.tasks.doctor.portion import Portion, portion_of
from assay.tasks.doctor.roles import Roles, Told, guess_roles
from assay.tasks.doctor.scan import Scan, scan
from assay.tasks.doctor.suggest import OF_TWO_CLASSES, suggest_spec
from assay.tasks.doctor.summary import NumbersSummary, summary_of
from assay.tasks.doctor.unread import decides_by_name, unreadable_columns
from assay.tasks.ledger.life import read_spec
from assay.tasks.ledger.manifest import load_manifest
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import KeyMissing, Store
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.pool.held_labels import LABELS_SO_FAR, held_labels
from assay.tasks.pool.inherited import given_labels
from assay.tasks.pool.same_source import FrozenPool, refuse_changed_source
from assay.tasks.pool.silent_columns import refuse_columns_that_speak, without_silent_columns
from assay.tasks.secrets import refuse_secrets
from assay.tasks.settings import Settings
from assay.tasks.sources.files.file import ROW_NUMBER
from assay.tasks.sources.known_labels import labelled_rows
from assay.tasks.sources.reader import column_names, common_columns, open_source
from assay.tasks.spec.census import hardly_met_by_all, never_met_by_all
from assay.tasks.spec.evaluation import Spec, load_spec, with_limit
from assay.tasks.spec.strict_yaml import parse_yaml

QUICK_WORLDS = 6    # that a first forecast simulates, while somebody waits; `assay begin` simulates more


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminationWatch:
    """Callbacks that hear how far an examination is: the rows scanned so far, and the worlds that its
    forecast has simulated. Each may be None where nobody listens."""

    rows: Callable[[int], None] | None = None   # rows scanned so far
    worlds: Played | None = None                # worlds that the forecast has simulated


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExaminedPool:
    """The pool of an examined source: its usable rows as arrays, a summary of scores, calibration, measures
    and cost, and the findings that follow from them."""

    numbers: UsableRows
    summary: NumbersSummary
    findings: list[Finding]


def examine_pool(survey: Scan, roles: Roles) -> ExaminedPool | None:
    """None where the numbers cannot be used; the findings of the scan say why."""
    try:
        numbers = usable_rows(survey, roles)
    except BadInput:
        return None
    summary = summary_of(numbers, survey.total, survey.times)
    findings = (
        calibration_finding(numbers, supplied=roles.probability is not None, times=survey.times),
        direction_finding(numbers),
        alike_finding(numbers, roles),
        ties_finding(summary.scores, len(numbers.score)),
    )
    return ExaminedPool(
        numbers=numbers, summary=summary, findings=[finding for finding in findings if finding is not None]
    )


_SUGGESTED = "the suggested spec"
_BY_LABELS = ("what random samples and hidden positives take is by the labels in the file; of a spec, which "
              "is examined without labels, it is by the probabilities")


def examine_spec(
    path: Path, store_of: Callable[[Spec], Store], watch: ExaminationWatch, *, sampling: bool = False
) -> Examination:
    """Examine a spec; sampling: read a sample of a large source. Every problem is a finding; nothing is begun
    or created. `store_of` opens the store that a spec names, and `watch` is told of each step."""
    try:
        recorded = load_spec(path)
    except BadInput as error:
        return Examination(subject=str(path), findings=[_refused("spec", error, "correct the spec")])
    try:
        spec = without_silent_columns(recorded)
    except BadInput:
        spec = recorded      # what is wrong with its source is a finding below
    if not spec.labels.by_cell or spec.labels.one_class is not None:
        return _any_outcome(path, recorded, store_of, sampling)
    findings = [ok("spec", f"{spec.name!r}, {', '.join(m.name for m in spec.measures)} by {spec.method}")]
    findings += [*_without_interval(spec), *_met_early(spec)]
    pool = spec.pool
    roles = Roles(
        id=pool.id, score=pool.score, probability=pool.probability_column, prediction=pool.prediction,
        display=pool.display, segments=pool.segments, positive=spec.labels.offered[0],
        negative=spec.labels.offered[1], threshold=pool.threshold,
    )
    survey, examined, ahead, looked_at = Scan(), None, None, None
    try:
        portion = portion_of(open_source(pool.source), sampling=sampling)
        looked_at = sample_json(portion)
        refused = _as_begin_would(spec, portion)
        survey = scan(portion, roles, watch.rows)
        findings += sample_findings(portion, survey.rows)
        findings += judge_columns(survey, roles)
        if refused is not None:
            findings.append(problem("pool", refused, "`assay begin` would refuse this pool"))
        examined = examine_pool(survey, roles)
        if examined is not None:
            findings += examined.findings
            if refused is None:
                ahead, cost_findings = _prognosis(spec, examined, watch, survey.times)
                findings += cost_findings
    except BadInput as error:
        findings.append(_refused("pool.source", error, "correct the source, or name another one"))
    if survey.rows and spec.budget.labels > survey.total:
        findings.append(_too_many(spec, survey.total))
    if survey.rows:
        findings += _about_population(spec, survey.total)
    findings += _places(recorded, store_of)
    return Examination(
        subject=str(path), findings=findings, rows=survey.total, roles=roles, rows_read=survey.rows,
        sample=looked_at,
        summary=examined.summary if examined else None, prognosis=ahead,
    )


def _refused(about: str, error: BadInput, otherwise: str) -> Finding:
    """With the remedy that the error has, if it has one."""
    if isinstance(error, Remediable):
        return problem(about, error.problem, error.remedy)
    return problem(about, str(error), otherwise)


def _any_outcome(
    path: Path, spec: Spec, store_of: Callable[[Spec], Store], sampling: bool
) -> Examination:
    """With labels of any other kind, and of one class of several: whether the rows can be frozen, and the
    places. No forecast."""
    rows = read = 0
    looked_at = None
    findings = [ok("spec", f"{spec.name!r}, {', '.join(m.name for m in spec.measure)} by {spec.method}")]
    findings += _met_early(spec)
    try:
        portion = portion_of(open_source(spec.pool.source, spec.pool.id), sampling=sampling)
        looked_at = sample_json(portion)
        read, freeze_findings = _can_be_frozen(spec, portion)
        rows = portion.total(read)
        findings += sample_findings(portion, read)
        findings += freeze_findings
    except BadInput as error:
        findings.append(_refused("pool", error, "correct the source, or name another one"))
    if rows and spec.budget.labels > rows:
        findings.append(_too_many(spec, rows))
    if rows:
        findings += _about_population(spec, rows)
    return Examination(
        subject=str(path), findings=[*findings, *_places(spec, store_of)], rows=rows, rows_read=read,
        sample=looked_at,
    )


def as_begin_would(text: str, portion: Portion, roles: Roles) -> list[Finding]:
    """What `begin` would say of the pool of a suggested spec, in YAML, and a simulated desk of its labels.
    Gives the findings; a spec that would be refused gives the refusal as one of them."""
    try:
        spec = Spec.from_json(parse_yaml(text, _SUGGESTED), _SUGGESTED)
        findings = _can_be_frozen(spec, portion)[1]
        if spec.desk.kind == "simulated" and roles.label is not None and portion.complete:
            answers = spec.labels.answers
            for _ in labelled_rows(spec.pool.source, spec.pool.id, roles.label, answers, key="labels"):
                pass
        return findings
    except BadInput as error:
        return [problem("pool", str(error), "correct the source, or write a spec by hand")]


def _can_be_frozen(spec: Spec, portion: Portion) -> tuple[int, list[Finding]]:
    """Rows that were read, and findings of a pool of any kind. Raises BadInput as freezing would."""
    checker = RowChecker(spec, [file.path for file in portion.files])
    differing = [0] * len(spec.pool.compared)
    rows = 0
    for batch in portion.batches(checker.columns):
        checked = checker.check(batch)
        rows += checked.num_rows
        differing = with_differing(differing, checked)
    systems = f" with {len(spec.pool.compared)} systems" if spec.pool.compares else ""
    looked_at = "" if portion.complete else " looked at"
    says = f"{plural(rows, 'item')}{looked_at}{systems} can be frozen; people answer {spec.labels.in_words}"
    ahead = ok("forecast", "`assay begin` gives one, once the pool is frozen")
    return rows, [ok("pool", says), *of_systems(spec, differing, rows, portion.total(rows)), ahead]


def _about_population(spec: Spec, rows: int) -> list[Finding]:
    """Whether a target about the population can be met by labelling the pool."""
    never, hardly = never_met_by_all(spec, rows), hardly_met_by_all(spec, rows)
    if never:
        return [problem("target.half_width", never, "`assay begin` would refuse it")]
    return [warning("target.half_width", hardly, "more items, or a wider target")] if hardly else []


def _too_many(spec: Spec, rows: int) -> Finding:
    return problem(
        "budget.labels", f"{plural(spec.budget.labels, 'label')} of {plural(rows, 'item')}",
        f"lower it to {rows:,} or less",
    )


def _as_begin_would(spec: Spec, portion: Portion) -> str | None:
    """The first error that freezing these rows would raise, row by row; None if it would raise none."""
    checker = RowChecker(spec, [file.path for file in portion.files])
    try:
        for batch in portion.batches(checker.columns):
            checker.check(batch)
    except BadInput as error:
        return str(error)
    return None


def _without_interval(spec: Spec) -> list[Finding]:
    """A warning where the method was published without an interval."""
    if spec.chosen_method.interval != "none":
        return []
    stops = " No target can be met so: the budget alone stops it." if spec.target.given else ""
    return [warning(
        "method", f"{spec.method} reports no interval, as it was published: the whole range stands in its "
        f"place, and no verdict is reached.{stops}",
        "`method: auto` or `passive` for an interval; `assay replay` to compare such baselines",
    )]


def _met_early(spec: Spec) -> list[Finding]:
    """A warning, with the price, where a target counts as met sooner than the method was measured to need."""
    method, (least_labels, looks) = spec.chosen_method, spec.target.when_met(spec.chosen_method)
    sooner = least_labels < method.least_labels or looks < method.looks_in_a_row
    if not spec.target.given or not sooner:
        return []
    return [warning(
        "target", f"{rule_in_words(least_labels, looks)}, which is sooner than {spec.method} was measured to "
        f"need. {PRICE_OF_FEWER}",
        "leave `least_labels` and `looks` out for an interval that covers as it says",
    )]


def _prognosis(
    spec: Spec, examined: ExaminedPool, watch: ExaminationWatch, times: float
) -> tuple[Prognosis | None, list[Finding]]:
    """What the spec's evaluation would cost; a warning if its method cannot be tried on scores alone."""
    targets = () if spec.first_half_width is None else (spec.first_half_width,)
    supplied = examined.numbers.columns(supplied=spec.pool.probability is not None)
    try:
        ahead = prognosis(
            supplied, spec.choice_of(supplied.predicted),
            Wanted(
                half_widths=targets, measures=spec.measures, confidence=spec.target.confidence,
                budget=spec.budget.labels, batch_size=spec.batch_size,
            ),
            worlds=Settings().forecast_worlds or QUICK_WORLDS, played=watch.worlds,
        )
        return of_all_rows(ahead, times), []
    except AssayError as error:
        return None, [warning("method", f"no forecast: {error}", "`assay begin` tries the method itself")]


def _places(spec: Spec, store_of: Callable[[Spec], Store]) -> list[Finding]:
    """The store, whether the name is free there, and the desk."""
    result = []
    try:
        store = store_of(spec)
        result.append(look_at_store(store))
        if result[0].level == "ok":
            result.append(_name(spec, store))
    except AssayError as error:
        result.append(problem("store", str(error), "correct the address of the store"))
    result.append(look_at_desk(spec))
    return [*result, *_given_elsewhere(spec)]


def _given_elsewhere(spec: Spec) -> list[Finding]:
    """Whether the files of labels that `warm_start` and `labels_so_far` name can be read, as `begin` would.
    """
    start, held, findings = spec.warm_start, spec.labels_so_far, []
    files: list[tuple[str, str, Callable[[], Mapping[str, float]]]] = []
    if start is not None and start.evaluation is None:
        files.append((f"warm_start.{start.key}", start.file, lambda: given_labels(spec, start)))
    if held is not None:
        files.append((LABELS_SO_FAR, held.source or spec.pool.source, lambda: held_labels(spec).labels))
    for about, file, read in files:
        try:
            findings.append(ok(about, f"{plural(len(read()), 'label')} in {file}"))
        except BadInput as error:
            key = about.partition(".")[0]
            findings.append(problem(about, str(error), f"correct the file, or leave {key} out"))
    return findings


def _name(spec: Spec, store: Store) -> Finding:
    ledger = Ledger(store, spec.name)
    try:
        recorded = with_limit(read_spec(ledger).spec)
    except KeyMissing:
        return ok("name", f"{spec.name!r} is free in {store.url}")
    if recorded == spec.to_json():
        return _resumed(spec, ledger)
    return problem("name", f"{spec.name!r} is taken in {store.url} by another spec",
                   "give this one another name, or restore that spec to resume it")


def _resumed(spec: Spec, ledger: Ledger) -> Finding:
    """Whether the source still holds the pool that was frozen under this name."""
    begun = f"{spec.name!r} has begun with this very spec: `assay run` resumes it"
    try:
        manifest = load_manifest(ledger)
        refuse_changed_source(ledger, spec.as_frozen(manifest.columns), manifest)
        refuse_columns_that_speak(ledger, spec, manifest)
    except KeyMissing:
        return ok("name", begun)     # killed before the pool was frozen
    except BadInput as error:
        return problem("name", str(error), "until then `assay run` refuses it")
    return ok("name", f"{begun}, with {FrozenPool.from_ledger(ledger, spec, manifest).text}")


SILENT = ExaminationWatch()
TARGETS = (0.10, 0.05, 0.02)      # half-widths a file is examined for


def examine(
    subject: str, store_of: Callable[[Spec], Store], watch: ExaminationWatch = SILENT,
    hints: Told | None = None, *, sampling: bool = False,
) -> Examination:
    """Examine a spec (by its suffix), or a file, folder or glob of predictions; sampling: read a sample of a
    large one. Every problem is a finding.

    Raises BadInput where `hints` names a column that a file lacks, or goes with a spec, and for an address
    that holds a secret.

    `doctor`: look at a file of predictions, or at a spec and all it names, before anything is begun.

    A file: which columns there are and what is wrong with them, what can be measured, which methods suit it,
    how many labels it would take, and a spec to start from. A spec: the same with the columns it names, the
    same errors that `begin` would raise, and the store and the desk, which are not changed.
    """
    refuse_secrets(subject, "what is to be examined")   # it is printed
    if not subject.endswith((".yaml", ".yml")):
        return examine_file(subject, hints or Told(), watch, sampling=sampling)
    if hints is not None:
        hints.refuse_beside_a_spec(subject)
    return examine_spec(Path(subject), store_of, watch, sampling=sampling)


def examine_file(
    path: str, hints: Told, watch: ExaminationWatch = SILENT, *, sampling: bool = False, forecast: bool = True
) -> Examination:
    """Examine a file, folder or glob, and suggest a spec; sampling: read a sample of a large one; forecast:
    what labels would cost, which takes seconds. Raises BadInput for a column or a class that is not there."""
    try:
        source = open_source(path)
        written = [ok("source", dialect) for dialect in source.dialects()]
        names, common = column_names(source), common_columns(source)
        names = [name for name in names if name in common or decides_by_name(name) or hints.names(name)]
        first_rows = sample(source, names)
        columns, unreadable = look_at_columns(first_rows), unreadable_columns(first_rows)
        portion = portion_of(source, sampling=sampling)
    except BadInput as error:
        return _broken(path, str(error))
    if not columns:
        return _broken(path, f"{path}: no row has a value; a table has rows below its line of column names")
    for flaw in unreadable:
        if hints.names(flaw.column):
            raise BadInput(f"{path}: column {flaw.column!r} {flaw.says}; {flaw.remedy}")
    roles = guess_roles(columns, hints)
    unread = tuple(flaw for flaw in unreadable if decides_by_name(flaw.column))
    roles = replace(roles, unread=(*roles.unread, *unread))
    if roles.id is None and len(source.files) == 1:
        roles = replace(roles, id=ROW_NUMBER)
    try:
        survey = scan(portion, roles, watch.rows)
    except BadInput as error:
        return _broken(path, str(error))
    refuse_unknown_positive(survey, roles)
    examined, classes = _pool_of(survey, roles)
    of_classes = roles.outcome in ("two classes", "classes")
    if classes is not None and classes.question is not None and of_classes:
        roles = replace(roles, questions=(*roles.questions, classes.question))
    written += [
        warning(name, "is in some of the files alone, so it is not used", "write it in all, if it matters")
        for name in column_names(source) if name not in names
    ]
    findings = [*written, *sample_findings(portion, survey.rows), *judge_columns(survey, roles)]
    findings += examined.findings if examined else ()
    usable = all(finding.level != "problem" for finding in findings)
    ahead = None
    if examined is not None and usable and forecast:
        supplied = examined.numbers.columns(supplied=roles.probability is not None)
        measures = tuple(map(measure, OF_TWO_CLASSES)) if supplied.prediction.any() else ()
        ahead = of_all_rows(prognosis(
            supplied, _auto_for(supplied, measures), Wanted(half_widths=TARGETS, measures=measures),
            worlds=Settings().forecast_worlds or QUICK_WORLDS, played=watch.worlds,
        ), survey.times)
        if supplied.confusion is not None:
            findings.append(ok("forecast", _BY_LABELS))
    text = None if roles.open else suggest_spec(
        path, roles, survey, classes=classes, threshold=examined.numbers.threshold if examined else None,
        spread=max((c.spread for c in columns if c.name in (roles.prediction, roles.label)), default=0.0),
    )
    people_see = roles.display or (roles.label is not None and not survey.missing_labels)
    if usable and text is not None and (people_see or roles.outcome != "two classes"):
        begin_findings = as_begin_would(text, portion, roles)
        findings += [f for f in begin_findings if f.level == "problem" or roles.outcome != "two classes"]
    return Examination(
        subject=path, findings=findings, rows=survey.total, roles=roles,
        summary=examined.summary if examined else None, prognosis=ahead, spec=text,
        rows_read=survey.rows, sample=sample_json(portion),
        labelled=roles.label is not None and survey.rows > 0 and not survey.missing_labels,
        measured_lines=tuple(_measured(survey, roles, classes)),
    )


def _auto_for(pool: PoolColumns, measures: Sequence[Measure]) -> Choice:
    """What `auto` means for a pool of which no spec says a target or a budget."""
    return (
        auto(aim=Aim(measures=measures, predicted=pool.predicted, budget=PROGNOSIS_LABELS))
        if measures
        else auto()
    )


def _measured(survey: Scan, roles: Roles, classes: ClassNames | None) -> Iterator[str]:
    """Of which class the measures are, above what an item is predicted positive, and which classes no row
    predicts."""
    if (doubts := doubtful_classes(survey, roles)) is not None:
        yield f"{roles.label}: {doubts}"
    if classes is None or roles.outcome not in ("two classes", "classes"):
        return
    positive = (classes.predicted if survey.prediction_names else classes.labelled)[0]
    if roles.prediction or roles.outcome == "two classes":
        yield f"{', '.join(f'{name} of {positive}' for name in OF_TWO_CLASSES)} (--positive)"
    scale = roles.score or roles.probability
    if roles.prediction is None and roles.outcome == "two classes" and scale is not None:
        threshold = threshold_of(survey, roles)
        yield f"predicted positive above {threshold:g} of {scale}{or_at_it(roles)} (--threshold)"


def _pool_of(survey: Scan, roles: Roles) -> tuple[ExaminedPool | None, ClassNames | None]:
    """The numbers of two classes with a score or a probability, where it is known what is what; and the names
    of any two classes."""
    try:
        classes = class_names(survey, roles)
    except BadInput:
        return None, None
    two = roles.outcome == "two classes"
    return examine_pool(survey, roles) if two and not roles.open else None, classes


def _broken(path: str, says: str) -> Examination:
    what, _, remedy = says.removeprefix("pool.source: ").rpartition("; ")
    if not what:
        what, remedy = says, "give a file that can be read"
    return Examination(subject=path, findings=[problem("source", what, remedy)])
