"""What a ledger keeps of a round, in the form the core takes."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats


def items_of(
    prediction: Floats | None, probability: Floats | None, judge: Floats | None, n: int,
    score: Floats | None = None, cluster: Sequence[str] | None = None, by_system: Floats | None = None,
) -> Items:
    """What the pool says of n items: codes of what one system predicts (n,) or each of several (n, S), the
    probability of each class or tag (n, K), codes (n, J) of what judges say, the score (n,), the name of the
    cluster (n,), and what each of several systems gives each class (n, S·K); None for what is not there."""
    return Items(
        prediction=np.zeros((n, 0)) if prediction is None else prediction.astype(np.float64).reshape(n, -1),
        probability=None if probability is None else probability.astype(np.float64),
        judge=judge,
        score=None if score is None else score[:, None],
        cluster=None if cluster is None else cluster_numbers(cluster)[:, None],
        by_system=by_system,
    )


def cluster_numbers(names: Sequence[str]) -> Floats:
    """A number (n,) for each cluster, the same in every round: 48 bits of its name's hash."""
    number = {
        name: float(int.from_bytes(blake2b(name.encode(), digest_size=6).digest(), "big"))
        for name in set(names)
    }
    return np.array([number[name] for name in names], np.float64)


def stands_for(inclusion: Floats) -> Floats:
    """(T,) items of the pool that each asked item stands for: 1/π; 0 where it could not be asked."""
    possible = inclusion > 0
    return np.where(possible, 1 / np.where(possible, inclusion, 1.0), 0.0)
