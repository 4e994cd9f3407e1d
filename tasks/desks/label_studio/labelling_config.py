"""The labelling page of Label Studio, generated from what is shown and what may be answered.

One control, named `label` (`controls`). Skipping is Label Studio's own button.
Above it the shown fields: record pairs in two columns, one line per pair, so that the eye compares along the
line; everything else below one another.

Field names and classes are people's words, and are made fit for XML (`xml_text`).
"""

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from assay.tasks.desks.label_studio.controls import Control
from assay.tasks.desks.label_studio.shown_fields import Field, ShownRow, side_by_side
from assay.tasks.desks.label_studio.xml_text import to_page

# Translucent greys look right in the light and in the dark theme.
_STYLE = """
    .assay-page { max-width: 1100px; margin: 0 auto; padding: 8px 16px; }
    .assay-one, .assay-two { display: grid; column-gap: 20px; align-items: start; padding: 6px 0;
                             border-bottom: 1px solid rgba(128, 128, 128, 0.25); }
    .assay-one { grid-template-columns: 9em minmax(0, 1fr); }
    .assay-two { grid-template-columns: 9em minmax(0, 1fr) minmax(0, 1fr); }
    .assay-name { opacity: 0.7; }
    .assay-value { padding: 0 8px; overflow-wrap: anywhere; }
    .assay-value, .assay-name, .assay-choices { font-size: 16px; line-height: 24px; }
    .assay-page h4, .assay-page h5 { margin: 0 !important; padding: 0; font-size: 16px; line-height: 24px; }
    .assay-value h4, .assay-value h5 { padding-left: 8px; }
    .assay-choices { margin-top: 16px; }
"""


def labelling_config(fields: Sequence[Field], control: Control) -> str:
    """The XML of the labelling page."""
    rows = side_by_side(fields)
    lines = ['<View className="assay-page">', f"  <Style>{_STYLE}  </Style>"]
    if any(row.right is not None for row in rows):
        heads = [_cell("value", _heading(side)) for side in ("A", "B")]
        lines += ['  <View className="assay-two">', _cell("name", ""), *heads, "  </View>"]
    for row in rows:
        lines += _row(row)
    lines.append('  <View className="assay-choices">')
    lines += [f"    {line}" for line in control.lines(fields[0].key)]
    lines += ["  </View>", "</View>"]
    return "\n".join(lines)


def _row(row: ShownRow) -> list[str]:
    kind = "one" if row.right is None else "two"
    values = [_cell("value", _object(field)) for field in (row.left, row.right) if field is not None]
    return [f'  <View className="assay-{kind}">', _cell("name", _heading(row.title)), *values, "  </View>"]


def _heading(text: str) -> str:
    return f'<Header value={quoteattr(to_page(text))} size="5"/>'


def _cell(kind: str, content: str) -> str:
    return f'    <View className="assay-{kind}">{content}</View>'


def _object(field: Field) -> str:
    """The tag that shows the field. valueType: the value itself, never fetched from where it points.

    Pictures are HTML as well: Label Studio's own tag for them fails unless the pictures' server allows other
    sites to read them (CORS), which showing them does not need.
    """
    tag = "Text" if field.kind == "text" else "HyperText"
    return f'<{tag} name={quoteattr(field.key)} value={quoteattr("$" + field.key)} valueType="text"/>'

