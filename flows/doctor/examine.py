"""`doctor`: look at a file of predictions, or at a spec and all it names, before anything is begun.

A file: which columns there are and what is wrong with them, what can be measured, which methods suit it, how
many labels it would take, and a spec to start from. A spec: the same with the columns it names, the same
errors that `begin` would raise, and the store and the desk, which are not changed.
"""

from collections.abc import Callable
from pathlib import Path

from assay.evalcore.errors import BadInput
from assay.evalcore.forecast.prognosis import prognosis
from assay.evalcore.methods.registry import auto
from assay.flows.doctor.pool import OnRows, examine_pool
from assay.flows.doctor.spec import examine_spec
from assay.tasks.doctor.examination import Examination
from assay.tasks.doctor.finding import problem
from assay.tasks.doctor.judge import judge
from assay.tasks.doctor.roles import guess_roles, sample
from assay.tasks.doctor.scan import scan
from assay.tasks.doctor.suggest import suggest_spec
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.sources.column_names import column_names
from assay.tasks.sources.reader import open_source
from assay.tasks.spec.evaluation import Spec

TARGETS = (0.10, 0.05, 0.02)      # half-widths a file is examined for
BUDGET = 500                      # of a suggested spec


def examine(
    subject: str, store_of: Callable[[Spec], Store], on_rows: OnRows | None = None
) -> Examination:
    """Examine a spec (by its suffix), or a file, folder or glob of predictions. Every problem is a
    finding."""
    if subject.endswith((".yaml", ".yml")):
        return examine_spec(Path(subject), store_of, on_rows)
    return _examine_file(subject, on_rows)


def _examine_file(given: str, on_rows: OnRows | None) -> Examination:
    try:
        source = open_source(given)
        names = column_names(source)
        roles = guess_roles(sample(source, names))
        found = scan(source, roles, on_rows)
    except BadInput as error:
        broken = problem("source", str(error), "give a file that can be read")
        return Examination(subject=given, findings=[broken])
    findings = judge(found, roles)
    examined = examine_pool(found, roles)
    ahead = text = None
    if examined is not None and all(finding.level != "problem" for finding in findings):
        columns = examined.numbers.columns(supplied=roles.probability is not None)
        ahead = prognosis(columns, auto(), TARGETS)
        text = suggest_spec(given, roles, examined.numbers, min(BUDGET, found.rows), TARGETS[1])
    return Examination(
        subject=given, findings=[*findings, *(examined.findings if examined else ())], rows=found.rows,
        roles=roles, summary=examined.summary if examined else None, prognosis=ahead, spec=text,
    )
