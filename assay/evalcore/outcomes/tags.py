"""Tags: an outcome is any subset of K names."""

import json
import re
from ast import literal_eval
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import GuessModel, Likely, Mixture, OutcomeKind
from assay.evalcore.outcomes.items import SILENT, ItemPool, Items
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats

POWERS = (0.5, 1.0, 2.0)   # of the supplied odds: flatter, as they are, sharper
GUESSED_TAG_PROBABILITY = 0.6   # guessed of predictions that come without probabilities
MOST_TAGS = 53   # tags; a float64 holds no more bits
SETS = 12                  # that are drawn from the probabilities of an item of several systems


# of two names behind each other, which Python would read as one
_WITHOUT_COMMA = re.compile(r"""((?<=[\[\s,])(?:'[^']*'|"[^"]*"))(?=\s+['"])""")


def names_in_list(text: str) -> list[str] | None:
    """The names of a list as JSON, Python and NumPy write it, and of a list of whole numbers in which none
    comes twice (ones and zeros say which tags are there, and name none); None for anything else.

    >>> names_in_list('["war","arts"]'), names_in_list("['war' 'arts']"), names_in_list("[3, 17]")
    (['war', 'arts'], ['war', 'arts'], ['3', '17'])
    >>> names_in_list("[0, 1, 1]"), names_in_list("war")
    (None, None)
    """
    if not text.startswith("["):
        return None
    try:
        parsed = json.loads(text)
    except ValueError:
        try:
            parsed = literal_eval(_WITHOUT_COMMA.sub(r"\1,", text))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    if not isinstance(parsed, list):
        return None
    if all(isinstance(name, str) for name in parsed):
        return parsed
    numbered = all(type(name) is int for name in parsed) and len(set(parsed)) == len(parsed)
    return list(map(str, parsed)) if numbered else None


def tags_in(text: str) -> list[str]:
    """The tags of a text, listed or joined by bars; an empty text is no tag.

    >>> tags_in("war|arts"), tags_in('["war"]'), tags_in("")
    (['war', 'arts'], ['war'], [])
    """
    listed = names_in_list(text)
    return [tag.strip() for tag in (text.split("|") if listed is None else listed) if tag.strip()]


@dataclass(frozen=True, slots=True)
class Tags(OutcomeKind):
    """The kind of outcome that is any subset of up to MOST_TAGS tags by name. Its code is a bit mask, bit k
    for tag k, and φ the bits, or the chance of each tag."""

    names: tuple[str, ...]

    name: ClassVar[str] = "tags"
    label_model: ClassVar[GuessModel] = Mixture()
    # an item may be wrong in all its tags, so what no label has shown weighs more than with classes: with a
    # quarter, intervals of F1 were 1.4 times as wide as a random sample's where errors are rare, and squared
    # errors the same (docs/ideas.md)
    even_share: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) <= MOST_TAGS or len(set(self.names)) < len(self.names):
            raise BadInput(f"name 1 to {MOST_TAGS} different tags, got {len(self.names)}")

    @property
    def width(self) -> int:
        """The length P of φ(y), K: one component for each tag."""
        return len(self.names)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the K tags, in the order of their bits."""
        return self.names

    @property
    def decided_alike(self) -> Mapping[str, float]:
        """The codes of the two extreme outcomes, no tag at all and every tag: what undecided items could
        change is bounded by all of them having one of these."""
        return {"no tag": 0.0, "all tags": 2.0**self.width - 1}

    def encode(self, answers: list[str]) -> Floats:
        """The bit mask of tags, listed or joined by bars; an empty text is no tag. (n,) of them; bit k is tag
        k. Raises BadInput for a tag that is none."""
        number = {name: 1 << k for k, name in enumerate(self.names)}
        codes = []
        for answer in answers:
            tags = set(tags_in(answer))
            unknown = sorted(tags - number.keys())
            if unknown:
                raise BadInput(f"{unknown[0]!r} is none of the tags {', '.join(self.names[:20])}")
            codes.append(float(sum(number[t] for t in tags)))
        return np.array(codes, np.float64)

    def decode(self, code: float) -> str:
        """The names of the tags of this code, joined by bars, as in "red|round"; empty for no tag. The
        inverse of `encode`, with the tags in their own order."""
        return "|".join(name for k, name in enumerate(self.names) if int(code) >> k & 1)

    def phi(self, codes: Floats) -> Floats:
        """The tags as bits, (n, K) of 0 and 1; all 0 for a code that stands for no outcome, such as
        UNDECIDED. n counts the codes and K the tags, in the order in which the kind has them."""
        mask = np.maximum(codes, 0).astype(np.int64)
        return np.asarray((mask[:, None] >> np.arange(self.width)) & 1, np.float64)

    def nearest(self, phi: Floats) -> Floats:
        """The tags that are there with a chance of one half or more."""
        return np.asarray((phi >= 0.5) @ 2.0 ** np.arange(self.width))

    def guesses(self, items: Items) -> Floats:
        """Probabilities at several powers of their odds, predicted tags, what the judges say, and no tag. (n,
        B, K) for n items, B guesses and K tags."""
        nothing = np.zeros((len(items), self.width))
        guesses = [_powered(items.probability, power) for power in POWERS] \
            if items.probability is not None else []
        guesses += [self.phi(predicted) for predicted in items.prediction.T[:4]]
        if items.judge is not None:
            instead = guesses[1 if items.probability is not None else 0] if guesses else nothing
            guesses += [
                np.where((judge == SILENT)[:, None], instead, self.phi(judge)) for judge in items.judge.T
            ]
        guesses.append(nothing)
        return np.stack(guesses, axis=1)

    def first_weights(self, items: Items) -> Floats:
        """The probabilities as they are; a predicted tag alone is right with GUESSED_TAG_PROBABILITY."""
        n_others = min(items.systems, 4) + (0 if items.judge is None else items.judge.shape[1])
        if items.probability is not None:
            return np.array([0.1, 0.8, 0.1, *[0.0] * n_others, 0.0])
        return np.array(
            [
                *[GUESSED_TAG_PROBABILITY / max(n_others, 1)] * n_others,
                1 - GUESSED_TAG_PROBABILITY if n_others else 1.0,
            ]
        )

    def variance(self, pull: Floats, phi: Floats) -> Floats:
        """The variance of the pull of an outcome whose tags are independent, (n,): Σ_k φ_k (1 − φ_k) pull_k².
        n counts the items and K the tags."""
        return np.asarray((phi * (1 - phi) * pull**2).sum(axis=1))

    def expected(self, phi: Floats, function: Callable[[Floats], Floats]) -> Floats:
        """Nothing: raises BadInput, because tags have no numeric values."""
        raise BadInput("tags have no numeric values")

    def prediction_support(self, codes: Floats) -> Floats:
        """Which tags are predicted, and which are not, (n, 2K): the maxima over the items of a cell tell
        whether each tag is predicted of some item there, and whether of some item it is not."""
        bits = self.phi(codes)
        return np.concatenate([bits, 1 - bits], axis=1)

    def max_linear_loss(self, support: Floats, hit: Floats, label: Floats, predicted: Floats) -> Floats:
        """The largest loss that an item of each cell can have, (C,): the sum over the tags of the larger of
        what a true and a false tag gives, each tag taken for itself, predicted or not as the cell allows."""
        on, off = support[:, : self.width] > 0, support[:, self.width :] > 0
        if_on = np.where(on, np.maximum(hit + label, 0.0) + predicted, -np.inf)
        return np.asarray(np.maximum(if_on, np.where(off, np.maximum(label, 0.0), -np.inf)).sum(axis=1))

    def likely(self, pool: ItemPool) -> Likely | None:
        """SETS sets as probable as φ says, tags independent, and what the first systems predict. None where
        fewer than two systems predict, as the tags then need no sets."""
        if pool.none.systems < 2:
            return None
        return _LikelySets(stream(0, "tags", self.width, "likely").random((SETS, self.width)))


@dataclass(frozen=True, slots=True, eq=False)
class _LikelySets:
    drawn: Floats   # (SETS, K)

    def __call__(self, items: Items, phi: Floats) -> Floats:
        sets = (phi[:, None, :] > self.drawn) @ 2.0 ** np.arange(phi.shape[1])
        return np.concatenate([sets, items.prediction[:, :4]], axis=1)


def _powered(probability: Floats, power: float) -> Floats:
    p = np.clip(probability, 1e-9, 1 - 1e-9)
    yes, no = p**power, (1 - p) ** power
    return np.asarray(yes / (yes + no))
