"""The people who label: how answers become labels, how far people agree, how often they err."""
