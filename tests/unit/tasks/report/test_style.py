"""Text of the pages can be read in light and dark: 4.5 to 1 against what is behind it (WCAG 2, AA)."""

import re
from importlib.resources import files

import pytest

STYLE = files("assay.tasks.report").joinpath("templates/style.css").read_text()
TEXT = ("ink", "soft", "line", "good", "bad", "unsure")
BEHIND = ("paper", "faint", "trust")


def colours(mode: str) -> dict[str, str]:
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    light, dark = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in blocks)
    return light if mode == "light" else light | dark


def lightness(colour: str) -> float:
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((lightness(one), lightness(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_colour_of_text_stands_out_from_every_background(mode):
    found = colours(mode)
    poor = {
        (text, behind): round(contrast(found[text], found[behind]), 2)
        for text in TEXT for behind in BEHIND if contrast(found[text], found[behind]) < 4.5
    }
    assert poor == {}
    for mark in ("soft", "good", "bad", "unsure"):      # the sign before a verdict
        assert contrast(found["on-mark"], found[mark]) >= 4.5


def test_no_colour_is_written_where_the_dark_mode_cannot_change_it():
    rules = re.sub(r":root \{.*?\}", "", STYLE, flags=re.DOTALL)
    assert re.findall(r"#[0-9a-fA-F]{3,6}\b", rules) == []
