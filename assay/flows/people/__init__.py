"""The people side of a round: plan whom to ask what, post, collect, close, wait."""
