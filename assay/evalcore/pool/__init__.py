"""The pool as the methods see it: strata, cells and the cuts that make them."""
