"""Whatever goes in, only the listed tags and attributes come out."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.desks.label_studio.page.fields import rendered, sanitised


@pytest.mark.parametrize(("given_html", "safe"), [
    ("<p>plain <b>bold</b></p>", "<p>plain <b>bold</b></p>"),
    ("a < b & c", "a &lt; b &amp; c"),
    ("<script>alert(1)</script>after", "after"),
    ("<SCRIPT SRC=//x>alert(1)</SCRIPT >after", "after"),
    ("<style>p{}</style><p style='x' onclick=y class=z>t</p>", "<p>t</p>"),
    ("<a href='javascript:x'>link</a>", "link"),
    ("<img src='https://x.org/a' onerror=x alt='A &amp; B'>", '<img src="https://x.org/a" alt="A &amp; B">'),
    ("<img src='javascript:x'>", "<img>"),
    ("<img src='data:image/svg+xml;base64,AAAA'>", "<img>"),
    ("<img src='data:image/png;base64,AAAA'>", '<img src="data:image/png;base64,AAAA">'),
    ("<svg><script>x</script><g>y</g></svg>z", "z"),
    ("<svg><script>x</script><p>y</p></svg>z", "<p>y</p>z"),   # a <p> ends an <svg>, as in browsers
    ("<iframe src=x>in</iframe>out", "out"),
    ("<form action=x><input name=y>text</form>", "text"),
    ("<b>never closed", "<b>never closed</b>"),
    ("</b>never opened", "never opened"),
    ("<ul><li>one<li>two</ul>", "<ul><li>one</li><li>two</li></ul>"),
    ("<table><tr><td colspan=2 width=9>x</table>",
     '<table><tbody><tr><td colspan="2">x</td></tr></tbody></table>'),
    ("<img src='//x.org/a.png'><img src='/a.png'>", "<img><img>"),
    ("<img src='data:text/html;base64,AAAA'>", "<img>"),
    ("<plaintext>all <b>of it", ""),
    ("<!-- comment --><!DOCTYPE html><?php x ?>t", "t"),
    ("&lt;script&gt;", "&lt;script&gt;"),
    ("<scr<script>ipt>alert(1)</script>", None),
    ("<div title='\"><script>'>t</div>", '<div title="&quot;&gt;&lt;script&gt;">t</div>'),
])
def test_known_cases(given_html, safe):
    if safe is not None:
        assert sanitised(given_html) == safe
    assert "<script" not in sanitised(given_html).lower()


class Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


PIECES = [
    "<", ">", "</", "<script>", "</script>", "<b ", "<img src=", "javascript:x", "onload=x", "'", '"', "<!--",
    "-->", "<svg>", "</svg>", "<style>", "</b>", "text", "&lt;", "&#60;", "/", " ", "<iframe ", "\x00",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_no_arrangement_of_nasty_pieces_gets_through(html):
    seen = Seen()
    seen.feed(sanitised(html))
    seen.close()
    assert seen.tags <= {"b", "img"}
    assert seen.attributes == set()


@given(st.text(max_size=60))
def test_it_changes_nothing_the_second_time(html):
    once = sanitised(html)
    assert sanitised(once) == once


def test_markdown_is_rendered_and_made_safe():
    html = rendered("# T\n\n**b** [link](javascript:x) <script>x</script>\n\n| a |\n|---|\n| 1 |\n")
    assert "<h1>T</h1>" in html
    assert "<strong>b</strong>" in html
    assert "<td>1</td>" in html
    assert "&lt;script&gt;" in html, "HTML within it is text"
    assert "<a" not in html
    assert "<script" not in html
