"""What a round leaves in the ledger: a plan, posts, answers, labels and estimates, a record a file.

`write_*` returns what is under the key afterwards: our own record, or that of the process which wrote first.
Callers use what was returned, never what they tried to write.
"""
