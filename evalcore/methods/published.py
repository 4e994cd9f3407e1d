"""The methods of the papers and their baselines, each with its published settings."""

from evalcore.methods.base import Method
from evalcore.methods.bernoulli import Bernoulli
from evalcore.methods.bernoulli_online import BernoulliOnline
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
    Stratified(name="stratified-neyman", allocation="neyman"),
    Stratified(name="stratified-online", allocation="online"),
    StaticIS(),
    Sawade(),
    OptimalIS(),
    Bernoulli(),
    BernoulliOnline(),
    Oasis(),
    DirichletFlat(),
    DirichletTreeStochastic(),
)
