"""The `labels` of a spec: two classes, a list of classes, or grades, and what they demand of the rest."""
