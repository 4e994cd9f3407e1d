"""`assay verify`: recompute a ledger from what was asked, frozen and answered."""
