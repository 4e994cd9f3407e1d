"""`outcomes` in a spec: labels that come by themselves, after a delay."""

from pydantic import Field

from assay.tasks.schema import Column, Location, Part


class Outcomes(Part):
    """Where outcomes arrive, and what an item without one is."""

    source: Location = Field(description="a file, folder or glob of outcomes, as they arrive")
    id: Column | None = Field(default=None, description="its id column; the pool's id column unless said")
    label: Column = Field(default="label", description="its label column: class names, 0/1 or booleans")
    complete_after_days: float | None = Field(
        default=None, ge=0, le=3660,
        description="in a monitor: so long after a window's end all its outcomes have arrived",
    )
    otherwise: str | None = Field(
        default=None, min_length=1,
        description="the class of an item without an outcome; in a monitor once they are complete",
    )

