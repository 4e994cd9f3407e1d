"""The checkpoint of an evaluation: what its closed rounds come to, kept so that they need not be read again.

It is derived from the ledger, and no evidence: it lies below `index/`, may be removed at any time, and is
made again by the next `advance`. `verify` never reads it.
"""
