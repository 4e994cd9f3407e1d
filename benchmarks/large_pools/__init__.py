"""Freezing and using pools of 10^6 predictions and more: `make large-pools`, docs/measured/large-pools.md."""
