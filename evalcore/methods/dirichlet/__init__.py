"""Adaptive importance sampling with a Dirichlet label model."""
