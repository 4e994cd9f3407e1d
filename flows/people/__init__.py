"""The people side of a round: post, collect, settle, close."""
