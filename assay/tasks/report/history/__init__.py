"""A monitor's windows over time: one record, for the terminal, pages, tables and dashboards."""
