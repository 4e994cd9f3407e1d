"""Several evaluations in one report: a table, their intervals measure by measure, and a part for each."""
