"""The names of the published methods and their baselines that draw from the whole pool."""

PUBLISHED = (
    "passive-with-replacement", "stratified", "stratified-neyman", "stratified-online", "static-is", "sawade",
    "optimal-is", "bernoulli", "bernoulli-online", "oasis", "dirichlet-flat", "dirichlet-tree-stochastic",
)
