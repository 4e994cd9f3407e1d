"""The labelling page of Label Studio, generated from what is shown and what may be answered; and its CSS.

    item      record pairs in two columns, one line per pair, so that the eye compares along the line;
              everything else below one another
    answer    the question and the control (`controls`), at the lower edge of the window however long the
              item is (`STYLE`)

Skipping is no button of its own: `can't tell` is one of the answers. Guidelines are not on the page: Label
Studio shows them when labelling begins, and at its button "Instructions".

Field names, classes and question are people's words, and are made fit for XML (`to_page`).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from xml.sax.saxutils import quoteattr

from assay.tasks.desks.label_studio.page.controls import Control, to_page
from assay.tasks.desks.label_studio.page.fields import Field, Kind, ShownRow, paired_lines

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
    attributes = f'name={quoteattr(field.key)} value={quoteattr("$" + field.key)}'
    if field.kind == "embedded":
        return f'<Image {attributes} defaultZoom="fit" maxHeight="calc(100vh - 300px)"/>'
    tag = "Text" if field.kind == "text" else "HyperText"
    inline = ' inline="true"' if field.kind in ("image", "compared") else ""
    return f'<{tag} {attributes} valueType="text"{inline}/>'


# How the labelling page looks: the CSS in its `<Style>`.
#
# Label Studio puts this style into the whole window while the page is open, so it also says what Label Studio
# has no setting for: the panels for regions and relations, which no answer needs, are not shown, and question
# and choices stay at the lower edge of the window, above Label Studio's own bar, however long the item is.
#
# The names that begin with `lsf-` and the variables `--color-...` are Label Studio's own (1.23). With a
# version that has others, the panels are there again and buttons and colours are plainer; the page works as
# before.

STYLE = """
    .lsf-sidepanels { padding: 0 !important; }
    .lsf-sidepanels__wrapper { display: none !important; }
    .lsf-main-view__annotation { min-height: 100%; display: flex; }
    .assay-page { --line: rgba(128, 128, 128, 0.3); --paper: var(--color-neutral-background, Canvas);
                  flex: 1; min-width: 0; display: flex; flex-direction: column;
                  font-size: 16px; line-height: 24px; }
    .assay-page h4, .assay-page h5 { margin: 0 !important; padding: 0; font-size: 16px; line-height: 24px; }
    .assay-item { flex: 1; width: 100%; max-width: 1200px; margin: 0 auto; }
    .assay-one, .assay-two { display: grid; column-gap: 24px; align-items: start; padding: 6px 0;
                             border-bottom: 1px solid var(--line); }
    .assay-one { grid-template-columns: 9em minmax(0, 1fr); }
    .assay-two { grid-template-columns: 9em minmax(0, 1fr) minmax(0, 1fr); }
    .assay-name h4, .assay-name h5, .assay-legend h4, .assay-legend h5 { font-weight: 400; opacity: 0.75; }
    .assay-legend h4, .assay-legend h5 { font-size: 13px; }
    .assay-value { overflow-wrap: anywhere; font-size: 16px; line-height: 24px; }
    .assay-value .lsf-object, .assay-value .lsf-richtext__container { padding: 0 !important;
                                                                      margin: 0 !important; }
    .assay-value .lsf-richtext__container, .assay-value .lsf-richtext__line { line-height: 24px; padding: 0; }
    .assay-heads { position: sticky; top: -14px; z-index: 2; background: var(--paper); }
    .assay-compared { white-space: pre-wrap; }
    .assay-compared mark { color: inherit; font-weight: 600; padding: 0 1px; border-radius: 2px;
                           background: rgba(255, 180, 0, 0.3); text-decoration: underline;
                           text-decoration-thickness: 2px; text-underline-offset: 3px; }
    .assay-embedded .lsf-toolbar { display: none; }
    .assay-image img { display: block; max-width: 100%; max-height: calc(100vh - 300px);
                       object-fit: contain; }
    .assay-answer { position: sticky; bottom: -8px; z-index: 3; margin: 16px -14px -14px; padding: 8px 14px;
                    max-height: 60vh; overflow-y: auto;
                    background: var(--paper); border-top: 2px solid var(--line); }
    .assay-question, .assay-choices, .assay-hint { width: 100%; max-width: 1200px; margin: 0 auto; }
    .assay-hint h4, .assay-hint h5 { font-size: 13px; line-height: 20px; font-weight: 400; opacity: 0.75; }
    .assay-choices { display: flex; flex-wrap: wrap; align-items: center; gap: 0 16px; }
    .assay-asked { width: 100%; padding: 4px 0; border-bottom: 1px solid var(--line); }
    .assay-asked:last-child { border-bottom: 0; }
    .assay-choices .lsf-choices { margin: 4px 0; min-width: min(20em, 100%); }
    .assay-choices .lsf-choices_layout_inline { min-width: 0; }
    .assay-number { display: flex; align-items: center; gap: 12px; }
    .assay-choices .lsf-number input { width: 9em; padding: 8px 10px; font-size: 16px; }
    .assay-choices .lsf-choice_layout_inline { margin: 0 8px 4px 0; }
    .assay-choices .lsf-choice_layout_inline label { padding: 2px 12px 2px 10px; border-radius: 6px;
                                                     border: 1px solid var(--line); }
    .assay-choices .lsf-choice_layout_inline label:has(input[type=radio]) { padding-top: 7px;
                                                                            padding-bottom: 7px; }
    .assay-choices .lsf-choice_layout_inline label:has(input:checked) {
        border-color: currentColor; box-shadow: inset 0 0 0 1px currentColor; }
    .assay-choices .lsf-choice span { font-size: 16px; }
    .assay-choices .lsf-hint { font-size: 14px; top: 0; margin-left: 6px; opacity: 0.75; }
    @media (max-width: 700px) {
        .lsf-editor { margin: 0 !important; width: 100%; }
        .lsf-history-buttons { display: none !important; }
        .assay-one { grid-template-columns: minmax(0, 1fr); }
        .assay-two { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); column-gap: 12px; }
        .assay-two .assay-name, .assay-two .assay-legend { grid-column: 1 / -1; }
    }
"""
