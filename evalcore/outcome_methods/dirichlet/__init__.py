"""Adaptive importance sampling with a Dirichlet-tree label model of K classes."""
