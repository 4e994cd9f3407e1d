"""Votes for tests: from tables, and of simulated people of known error rates."""

from collections.abc import Sequence

import numpy as np

from assay.evalcore.annotators.adjudication import Votes


def votes_from(rows: Sequence[Sequence[int | None]], n_classes: int = 2) -> Votes:
    """rows[item][annotator]: a class, or None for no answer."""
    given = [(i, j, y) for i, row in enumerate(rows) for j, y in enumerate(row) if y is not None]
    item, annotator, label = (np.array([g[at] for g in given], np.int64) for at in range(3))
    people = tuple(f"p{j}" for j in range(len(rows[0])))
    places = tuple((1, f"{i:05d}") for i in range(len(rows)))
    return Votes(items=places, annotators=people, item=item, annotator=annotator, label=label,
                 n_classes=n_classes)


def simulated_votes(rng, truth, errors, k: int) -> Votes:
    """k people of those in errors (J, 2) answer each item of truth (I,)."""
    rows: list[list[int | None]] = []
    for y in truth.tolist():
        row: list[int | None] = [None] * len(errors)
        for j in rng.permutation(len(errors))[:k].tolist():
            row[j] = int(y ^ (rng.random() < errors[j][y]))
        rows.append(row)
    return votes_from(rows)
