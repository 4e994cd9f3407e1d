"""Pools that compare systems: what each of them predicts, one file for each kind of labels."""
