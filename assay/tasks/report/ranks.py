"""Where compared systems rank, and which of them to ship, in words and as a part of the page."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.evalcore.evaluation.best import Shipping, SystemRank, SystemRanks
from assay.tasks.report import wording

_PARTS = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 10: "a tenth"}
_TOLD_RANKS = 20   # systems whose ranks are told in one line


def rank_in_words(place: SystemRank) -> str:
    """`1 to 3`; `2` where it is known."""
    return f"{place.best}" if place.best == place.worst else f"{place.best} to {place.worst}"


def ranks_in_words(ranks: SystemRanks) -> str:
    """`Ranks by accuracy, that hold together with 95% confidence: a 1 to 2, b 1 to 3, c 3.` One sentence; of
    more systems than fit a line the first ones are listed."""
    listing = ", ".join(f"{place.system} {rank_in_words(place)}" for place in ranks.systems[:_TOLD_RANKS])
    return (f"Ranks by {wording.measure_name(ranks.measure)}, that hold together with "
            f"{wording.percent(ranks.confidence)} confidence: {listing}.")


def shipping_in_words(ranks: SystemRanks) -> str:
    """`Ship b: not worse than a by more than 0.02, at a quarter of the price.`

    Empty where no margin or price was given; what is open where no system is known to be good enough.
    """
    if ranks.margin is None or any(place.price is None for place in ranks.systems):
        return ""
    margin = wording.plain_number(ranks.margin)
    if ranks.ship is None:
        return (f"Ship nothing on this yet: no system is known to be worse than no other by more than "
                f"{margin} ({wording.percent(ranks.confidence)} confidence).")
    return f"Ship {ranks.ship.system}: {_how_good(ranks.ship, margin)}, at {_share_of_price(ranks.ship)}."


def _how_good(ship: Shipping, margin: str) -> str:
    if ship.lower > 0:
        return f"better than {ship.versus}"
    return f"not worse than {ship.versus}" + (f" by more than {margin}" if ship.margin else "")


def _share_of_price(ship: Shipping) -> str:
    """`a quarter of the price`, `60% of the price`, `the same price`, `1.5 times the price`."""
    share = ship.price / ship.price_of_other
    for parts, words in _PARTS.items():
        if abs(share * parts - 1) < 0.02:
            return f"{words} {'of ' if words != 'half' else ''}the price"
    if abs(share - 1) < 0.005:
        return "the same price"
    if share > 1:
        return f"{float(f'{share:.2g}'):,g} times the price"
    rounded = round(share, 2) or round(share, 4)
    return f"{wording.percent(rounded)} of the price" if rounded else "less than 0.01% of the price"


def rank_lines(ranks: SystemRanks | None) -> list[str]:
    """Both in a sentence each, of whichever there are."""
    return [] if ranks is None else [*filter(None, [ranks_in_words(ranks), shipping_in_words(ranks)])]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLine:
    """One system in the table."""

    system: str
    value: str
    rank: str
    tier: str
    price: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksSection:
    """The part of the page about ranks."""

    measure: str
    confidence: str
    shipping: str
    lines: Sequence[RankLine]
    priced: bool


def ranks_section(ranks: SystemRanks | None) -> RanksSection | None:
    """None where no systems are compared."""
    if ranks is None:
        return None
    return RanksSection(
        measure=wording.measure_name(ranks.measure), confidence=wording.percent(ranks.confidence),
        shipping=shipping_in_words(ranks),
        lines=[
            RankLine(
                system=place.system, rank=rank_in_words(place), tier=str(place.tier),
                value="undefined" if place.value is None else f"{place.value:.3g}",
                price="" if place.price is None else wording.plain_number(place.price),
            )
            for place in ranks.systems
        ],
        priced=any(place.price is not None for place in ranks.systems),
    )
