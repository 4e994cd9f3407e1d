"""The settings of every Dirichlet-tree method, of two classes or more."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.methods.options import Share
from assay.evalcore.pool.partition_kinds import PartitionKind

Branches: TypeAlias = Literal["means", "modes"]


@dataclass(frozen=True)
class TreeSettings:
    """As in the experiments of Marchant & Rubinstein (2021), section 5.2."""

    branching: int = 2
    depth: int = 8
    epsilon: Share = 1e-9          # ε_0
    secondary_mixing: Share = 0.1  # share drawn evenly when several measures are asked for
    partition: PartitionKind = "csf"   # how the pool is cut

    def n_leaves(self) -> int:
        """Leaves of the complete tree.  Raises BadInput unless they are 2 to 65,536."""
        if self.branching < 2 or not 1 <= self.depth * np.log2(self.branching) <= 16:
            raise BadInput(
                f"a tree of depth {self.depth}, branching {self.branching}, is not one of 2 to 65,536 strata"
            )
        return int(self.branching**self.depth)
