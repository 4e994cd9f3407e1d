"""What estimates are made from: the label model, its fit, the counts and the sums of the rounds."""

from dataclasses import dataclass

from assay.evalcore.recalibration.label_model import Fit, LabelModel
from assay.evalcore.recalibration.sequential import RoundSums
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """All that is known after some rounds."""

    model: LabelModel
    fit: Fit
    n: Floats            # (R, C) labelled items
    k: Floats            # (R, C) positives among them
    left: Floats         # (R, C) unlabelled items
    sums: RoundSums      # of each quantity

    def rows(self, part: slice) -> "Evidence":
        """The same for some of the R repeats."""
        f = self.fit
        return Evidence(
            model=self.model,
            fit=Fit(
                coefficients=f.coefficients[part],
                root=f.root[part],
                log_joint=f.log_joint[part],
                log_evidence=f.log_evidence[part],
            ),
            n=self.n[part],
            k=self.k[part],
            left=self.left[part],
            sums=self.sums.rows(part),
        )
