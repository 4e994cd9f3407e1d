"""All findings about one file or spec."""

from dataclasses import dataclass
from typing import Any

from assay.evalcore.forecast.prognosis import Prognosis
from assay.tasks.doctor.cost import prognosis_json
from assay.tasks.doctor.finding import Finding
from assay.tasks.doctor.printed import ExaminationJson, SampleJson
from assay.tasks.doctor.roles import Roles
from assay.tasks.doctor.summary import NumbersSummary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examination:
    """What was found, and what it means for an evaluation."""

    subject: str
    findings: list[Finding]
    rows: int = 0                        # of the source; estimated from a sample of text
    rows_read: int = 0
    sample: SampleJson | None = None     # None where every row was read
    roles: Roles | None = None
    summary: NumbersSummary | None = None   # None where the numbers cannot be used
    prognosis: Prognosis | None = None
    spec: str | None = None              # suggested, as YAML
    labelled: bool = False               # a file: every row that was read has a label

    @property
    def usable(self) -> bool:
        """Whether there is no problem."""
        return all(finding.level != "problem" for finding in self.findings)

    def to_json(self) -> ExaminationJson:
        """One object."""
        roles = self.roles
        findings: Any = [finding.to_json() for finding in self.findings]
        told: ExaminationJson = {
            "subject": self.subject,
            "usable": self.usable,
            "rows": self.rows,
            "rows_read": self.rows_read,
            "sample": self.sample,
            "columns": None if roles is None else {
                "id": roles.id, "score": roles.score, "probability": roles.probability,
                "prediction": roles.prediction, "label": roles.label, "time": list(roles.time),
                "display": list(roles.display), "segments": list(roles.segments),
            },
            "findings": findings,
            "spec": self.spec,
        }
        if self.summary:
            told |= self.summary.to_json()
        if self.prognosis:
            ahead: Any = prognosis_json(self.prognosis)
            told |= ahead
        return told
