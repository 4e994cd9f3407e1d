"""The next round of a live evaluation: the method draws cells, and every draw is given its item."""

from typing import Any

import numpy as np

from assay.evalcore.design.draws import Draws
from assay.evalcore.design.ranks import free_ranks
from assay.evalcore.design.round import AnyDesign, RoundPlan
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.state import Asked, Question, State
from assay.evalcore.randomness import stream
from assay.evalcore.types import Floats, Ints


def plan(question: Question, state: State, size: int) -> RoundPlan:
    """The next round, of at most `size` newly asked items.

    Depends on the question and the closed rounds only, so whoever plans the same round plans the same draws.
    Raises BadInput for a size below 1, and for a method that asks about items anew.
    """
    if question.method.asks_anew:
        raise BadInput(f"method {question.method.name!r} asks about an item whenever it is drawn, which only "
                       "a replay does; leave out requery")
    if size < 1:
        raise BadInput(f"a round needs at least one item, got {size}")
    rng = stream(question.seed, question.evaluation, state.round + 1, "plan")
    design, draws = question.method.next_round(state.inner, np.array([size]), rng)
    items = stream(question.seed, question.evaluation, state.round + 1, "items")
    return _address(question.cells.size, state, design, draws, items)


def _address(
    sizes: Ints, state: State, design: AnyDesign, draws: Draws, rng: np.random.Generator
) -> RoundPlan:
    """Give every draw its item: new ones uniformly from the items of the cell that were not answered yet."""
    cell, ordinal = draws.cell[0], draws.ordinal[0]
    rank = np.zeros(len(cell), np.int64)
    ask = np.zeros(len(cell), np.bool_)
    for c in np.unique(cell):
        here = np.flatnonzero(cell == c)
        taken = state.asked.get(int(c), Asked()).rank
        # as many distinct ranks as the ordinals need
        fresh = free_ranks(int(sizes[c]), taken, int(ordinal[here].max()) + 1, rng)
        rank[here] = fresh[ordinal[here]]
        _, first = np.unique(ordinal[here], return_index=True)
        ask[here[first]] = True
    probability = design.unlabelled[0, cell]
    if bool(design.census[0]):
        probability = np.ones(len(cell))
    known_cell, known_rank, known_probability = _known_items(state, design, draws, rng)
    return RoundPlan(
        cell=np.concatenate([cell, known_cell]),
        rank=np.concatenate([rank, known_rank]),
        ask=np.concatenate([ask, np.zeros(len(known_cell), np.bool_)]),
        probability=np.concatenate([probability, known_probability]),
        census=bool(design.census[0]),
        design=design,
    )


def _known_items(
    state: State, design: Any, draws: Draws, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Spread the draws on labelled items evenly over the items of their cell and label."""
    cells: list[Ints] = []
    ranks: list[Ints] = []
    probabilities: list[Floats] = []
    for c, y in np.argwhere(draws.known[0] > 0):
        asked = state.asked[int(c)]
        candidates = np.array([r for r, code in zip(asked.rank, asked.code, strict=True) if code == y])
        chosen = rng.choice(candidates, size=int(draws.known[0, c, y]), replace=True)
        cells.append(np.full(len(chosen), c, np.int64))
        ranks.append(chosen.astype(np.int64))
        probabilities.append(np.full(len(chosen), design.labelled[0, c, y]))
    if not cells:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    return np.concatenate(cells), np.concatenate(ranks), np.concatenate(probabilities)
