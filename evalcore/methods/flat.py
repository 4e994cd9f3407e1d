"""`dirichlet-flat`: the Dirichlet-tree method without a tree.

Marchant & Rubinstein (2021), "Ours-1" of their experiments: the same strata, all hung directly below the
root, so that strata learn from the pool as a whole and not from their neighbours.  It shows what the tree is
worth.
"""

from dataclasses import dataclass

from evalcore.methods.tree import DirichletTreeMethod


@dataclass(frozen=True, slots=True)
class DirichletFlat(DirichletTreeMethod):
    """A tree of depth one."""

    name: str = "dirichlet-flat"
    interval_note: str = "Nominal normal interval; see the certification table for what it covers."
    flat: bool = True
