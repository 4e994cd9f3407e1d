"""`dirichlet-flat`: the Dirichlet-tree method without a tree.

Marchant & Rubinstein (2021), "Ours-1" of their experiments: the same strata, all hung directly below the
root, so that strata learn from the pool as a whole and not from their neighbours.  It shows what the tree is
worth.
"""

from dataclasses import dataclass
from typing import ClassVar

from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.dirichlet.tree import DirichletTreeMethod


@dataclass(frozen=True, slots=True)
class DirichletFlat(DirichletTreeMethod):
    """A tree of depth one."""

    name: str = "dirichlet-flat"
    measured: ClassVar[str] = (
        "The paper's nominal interval, with the proposal each draw was really made with. "
        + covered((10, 26, 79, 87), (68, 21, 53, 81), runs=1000)
        + " Below a thousand labels on a rare class, do not rely on it."
    )
    flat: ClassVar[bool] = True
    sampling_note: ClassVar[str] = ""
