"""The labelling page of Label Studio, generated from what is shown and what may be answered.

One control, named `label`, with a choice and a hotkey for each class; skipping is Label Studio's own button.
Above it the shown fields: record pairs in two columns, one line per pair, so that the eye compares along the
line; everything else below one another.

Field names and classes are people's words and go into XML, so they are escaped. They also go through Label
Studio's own templates, where `$word` is replaced by a value of the item: a zero-width space after every `$`
keeps it a dollar sign, and `class_name` takes it out again when the answer comes back.
"""

import re
from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from assay.tasks.desks.label_studio.shown_fields import Field, ShownRow, side_by_side

CONTROL = "label"
HOTKEYS = "1234567890qwertyuiop"
_GUARD = "\u200b"
# What XML 1.0 cannot hold, not even escaped. A class that holds one is refused when the spec is read.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

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


def labelling_config(fields: Sequence[Field], classes: Sequence[str]) -> str:
    """The XML of the labelling page; `classes` in the order of their hotkeys."""
    rows = side_by_side(fields)
    lines = ['<View className="assay-page">', f"  <Style>{_STYLE}  </Style>"]
    if any(row.right is not None for row in rows):
        heads = [_cell("value", _heading(side)) for side in ("A", "B")]
        lines += ['  <View className="assay-two">', _cell("name", ""), *heads, "  </View>"]
    for row in rows:
        lines += _row(row)
    lines.append('  <View className="assay-choices">')
    lines.append(
        f'    <Choices name="{CONTROL}" toName={_quoted(fields[0].key)} choice="single" required="true" '
        'showInline="true">'
    )
    for position, name in enumerate(classes):
        hotkey = f" hotkey={_quoted(HOTKEYS[position])}" if position < len(HOTKEYS) else ""
        lines.append(f"      <Choice value={_quoted(_plain(name))}{hotkey}/>")
    lines += ["    </Choices>", "  </View>", "</View>"]
    return "\n".join(lines)


def class_name(choice: str) -> str:
    """The class behind a choice as Label Studio reports it."""
    return choice.replace("$" + _GUARD, "$")


def _row(row: ShownRow) -> list[str]:
    kind = "one" if row.right is None else "two"
    values = [_cell("value", _object(field)) for field in (row.left, row.right) if field is not None]
    return [f'  <View className="assay-{kind}">', _cell("name", _heading(row.title)), *values, "  </View>"]


def _heading(text: str) -> str:
    return f'<Header value={_quoted(_plain(text))} size="5"/>'


def _cell(kind: str, content: str) -> str:
    return f'    <View className="assay-{kind}">{content}</View>'


def _object(field: Field) -> str:
    """The tag that shows the field. valueType: the value itself, never fetched from where it points.

    Pictures are HTML as well: Label Studio's own tag for them fails unless the pictures' server allows other
    sites to read them (CORS), which showing them does not need.
    """
    tag = "Text" if field.kind == "text" else "HyperText"
    return f'<{tag} name={_quoted(field.key)} value={_quoted("$" + field.key)} valueType="text"/>'


def _plain(text: str) -> str:
    return _NOT_XML.sub("", text).replace("$", "$" + _GUARD)


def _quoted(text: str) -> str:
    return quoteattr(text)
