"""HTML that may be shown to people: structure and emphasis, no behaviour, no style, no links out.

The rule, applied before anything is uploaded: the text is parsed and written anew, so whatever is not on the
list below cannot survive in any spelling. Kept are the tags in `_KEPT`; of attributes only `colspan`,
`rowspan`, `title`, `alt` and `dir`, and an `img`'s `src` if it is http(s) or an inline png, jpeg, gif, webp.
Other tags go and their text stays, except for script, style and the like, which go with all they hold. Links
become their text: a labelling page is no place to leave from.
"""

import re
from html import escape
from html.parser import HTMLParser

_KEPT = frozenset({
    "p", "br", "hr", "div", "span", "section", "article", "h1", "h2", "h3", "h4", "h5", "h6",
    "b", "i", "em", "strong", "u", "s", "sub", "sup", "small", "mark", "code", "pre", "blockquote", "q",
    "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td",
    "figure", "figcaption", "img",
})
_EMPTY = frozenset({"br", "hr", "img"})
_WITH_CONTENT = frozenset({
    "script", "style", "iframe", "object", "embed", "applet", "template", "noscript", "title", "svg", "math",
    "textarea", "select", "audio", "video", "canvas", "noembed", "noframes", "xmp", "plaintext",
})
_ATTRIBUTES = frozenset({"colspan", "rowspan", "title", "alt", "dir"})
_SOURCE = re.compile(r"https?://\S+|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+", re.IGNORECASE)


def sanitised(html: str) -> str:
    """The same text with nothing in it but the tags and attributes listed above, every tag closed."""
    writer = _Writer()
    writer.feed(html)
    writer.close()
    return writer.written()


class _Writer(HTMLParser):
    """Writes what it keeps; `dropping` is the tag whose content is being left out, with its depth."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._out: list[str] = []
        self._open: list[str] = []
        self._dropping: str | None = None
        self._depth = 0

    def written(self) -> str:
        return "".join(self._out) + "".join(f"</{tag}>" for tag in reversed(self._open))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._dropping is not None:
            self._depth += tag == self._dropping
        elif tag in _WITH_CONTENT:
            self._dropping, self._depth = tag, 1
        elif tag in _KEPT:
            kept = "".join(
                f' {name}="{escape(value, quote=True)}"' for name, value in attrs if _keeps(tag, name, value)
                if value is not None
            )
            self._out.append(f"<{tag}{kept}>")
            if tag not in _EMPTY:
                self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _WITH_CONTENT:   # <script/> opens nothing here, whatever a browser would make of it
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._dropping is not None:
            self._depth -= tag == self._dropping
            if self._depth == 0:
                self._dropping = None
        elif tag in self._open:
            while True:
                closing = self._open.pop()
                self._out.append(f"</{closing}>")
                if closing == tag:
                    break

    def handle_data(self, data: str) -> None:
        if self._dropping is None:
            self._out.append(escape(data, quote=False))


def _keeps(tag: str, name: str, value: str | None) -> bool:
    if tag == "img" and name == "src":
        return bool(_SOURCE.fullmatch(value or ""))
    return name in _ATTRIBUTES
