"""How files may spell the classes: by name, and two classes also as 1/0 or true/false."""

_TRUE = ("1", "1.0", "true", "True")
_FALSE = ("0", "0.0", "false", "False")


def two_class_spellings(positive: str, negative: str) -> dict[str, str]:
    """What a file of known labels may write for each of two classes -> the class it means."""
    known = {positive: positive, negative: negative}
    for spellings, name in ((_TRUE, positive), (_FALSE, negative)):
        for spelling in spellings:
            known.setdefault(spelling, name)   # a class that is called "1" keeps its name
    return known
