"""HTML that may be shown to people: structure and emphasis, no behaviour, no style, no links out.

The rule, applied before anything is uploaded: the text is parsed as browsers parse it and written anew (nh3),
so whatever is not listed below cannot survive in any spelling. Kept are the tags in `_KEPT`; of attributes
only `colspan`, `rowspan`, `title`, `alt` and `dir`, and an `img`'s `src` if it is http(s) or an inline png,
jpeg, gif, webp. Other tags go and their text stays, except for script, style and the like, which go with all
they hold. Links become their text, because a labelling page is no place to leave from.

The lists are ours, and stricter than nh3's own: those allow links and relative addresses.
"""

import re

import nh3

_KEPT = {
    "p", "br", "hr", "div", "span", "section", "article", "h1", "h2", "h3", "h4", "h5", "h6",
    "b", "i", "em", "strong", "u", "s", "sub", "sup", "small", "mark", "code", "pre", "blockquote", "q",
    "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td",
    "figure", "figcaption", "img",
}
_DROPPED_WITH_CONTENT = {
    "script", "style", "iframe", "object", "embed", "applet", "template", "noscript", "title", "svg", "math",
    "textarea", "select", "audio", "video", "canvas", "noembed", "noframes", "xmp", "plaintext",
}
_ATTRIBUTES = {"colspan", "rowspan", "title", "alt", "dir"}
_SOURCE = re.compile(r"https?://\S+|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+", re.IGNORECASE)


def sanitised(html: str) -> str:
    """The same text with nothing in it but the tags and attributes listed above, every tag closed."""
    return _CLEANER.clean(html)


def rendered(markdown: str) -> str:
    """Markdown (CommonMark, and tables) as HTML, made safe; HTML within it is shown as the text it is."""
    from markdown_it import MarkdownIt

    return sanitised(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown))


def _kept_value(_tag: str, attribute: str, value: str) -> str | None:
    return value if attribute != "src" or _SOURCE.fullmatch(value) else None


_CLEANER = nh3.Cleaner(
    tags=_KEPT,
    clean_content_tags=_DROPPED_WITH_CONTENT,
    attributes={"*": _ATTRIBUTES, "img": {"src"}},
    attribute_filter=_kept_value,
    url_schemes={"http", "https", "data"},
)
