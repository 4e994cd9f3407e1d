"""The cut of a frozen pool into cells, by shard where that can be done, and which rows the cells hold."""
