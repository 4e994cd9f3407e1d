"""Desks: where people label. A folder a kind; `kind` says what a kind declares, `registry` lists them."""
