"""People who label are measured too: how far they agree, how often they err, what that does to a number."""
