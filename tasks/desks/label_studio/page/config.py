"""The labelling page of Label Studio, generated from what is shown and what may be answered.

    item      record pairs in two columns, one line per pair, so that the eye compares along the line;
              everything else below one another
    answer    the question and the control (`controls`), at the lower edge of the window however long the
              item is (`style`)

Skipping is no button of its own: `can't tell` is one of the answers. Guidelines are not on the page: Label
Studio shows them when labelling begins, and at its button "Instructions".

Field names, classes and question are people's words, and are made fit for XML (`xml_text`).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from xml.sax.saxutils import quoteattr

from assay.tasks.desks.label_studio.page.controls import Control
from assay.tasks.desks.label_studio.page.fields import Field, Kind, ShownRow, paired_lines
from assay.tasks.desks.label_studio.page.style import STYLE
from assay.tasks.desks.label_studio.page.xml_text import to_page

_LEGEND = "underlined: differs"


def labelling_config(fields: Sequence[Field], control: Control, question: str | None = None) -> str:
    """The XML of the labelling page; without a question of its own it asks what the answers call for."""
    rows = paired_lines(fields)
    lines = ['<View className="assay-page">', f"  <Style>{STYLE}  </Style>"]
    lines.append('  <View className="assay-item">')
    if any(row.right is not None for row in rows):
        legend = _LEGEND if any(field.kind == "compared" for field in fields) else ""
        heads = [_cell("value", _heading(side)) for side in ("A", "B")]
        lines += ['  <View className="assay-two assay-heads">', _cell("legend", _heading(legend)), *heads]
        lines.append("  </View>")
    for row in rows:
        lines += _row(row)
    lines += ["  </View>", '  <View className="assay-answer">']
    lines.append(f'    <View className="assay-question">{_heading(question or control.question)}</View>')
    lines.append('  <View className="assay-choices">')
    lines += [f"    {line}" for line in control.lines(fields[0].key)]
    lines += ["  </View>", f'    <View className="assay-hint">{_heading(control.hint)}</View>', "  </View>"]
    lines.append("</View>")
    return "\n".join(lines)


def as_on_page(field: Field, page: str) -> Field:
    """The field with the kind that this page shows it as; people may have edited the page.

    HTML only where the page renders it. What was not meant as HTML is then a picture, marked text or escaped.
    """
    return replace(field, kind=_kind_on_page(field, page))


def _kind_on_page(field: Field, page: str) -> Kind:
    if re.search(rf'<Image\b[^>]*"\${field.key}"', page) is not None:
        return "embedded"
    if re.search(rf'<HyperText\b[^>]*"\${field.key}"', page) is None:
        return "text"
    if re.search(rf'assay-compared"><HyperText\b[^>]*"\${field.key}"', page) is not None:
        return "compared"
    return field.kind if field.kind in ("html", "markdown") else "image"


def _row(row: ShownRow) -> list[str]:
    kind = "one" if row.right is None else "two"
    shown = [field for field in (row.left, row.right) if field is not None]
    values = [_cell(f"value assay-{field.kind}", _object(field)) for field in shown]
    return [f'  <View className="assay-{kind}">', _cell("name", _heading(row.title)), *values, "  </View>"]


def _heading(text: str) -> str:
    return f'<Header value={quoteattr(to_page(text))} size="5"/>'


def _cell(kind: str, content: str) -> str:
    return f'    <View className="assay-{kind}">{content}</View>'


def _object(field: Field) -> str:
    """The tag that shows the field. valueType: the value itself, never fetched from where it points.

    A picture at an address is HTML: Label Studio's own tag for pictures fails unless their server allows
    other sites to read them (CORS), which showing them does not need. A picture in the value itself (data:)
    needs that tag: Label Studio takes such values out of HTML. Pictures and marked text are part of the page
    (inline), where its style reaches them; HTML, and Markdown made HTML, is in a frame of its own.
    """
    named = f'name={quoteattr(field.key)} value={quoteattr("$" + field.key)}'
    if field.kind == "embedded":
        return f'<Image {named} defaultZoom="fit" maxHeight="calc(100vh - 300px)"/>'
    tag = "Text" if field.kind == "text" else "HyperText"
    inline = ' inline="true"' if field.kind in ("image", "compared") else ""
    return f'<{tag} {named} valueType="text"{inline}/>'
