"""The methods of the papers and their baselines, each with its published settings."""

from assay.evalcore.methods.base import Method
from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.dirichlet.flat import DirichletFlat
from assay.evalcore.methods.dirichlet.stochastic import DirichletTreeStochastic
from assay.evalcore.methods.importance.oasis import Oasis
from assay.evalcore.methods.importance.optimal_is import OptimalIS
from assay.evalcore.methods.importance.passive_replacement import PassiveWithReplacement
from assay.evalcore.methods.importance.sawade import Sawade
from assay.evalcore.methods.importance.static_is import StaticIS
from assay.evalcore.methods.without_replacement.bernoulli import Bernoulli
from assay.evalcore.methods.without_replacement.bernoulli_online import BernoulliOnline
from assay.evalcore.methods.without_replacement.stratified import Stratified

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
