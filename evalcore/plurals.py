"""Numbers of things in messages: "1 label", "2 labels"."""


def plural(n: int, one: str, many: str = "") -> str:
    """`1 label`, `1,200 labels`; many: the plural, unless it is `one` with an s."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
