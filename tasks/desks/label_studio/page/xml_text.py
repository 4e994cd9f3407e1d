"""People's words in the XML of a labelling page.

They go through Label Studio's own templates, where `$word` is replaced by a value of the item: a zero-width
space after every `$` keeps it a dollar sign, and is taken out again when the answer comes back.
"""

import re

_GUARD = "\u200b"
# What XML 1.0 cannot hold, not even escaped. A class that holds one is refused when the spec is read.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_page(text: str) -> str:
    """The text as a value on the page, not yet quoted."""
    return _NOT_XML.sub("", text).replace("$", "$" + _GUARD)


def from_page(text: str) -> str:
    """The text behind a value as Label Studio reports it."""
    return text.replace("$" + _GUARD, "$")
