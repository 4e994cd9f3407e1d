"""Which items of known answer go into a round, and where.

A share `rate` of what people see is gold: with n items asked, n·rate/(1 − rate) of them on average, rounded
up or down by chance so that small rounds get their part in the long run. All gold items are used once, in an
order of their own, before any is used again. Gold and asked items are shuffled together, so their place tells
nobody which is which. Everything depends on (seed, evaluation, round), so a rerun mixes in the same items.
"""

from collections.abc import Collection, Sequence

from assay.evalcore.randomness import stream


def gold_of_round(
    gold: Sequence[str], *, rate: float, asked: int, used: int, taken: Collection[str], seed: int,
    evaluation: str, number: int,
) -> tuple[str, ...]:
    """The gold items of a round.

    gold    ids, in any order        used    gold items in all rounds before
    asked   items the round asks     taken   items asked in this round or before: no longer used as gold
    """
    if not gold or asked == 0:
        return ()
    wanted = asked * rate / (1 - rate)
    rng = stream(seed, evaluation, number, "gold")
    size = int(wanted) + int(rng.random() < wanted - int(wanted))
    order = stream(seed, evaluation, 0, "gold").permutation(sorted(gold)).tolist()
    begin = used % len(order)
    free = [item for item in order[begin:] + order[:begin] if item not in taken]
    return tuple(free[:size])


def shuffled(items: Sequence[str], *, seed: int, evaluation: str, number: int) -> list[str]:
    """Items of a round in the order people meet them."""
    order: list[str] = stream(seed, evaluation, number, "order").permutation(sorted(items)).tolist()
    return order
