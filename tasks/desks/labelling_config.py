"""The labelling page of Label Studio, generated from what is shown and what may be answered.

One control, named `label`, with a choice and a hotkey for each class; skipping is Label Studio's own button.
Above it the shown fields: record pairs in two columns, one line per pair, so that the eye compares along the
line; everything else below one another.

Field names and classes are people's words and go into XML, so they are escaped. They also go through Label
Studio's own templates, where `$word` is replaced by a value of the item: a zero-width space after every `$`
keeps it a dollar sign, and `class_name` takes it out again when the answer comes back.
"""

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from tasks.desks.shown_fields import Field, Row, side_by_side

CONTROL = "label"
HOTKEYS = "1234567890qwertyuiop"
_GUARD = "\u200b"

_PAGE = "max-width: 1100px; margin: 0 auto; padding: 12px 16px"
_GRID = "display: grid; grid-template-columns: 9em 1fr 1fr; column-gap: 16px; align-items: start"
_LINE = "display: grid; grid-template-columns: 9em 1fr; column-gap: 16px; align-items: start"
_NAME = "padding-top: 9px; opacity: 0.65; overflow-wrap: anywhere"
_VALUE = "padding: 8px 12px; overflow-wrap: anywhere; min-width: 0"
_HEAD = "padding: 4px 12px; font-weight: 600"
_CHOICES = "margin-top: 20px; padding-top: 12px; border-top: 1px solid rgba(128, 128, 128, 0.35)"


def labelling_config(fields: Sequence[Field], classes: Sequence[str]) -> str:
    """The XML of the labelling page; `classes` in the order of their hotkeys."""
    rows = side_by_side(fields)
    lines = [f"<View style={_quoted(_PAGE)}>"]
    if any(row.right is not None for row in rows):
        lines += [f"  <View style={_quoted(_GRID)}>", _cell(_NAME, ""), _head("A"), _head("B"), "  </View>"]
    for row in rows:
        lines += _row(row)
    lines.append(f"  <View style={_quoted(_CHOICES)}>")
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


def _row(row: Row) -> list[str]:
    style = _LINE if row.right is None else _GRID
    name = _cell(_NAME, f'<Header value={_quoted(_plain(row.title))} size="5"/>')
    values = [_cell(_VALUE, _object(field)) for field in (row.left, row.right) if field is not None]
    return [f"  <View style={_quoted(style)}>", name, *values, "  </View>"]


def _head(text: str) -> str:
    return _cell(_HEAD, f'<Header value={_quoted(text)} size="4"/>')


def _cell(style: str, content: str) -> str:
    return f"    <View style={_quoted(style)}>{content}</View>"


def _object(field: Field) -> str:
    """The tag that shows the field. valueType: the value itself, never fetched from where it points."""
    name = f"name={_quoted(field.key)} value={_quoted('$' + field.key)}"
    if field.kind == "image":
        return f'<Image {name} zoomControl="true" rotateControl="false"/>'
    if field.kind == "html":
        return f'<HyperText {name} valueType="text"/>'
    return f'<Text {name} valueType="text"/>'


def _plain(text: str) -> str:
    printable = "".join(character for character in text if character.isprintable())   # XML holds no others
    return printable.replace("$", "$" + _GUARD)


def _quoted(text: str) -> str:
    return quoteattr(text)
