"""Names that MLflow accepts.

MLflow's names hold letters, digits, and `_`, `-`, `.`, ` ` and `/`, at most 250 characters. Names of classes,
systems and segments may hold anything: what is not allowed becomes `_`, and a digest of the whole name keeps
such names apart. A dot is ours: it separates the parts.
"""

import re
from hashlib import sha256

from assay.tasks.report import EstimateRow

PREFIX = "assay/"            # of metrics and parameters: a run may hold those of a training too
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_ -]")
_LONGEST, _DIGEST = 40, 8    # of one part


def metric_name(row: EstimateRow) -> str:
    """`assay/f1`, `assay/recall.class.cat`, `assay/f1.system.new.minus.old`, `assay/f1.segment.…`."""
    parts = [allowed_name(row.measure)]
    if row.curve is not None and row.curve != row.measure:
        parts += ["of", allowed_name(row.curve)]
    if row.system is not None:
        parts += ["system", allowed_name(row.system)]
    if row.versus is not None:
        parts += ["minus", allowed_name(row.versus)]
    if row.class_name is not None:
        parts += ["class", allowed_name(row.class_name)]
    if row.at is not None:
        parts += ["at", f"{row.at:g}"]
    if row.segment is not None:
        parts += ["segment", allowed_name(row.segment)]
    return PREFIX + ".".join(parts)


def allowed_name(text: str) -> str:
    """The text as a part of a name; another text never gives the same."""
    short = _NOT_ALLOWED.sub("_", text)[:_LONGEST]
    return short if short == text else f"{short}-{sha256(text.encode()).hexdigest()[:_DIGEST]}"
