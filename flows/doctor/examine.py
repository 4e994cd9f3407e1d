"""`doctor`: look at a file of predictions, or at a spec and all it names, before anything is begun.

A file: which columns there are and what is wrong with them, what can be measured, which methods suit it, how
many labels it would take, and a spec to start from. A spec: the same with the columns it names, the very
errors `begin` would raise, and the store and the desk, looked at and left as they were.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.evalcore.errors import AssayError, BadInput
from assay.flows.doctor.prognosis import Prognosis, prognosis
from assay.tasks.doctor.finding import Finding, ok, problem, warning
from assay.tasks.doctor.judge import calibration_finding, judge
from assay.tasks.doctor.numbers import Numbers, calibration, measure_findings, numbers_of, score_summary
from assay.tasks.doctor.places import look_at_desk, look_at_store
from assay.tasks.doctor.roles import Roles, guess_roles, sample
from assay.tasks.doctor.scan import Scan, scan
from assay.tasks.doctor.suggest import suggest_spec
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.recorded_spec import read_spec
from assay.tasks.ledger.stores.protocol import KeyMissing, Store
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.sources.column_names import column_names
from assay.tasks.sources.reader import Source, open_source
from assay.tasks.spec.evaluation import Spec, load_spec

TARGETS = (0.10, 0.05, 0.02)      # half-widths a file is examined for
BUDGET = 500                      # of a suggested spec
_MEGABYTES, _BYTES_A_ROW, _ROWS_A_SECOND = 300, 60, 250_000     # of a freeze, as measured

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examination:
    """Everything a doctor has to say."""

    subject: str
    findings: list[Finding]
    rows: int = 0
    roles: Roles | None = None
    details: Mapping[str, Any] = field(default_factory=dict)   # plain values: scores, calibration, measures
    prognosis: Prognosis | None = None
    spec: str | None = None             # suggested, as YAML

    @property
    def usable(self) -> bool:
        """Whether nothing stands in the way."""
        return all(finding.level != "problem" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """One object."""
        roles = self.roles
        return {
            "subject": self.subject,
            "usable": self.usable,
            "rows": self.rows,
            "columns": None if roles is None else {
                "id": roles.id, "score": roles.score, "probability": roles.probability,
                "prediction": roles.prediction, "label": roles.label, "time": list(roles.time),
                "display": list(roles.display), "segments": list(roles.segments),
            },
            "findings": [finding.to_json() for finding in self.findings],
            **self.details,
            **(self.prognosis.to_json() if self.prognosis else {}),
            "spec": self.spec,
        }


def examine(
    subject: str, store_of: Callable[[Spec], Store], progress: Progress | None = None
) -> Examination:
    """A spec, told by its suffix, or a file, folder or glob of predictions. What is wrong is a finding."""
    if subject.endswith((".yaml", ".yml")):
        return _examine_spec(Path(subject), store_of, progress)
    return _examine_file(subject, progress)


def _examine_file(given: str, progress: Progress | None) -> Examination:
    try:
        source = open_source(given)
        names = column_names(source)
        roles = guess_roles(sample(source, names))
        found = scan(source, roles, progress)
    except BadInput as error:
        broken = problem("source", str(error), "give a file that can be read")
        return Examination(subject=given, findings=[broken])
    findings = judge(found, roles)
    numbers, details, told = _numbers(found, roles, findings)
    ahead = text = None
    if numbers is not None and all(finding.level != "problem" for finding in findings):
        ahead = prognosis(numbers, "auto", TARGETS, supplied=roles.probability is not None)
        text = suggest_spec(given, roles, numbers, min(BUDGET, found.rows), TARGETS[1])
    return Examination(
        subject=given, findings=[*findings, *told], rows=found.rows, roles=roles, details=details,
        prognosis=ahead, spec=text,
    )


def _numbers(
    found: Scan, roles: Roles, findings: list[Finding]
) -> tuple[Numbers | None, dict[str, Any], list[Finding]]:
    """The usable numbers with what they look like, and findings about them; none where there are none."""
    try:
        numbers = numbers_of(found, roles)
    except BadInput:                                   # the findings say so already
        return None, {}, []
    scores = score_summary(numbers)
    details = {
        "scores": scores,
        "calibration": calibration(numbers),
        "measures": measure_findings(numbers),
        "freeze": {
            "megabytes": round(_MEGABYTES + _BYTES_A_ROW * found.rows / 1e6),
            "seconds": round(1 + found.rows / _ROWS_A_SECOND),
        },
    }
    told = []
    calibrated = calibration_finding(numbers, supplied=roles.probability is not None)
    if calibrated is not None:
        told.append(calibrated)
    n = len(numbers.score)
    if scores["distinct"] < 20 or scores["largest_tie"] > n / 2:
        told.append(warning(
            "score", f"{scores['distinct']:,} distinct values; the commonest is shared by "
            f"{scores['largest_tie']:,} of {n:,} items",
            "items that share a score cannot be told apart: a finer score saves labels",
        ))
    return numbers, details, told


def _examine_spec(path: Path, store_of: Callable[[Spec], Store], progress: Progress | None) -> Examination:
    try:
        spec = load_spec(path)
    except BadInput as error:
        return Examination(subject=str(path), findings=[problem("spec", str(error), "correct the spec")])
    findings = [ok("spec", f"{spec.name!r}, {', '.join(m.name for m in spec.measures)} by {spec.method}")]
    pool = spec.pool
    roles = Roles(
        id=pool.id, score=pool.score, probability=pool.probability, prediction=pool.prediction,
        display=pool.display, segments=pool.segments,
    )
    found, ahead = Scan(), None
    details: dict[str, Any] = {}
    try:
        source = open_source(pool.source)
        refused = _as_begin_would(spec, source)
        found = scan(source, roles, progress)
        findings += judge(found, roles)
        if refused is not None:
            findings.append(problem("pool", refused, "`assay begin` would refuse this pool"))
        numbers, details, told = _numbers_of_spec(spec, found, roles)
        findings += told
        if numbers is not None and refused is None:
            ahead, more = _prognosis(spec, numbers)
            findings += more
    except BadInput as error:
        findings.append(problem("pool.source", str(error), "put the source right, or name another"))
    if found.rows and spec.budget.labels > found.rows:
        findings.append(problem("budget.labels", f"{spec.budget.labels:,} labels of {found.rows:,} items",
                                f"lower it to {found.rows:,} or less"))
    findings += _places(spec, store_of)
    return Examination(subject=str(path), findings=findings, rows=found.rows, roles=roles, details=details,
                       prognosis=ahead)


def _as_begin_would(spec: Spec, source: Source) -> str | None:
    """What a freeze would refuse first, row by row; None where it would not."""
    checker = RowChecker(spec, [file.path for file in source.files])
    try:
        for batch in source.batches(checker.columns):
            checker.check(batch)
    except BadInput as error:
        return str(error)
    return None


def _numbers_of_spec(
    spec: Spec, found: Scan, roles: Roles
) -> tuple[Numbers | None, dict[str, Any], list[Finding]]:
    numbers, details, told = _numbers(found, roles, [])
    if numbers is None:
        return None, details, told
    from dataclasses import replace

    if spec.pool.threshold is not None:
        above = (
            numbers.score > spec.pool.threshold if spec.pool.score
            else numbers.probability >= spec.pool.threshold
        )
        numbers = replace(numbers, prediction=above.astype("int64"), threshold=spec.pool.threshold)
        details |= {"scores": score_summary(numbers), "measures": measure_findings(numbers)}
    return numbers, details, told


def _prognosis(spec: Spec, numbers: Numbers) -> tuple[Prognosis | None, list[Finding]]:
    """What the spec's evaluation would cost; a warning if its method cannot be tried on scores alone."""
    targets = () if spec.target.half_width is None else (spec.target.half_width,)
    try:
        return prognosis(
            numbers, spec.method, targets, supplied=spec.pool.probability is not None,
            measures=spec.measures, confidence=spec.target.confidence, budget=spec.budget.labels,
            batch_size=spec.batch_size,
        ), []
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
    return result


def _name(spec: Spec, store: Store) -> Finding:
    try:
        recorded = read_spec(Ledger(store, spec.name)).spec
    except KeyMissing:
        return ok("name", f"{spec.name!r} is free in {store.url}")
    if recorded == spec.to_json():
        return ok("name", f"{spec.name!r} has begun with this very spec: `assay run` resumes it")
    return problem("name", f"{spec.name!r} is taken in {store.url} by another spec",
                   "give this one another name, or restore that spec to resume it")
