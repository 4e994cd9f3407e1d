"""How far an examination is, for a terminal."""

from assay.evalcore.plurals import plural
from assay.flows.cli.working import Tell
from assay.flows.doctor.pool import ExaminationWatch


def watched(tell: Tell) -> ExaminationWatch:
    """Tells the rows that are read and the worlds that are simulated."""
    return ExaminationWatch(
        rows=lambda rows: tell(f"{plural(rows, 'row')} read"),
        worlds=lambda done, at_most: tell("simulating worlds for the forecast", done, at_most),
    )
