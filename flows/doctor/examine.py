"""`doctor`: look at a file of predictions, or at a spec and all it names, before anything is begun.

A file: which columns there are and what is wrong with them, what can be measured, which methods suit it, how
many labels it would take, and a spec to start from. A spec: the same with the columns it names, the same
errors that `begin` would raise, and the store and the desk, which are not changed.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from assay.evalcore.errors import BadInput
from assay.evalcore.forecast.prognosis import Wanted, prognosis
from assay.evalcore.methods.registry import auto
from assay.flows.doctor.spec import (
    QUICK_WORLDS,
    ExaminationWatch,
    ExaminedPool,
    as_begin_would,
    examine_pool,
    examine_spec,
)
from assay.tasks.doctor.columns import look_at_columns, sample
from assay.tasks.doctor.examination import Examination, of_all_rows, ok, problem, sample_findings, sample_json
from assay.tasks.doctor.judge import judge_columns
from assay.tasks.doctor.numbers import ClassNames, class_names
from assay.tasks.doctor.portion import portion_of
from assay.tasks.doctor.roles import Roles, Told, guess_roles
from assay.tasks.doctor.scan import Scan, scan
from assay.tasks.doctor.suggest import suggest_spec
from assay.tasks.ledger.stores.store import Store
from assay.tasks.secrets import refuse_secrets
from assay.tasks.settings import Settings
from assay.tasks.sources.files.file import ROW_NUMBER
from assay.tasks.sources.reader import column_names, open_source
from assay.tasks.spec.evaluation import Spec

SILENT = ExaminationWatch()
TARGETS = (0.10, 0.05, 0.02)      # half-widths a file is examined for


def examine(
    subject: str, store_of: Callable[[Spec], Store], watch: ExaminationWatch = SILENT,
    told: Told | None = None, *, sampling: bool = False,
) -> Examination:
    """Examine a spec (by its suffix), or a file, folder or glob of predictions; sampling: read a sample of a
    large one. Every problem is a finding.

    Raises BadInput where `told` names a column that a file lacks, or goes with a spec, and for an address
    that holds a secret.
    """
    refuse_secrets(subject, "what is to be examined")   # it is printed
    if not subject.endswith((".yaml", ".yml")):
        return examine_file(subject, told or Told(), watch, sampling=sampling)
    if told is not None:
        told.refuse_beside_a_spec(subject)
    return examine_spec(Path(subject), store_of, watch, sampling=sampling)


def examine_file(
    given: str, told: Told, watch: ExaminationWatch = SILENT, *, sampling: bool = False, forecast: bool = True
) -> Examination:
    """Examine a file, folder or glob, and suggest a spec; sampling: read a sample of a large one; forecast:
    what labels would cost, which takes seconds. Raises BadInput for a column that is not there."""
    try:
        source = open_source(given)
        written = [ok("source", said) for said in source.dialects()]
        columns = look_at_columns(sample(source, column_names(source)))
        portion = portion_of(source, sampling=sampling)
    except BadInput as error:
        return _broken(given, str(error))
    if not columns:
        return _broken(given, "it has no rows, or none with values")
    roles = guess_roles(columns, told)
    if roles.id is None and len(source.files) == 1:
        roles = replace(roles, id=ROW_NUMBER)
    try:
        found = scan(portion, roles, watch.rows)
    except BadInput as error:
        return _broken(given, str(error))
    examined, classes = _pool_of(found, roles)
    if classes is not None and classes.question is not None:
        roles = replace(roles, questions=(*roles.questions, classes.question))
    findings = [*written, *sample_findings(portion, found.rows), *judge_columns(found, roles)]
    findings += examined.findings if examined else ()
    usable = all(finding.level != "problem" for finding in findings)
    ahead = None
    if examined is not None and usable and forecast:
        supplied = examined.numbers.columns(supplied=roles.probability is not None)
        ahead = of_all_rows(prognosis(
            supplied, auto(), Wanted(half_widths=TARGETS),
            worlds=Settings().forecast_worlds or QUICK_WORLDS, played=watch.worlds,
        ), found.times)
    text = None if roles.open else suggest_spec(
        given, roles, found, classes=classes, threshold=examined.numbers.threshold if examined else None,
        spread=max((c.spread for c in columns if c.name in (roles.prediction, roles.label)), default=0.0),
    )
    if usable and text is not None and roles.outcome != "two classes":
        findings += as_begin_would(text, portion)
    return Examination(
        subject=given, findings=findings, rows=found.total, roles=roles,
        summary=examined.summary if examined else None, prognosis=ahead, spec=text,
        rows_read=found.rows, sample=sample_json(portion),
        labelled=roles.label is not None and found.rows > 0 and not found.missing_labels,
    )


def _pool_of(found: Scan, roles: Roles) -> tuple[ExaminedPool | None, ClassNames | None]:
    """The numbers of two classes with a score or a probability, where it is known what is what; and the names
    of any two classes."""
    try:
        classes = class_names(found, roles)
    except BadInput:
        return None, None
    two = roles.outcome == "two classes"
    return examine_pool(found, roles) if two and not roles.open else None, classes


def _broken(given: str, says: str) -> Examination:
    return Examination(subject=given, findings=[problem("source", says, "give a file that can be read")])
