"""Pure statistics of label-efficient evaluation: no I/O, no clock, no global randomness."""
