"""The methods of the papers and their baselines, each with its published settings."""

from evalcore.methods.base import Method
from evalcore.methods.bernoulli import Bernoulli
from evalcore.methods.bernoulli_online import BernoulliOnline
from evalcore.methods.coverage_note import covered
from evalcore.methods.flat import DirichletFlat
from evalcore.methods.oasis import Oasis
from evalcore.methods.optimal_is import OptimalIS
from evalcore.methods.passive_replacement import PassiveWithReplacement
from evalcore.methods.sawade import Sawade
from evalcore.methods.static_is import StaticIS
from evalcore.methods.stochastic import DirichletTreeStochastic
from evalcore.methods.stratified import Stratified

PUBLISHED: tuple[Method, ...] = (
    PassiveWithReplacement(),
    Stratified(),
    Stratified(
        name="stratified-neyman",
        allocation="neyman",
        interval_note="Normal interval of the Neyman allocation by the supplied probabilities. "
        + covered((67, 40, 94, 93), (100, 100, 33, 92)),
    ),
    Stratified(
        name="stratified-online",
        allocation="online",
        interval_note="Normal interval of an allocation that follows the labels. "
        + covered((77, 78, 86, 91), (100, 100, 99, 99))
        + " At 2,000 labels it falls to 77% and 68%: a small cell of which the few labels found no positive "
        "is taken for nearly as pure as the bulk, and most misses are runs in which that was wrong.",
    ),
    StaticIS(),
    Sawade(),
    OptimalIS(),
    Bernoulli(),
    BernoulliOnline(),
    Oasis(),
    DirichletFlat(),
    DirichletTreeStochastic(),
)
