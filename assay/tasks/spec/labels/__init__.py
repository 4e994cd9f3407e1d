"""The `labels` of a spec, a file for each form, and what they demand of the rest."""
