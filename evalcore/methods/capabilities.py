"""What a method can do, and where its limits are: declared by its class, asked by everybody else.

Nobody outside `evalcore.methods` tells methods apart by their name or class.  A capability that takes some
code is a method of `evalcore.methods.base.Method` with a default for those that lack it; the table below says
who has it.  `evalcore.methods.registry.capabilities_table` puts all methods side by side.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Weighting: TypeAlias = Literal["draws", "rounds", "pooled", "cells", "none"]
"""How labelled items get weights; `evalcore.weighted.item_weights` says what each word means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Abilities and limits of one method; by default it has none of them."""

    starts_warm: bool = False        # `start_from`: its label model takes labels of an earlier pool
    draws_alone: bool = False        # what its label model starts from steers draws, and is in no estimate
    judges_systems: bool = False     # `further_systems`: judges several systems from the same labels
    reuses_labels: bool = False      # its labels answer for measures they were not drawn for: `reachable`
    serves_several: bool = False     # several measures may drive its sampling
    serves_all: bool = False         # all that are listed do, unless the spec says which; else the first does
    joint_region: bool = False       # `region`: a joint confidence region of its measures
    audits: bool = False             # `audited`, `evidence`: spreads part of a batch evenly; a wide interval
    cuts_by_features: bool = False   # its setting `partition` may name a cut by features

    # of its draws without replacement, the indicators of inclusion are negatively associated, as in simple
    # random sampling: the chance to miss a set of items is at most the product of the single chances
    negatively_associated: bool = False
    # its items are drawn one after the other with known probabilities, as a monitor needs: with
    # replacement, or without where its setting `one_at_a_time` asks for it
    single_draws: bool = False
    trusts_probabilities: bool = False   # takes the supplied probabilities at their word
    top_of_ranking: bool = False     # takes every item below a cut in rank for a negative
    whole_pool_only: bool = False    # gives no estimates by segment: a spec with segments is refused
    spreads_evenly: bool = False     # does not look for positives: on a rare class it labels hardly any

    weighting: Weighting = "none"    # "none": its items have no known chance
    forecast_worlds: int = 72        # a forecast plays at most; fewer for a method that costs more in each
