"""The statistics of one evaluation behind one interface: one file for each kind of outcome."""
