"""What people will see of an item: which fields belong side by side, and which are pictures or HTML.

    kind    text unless `show_as` says otherwise, or the name says so (`photo`, `page_html`), or every value
            of the first batch is the address of a picture. Pictures whose bytes are in the value itself
            (`data:image/png;base64,...`) are `embedded`. HTML is never guessed from a value: text that
            happens to hold a `<` is text. Nor is Markdown: it is rendered where `show_as` says so.
    pair    two fields whose names differ only in how they begin or end: name_a and name_b, left_name and
            right_name. They are shown in two columns, one line per pair. Where both are text, they are
            `compared`: the words that differ are marked (`marked`).

A field's name in the desk's own data is made of letters, digits and underscores (`key`), because Label Studio
reads `$name` in its configuration; what people read (`title`) is the field's name in words.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from html import escape, unescape
from itertools import groupby
from typing import Literal

import nh3

SHORT_TEXT_WORDS = 12   # words: a text up to this is marked whatever it shares
LEAST_SHARED = 0.5   # of the words of two long texts
_MOST_PAIRS = 1_000_000   # words of one text times words of the other that are compared one by one

# white space; one sign of a script without blanks; a word, with the signs inside it (1.99, o'neill); a sign
_NO_BLANKS = "\u3040-\u30ff\u3400-\u9fff"
_PIECE = re.compile(
    rf"\s+|[{_NO_BLANKS}]|[^\W{_NO_BLANKS}]+(?:['’.,:/-][^\W{_NO_BLANKS}]+)*|[^\w\s]"
)
_MARKS = re.compile("</?mark>")


def marked(left: str, right: str) -> tuple[str, str]:
    """Both texts in HTML, with marks around the words that the other one does not have there.

    Two texts that people compare: the words that differ, marked in HTML.

    Text is escaped, and `<mark>` is the only markup. How a mark looks is said by the page (`style`):
    underlined and bold as well as coloured, so that nobody needs to see colours. White space is not compared.

    A mark tells something only where most of the rest is the same. So long texts that share less than half of
    their words have no marks. Short ones (names, addresses) are always marked.
    """
    pieces = _PIECE.findall(left), _PIECE.findall(right)
    words = [[piece for piece in side if not piece.isspace()] for side in pieces]
    if not all(words):
        return escape(left), escape(right)
    differing = _differing(*words)
    shared = 1 - sum(map(sum, differing)) / sum(map(len, words))
    if max(map(len, words)) > SHORT_TEXT_WORDS and shared < LEAST_SHARED:
        return escape(left), escape(right)
    return _html(pieces[0], differing[0]), _html(pieces[1], differing[1])


def unmarked(html: str) -> str:
    """The text that `marked` was given: its HTML without the marks around differing words, unescaped. It
    tells whether a task still shows what was posted."""
    return unescape(_MARKS.sub("", html))


def _differing(left: Sequence[str], right: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which words of each are not in the other, in the same order.

    Texts with too many words are compared line by line, here sentence by sentence, before they are compared
    by words.
    """
    if len(left) * len(right) <= _MOST_PAIRS:
        return _unmatched(left, right)
    units = _sentences(left), _sentences(right)
    flags: tuple[list[bool], list[bool]] = ([], [])
    if len(units[0]) * len(units[1]) > _MOST_PAIRS:
        return [True] * len(left), [True] * len(right)
    for tag, i, j, k, m in SequenceMatcher(None, *units).get_opcodes():
        left_words = [word for unit in units[0][i:j] for word in unit]
        right_words = [word for unit in units[1][k:m] for word in unit]
        same, small = tag == "equal", len(left_words) * len(right_words) <= _MOST_PAIRS
        parts = _unmatched(left_words, right_words) if small and not same else (
            [not same] * len(left_words), [not same] * len(right_words)
        )
        for side, part in zip(flags, parts, strict=True):
            side += part
    return flags


def _unmatched(left: Sequence[str], right: Sequence[str]) -> tuple[list[bool], list[bool]]:
    left_flags, right_flags = [True] * len(left), [True] * len(right)
    for block in SequenceMatcher(None, left, right).get_matching_blocks():
        left_flags[block.a : block.a + block.size] = [False] * block.size
        right_flags[block.b : block.b + block.size] = [False] * block.size
    return left_flags, right_flags


def _sentences(words: Sequence[str]) -> list[tuple[str, ...]]:
    """The words up to each sign that may end a sentence."""
    sentences: list[tuple[str, ...]] = []
    begin = 0
    for place, word in enumerate(words):
        if word in ".!?;。" or place == len(words) - 1:
            sentences.append(tuple(words[begin : place + 1]))
            begin = place + 1
    return sentences


def _html(pieces: Sequence[str], differing: Sequence[bool]) -> str:
    """The pieces with a mark around each run of differing words and the blanks between them."""
    differences = iter(differing)
    flags = [None if piece.isspace() else next(differences) for piece in pieces]
    for place, flag in enumerate(flags):   # a blank between two differing words belongs to their run
        if flag is None:
            flags[place] = 0 < place < len(flags) - 1 and all((flags[place - 1], flags[place + 1]))
    written = []
    for differs, run in groupby(zip(pieces, flags, strict=True), key=lambda pair: bool(pair[1])):
        text = escape("".join(piece for piece, _ in run))
        written.append(f"<mark>{text}</mark>" if differs else text)
    return "".join(written)


# Bytes in one import. Label Studio answers 500 to requests that are too large, and a proxy before it may
# refuse smaller ones.
IMPORT_BYTES = 20_000_000

Kind = Literal["text", "image", "embedded", "html", "markdown", "compared"]
KINDS: tuple[Kind, ...] = ("text", "image", "html", "markdown")   # what `show_as` may say

_SUFFIXES = (("_a", "_b"), ("_left", "_right"), ("_1", "_2"))
_PREFIXES = (("left_", "right_"), ("a_", "b_"))
_REPLACED = ("s3://", "gs://", "azure-blob://")
_IMAGE_WORDS = {"image", "img", "photo", "picture", "thumbnail", "screenshot"}
ADDRESS = r"https?://[^\s<>\"]+"
EMBEDDED = r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+"
_ADDRESS = re.compile(ADDRESS, re.IGNORECASE)
_EMBEDDED = re.compile(EMBEDDED, re.IGNORECASE)
# one clear point
_NO_PICTURE = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
_IMAGE_URL = re.compile(
    r"https?://[^\s<>\"]+\.(?:png|jpe?g|gif|webp|bmp|svg|avif)(?:[?#]\S*)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One display field: its name in the spec, its key in the desk's data, and how it is shown."""

    name: str
    key: str
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """One line of the page: a single field (`right` is None), or a pair with what their names share."""

    title: str
    left: Field
    right: Field | None = None


def shown_fields(
    display: Sequence[str], show_as: Mapping[str, str] | None = None, sample: Iterable[Mapping[str, str]] = ()
) -> list[Field]:
    """The fields in the order of `display`; `sample` holds the shown values of some items, to see kinds."""
    rows = list(sample)
    fields: list[Field] = []
    taken: set[str] = set()
    for name in display:
        key = "shown_" + re.sub(r"\W", "_", name, flags=re.ASCII)
        while key in taken:
            key += "_"
        taken.add(key)
        values = [row.get(name, "").strip() for row in rows]
        kind = _kind(name, show_as or {}, values)
        embedded = kind == "image" and any(_EMBEDDED.fullmatch(value) for value in values)
        fields.append(Field(name=name, key=key, kind="embedded" if embedded else kind))
    return _compared(fields)


def shown_values(fields: Sequence[Field], shown: Mapping[str, str]) -> dict[str, str]:
    """Key -> what is uploaded, for all fields of one item."""
    values = {field.key: shown_value(field, shown.get(field.name, "")) for field in fields}
    for row in paired_lines(fields):
        if row.right is not None and row.left.kind == row.right.kind == "compared":
            texts = marked(shown.get(row.left.name, ""), shown.get(row.right.name, ""))
            values |= zip((row.left.key, row.right.key), texts, strict=True)
    return values


def shown_value(field: Field, value: str) -> str:
    """What is uploaded for the field alone: text as it is, HTML made safe, a picture's address as a picture.

    A value of a picture field that is no address is shown as the text it is.
    """
    if field.kind == "compared":
        return escape(value)
    if field.kind == "html":
        return sanitised(value)
    if field.kind == "markdown":
        return rendered(value)
    if field.kind == "image":
        address = value.strip()
        if _ADDRESS.fullmatch(address):
            return f'<img src="{escape(address, quote=True)}" style="max-width: 100%">'
        return escape(value)
    if field.kind == "embedded":
        address = value.strip()
        return address if _EMBEDDED.fullmatch(address) or _ADDRESS.fullmatch(address) else _NO_PICTURE
    return value


def still_shows(stored: object, value: str) -> bool:
    """Whether a task's field shows this value, posted as whatever kind; white space aside.

    Addresses in cloud storage are not compared: Label Studio replaces them when it lists tasks.
    """
    if any(scheme in value for scheme in _REPLACED):
        return True
    if not isinstance(stored, str):
        return False
    words = stored.split()
    if value.split() in (words, unmarked(stored).split()):
        return True
    as_kinds = (Field(name="", key="", kind=kind) for kind in (*KINDS, "embedded"))
    return any(words == shown_value(field, value).split() for field in as_kinds) or (
        sanitised(stored).split() == sanitised(value).split()   # made safe by another version
    )


def _compared(fields: Sequence[Field]) -> list[Field]:
    """The fields, where texts that stand side by side are compared."""
    halves = {
        half.name for row in paired_lines(fields) for half in (row.left, row.right)
        if half is not None and row.right is not None and row.left.kind == row.right.kind == "text"
    }
    return [replace(field, kind="compared") if field.name in halves else field for field in fields]


def paired_lines(fields: Sequence[Field]) -> list[ShownRow]:
    """The lines of the page: each pair once, where its first half stands; everything else alone."""
    by_name = {field.name: field for field in fields}
    rows: list[ShownRow] = []
    placed: set[str] = set()
    for field in fields:
        if field.name in placed:
            continue
        pair = _pair(field.name, by_name)
        if pair is None:
            rows.append(ShownRow(title=_words(field.name), left=field))
        else:
            stem, left, right = pair
            placed |= {left, right}
            rows.append(ShownRow(title=_words(stem), left=by_name[left], right=by_name[right]))
    return rows


def kind_by_name(name: str, show_as: Mapping[str, str]) -> Kind | None:
    """What a field is shown as by `show_as` or by its name; None where its values decide."""
    for kind in KINDS:
        if show_as.get(name) == kind:
            return kind
    words = re.findall(r"[a-z]+", name.lower())
    if "html" in words:
        return "html"
    return "image" if _IMAGE_WORDS.intersection(words) else None


def _kind(name: str, show_as: Mapping[str, str], values: Sequence[str]) -> Kind:
    kind = kind_by_name(name, show_as)
    if kind is not None:
        return kind
    filled = [value for value in values if value]
    return "image" if filled and all(_IMAGE_URL.fullmatch(value) for value in filled) else "text"


def _pair(name: str, names: Mapping[str, Field]) -> tuple[str, str, str] | None:
    """(shared part, left name, right name) if `name` is half of a pair whose other half is shown too."""
    for ends in _SUFFIXES:
        for end in ends:
            if name.endswith(end) and len(name) > len(end):
                stem = name.removesuffix(end)
                left, right = stem + ends[0], stem + ends[1]
                if left in names and right in names:
                    return stem, left, right
    for starts in _PREFIXES:
        for start in starts:
            if name.startswith(start) and len(name) > len(start):
                stem = name.removeprefix(start)
                left, right = starts[0] + stem, starts[1] + stem
                if left in names and right in names:
                    return stem, left, right
    return None


def _words(name: str) -> str:
    return re.sub(r"[_\s]+", " ", name).strip() or name


_KEPT = {
    "p", "br", "hr", "div", "span", "section", "article", "h1", "h2", "h3", "h4", "h5", "h6",
    "b", "i", "em", "strong", "u", "s", "sub", "sup", "small", "mark", "code", "pre", "blockquote", "q",
    "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td",
    "figure", "figcaption", "img", "details", "summary",
}
_DROPPED_WITH_CONTENT = {
    "script", "style", "iframe", "object", "embed", "applet", "template", "noscript", "title", "svg", "math",
    "textarea", "select", "audio", "video", "canvas", "noembed", "noframes", "xmp", "plaintext",
}
_ATTRIBUTES = {"colspan", "rowspan", "title", "alt", "dir"}
_SOURCE = re.compile(r"https?://\S+|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+", re.IGNORECASE)


def sanitised(html: str) -> str:
    """The same text with nothing in it but the tags and attributes listed above, every tag closed.

    HTML that may be shown to people: structure and emphasis, no behaviour, no style, no links out.

    The rule, applied before anything is uploaded: the text is parsed as browsers parse it and written anew
    (nh3), so whatever is not listed below cannot survive in any spelling. Kept are the tags in `_KEPT`; of
    attributes only `colspan`, `rowspan`, `title`, `alt` and `dir`, and an `img`'s `src` if it is http(s) or
    an inline png, jpeg, gif, webp. Other tags go and their text stays, except for script, style and the like,
    which go with all they hold. Links become their text, because a labelling page is no place to leave from.

    The lists are ours, and stricter than nh3's own: those allow links and relative addresses.
    """
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
