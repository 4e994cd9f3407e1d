"""What a round leaves in the ledger: a plan, posts, answers, labels and estimates, a record a file.

`write_*` returns what is under the key afterwards: our own record, or the one of whoever was first. Callers
go on with what was returned and never with what they tried to write.
"""
