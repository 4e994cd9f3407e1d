"""The page on which people label in Label Studio."""
