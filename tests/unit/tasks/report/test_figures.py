"""Figures: images that stand alone, the same bytes for the same data, legible; names in them are text."""

import re
from base64 import b64decode
from xml.etree import ElementTree

import numpy as np
import pytest
from doubles.history import history, row
from doubles.report_data import estimate, report_data

from assay.tasks.report.estimate_figures import estimate_against_labels, region_figure, small_multiples
from assay.tasks.report.history.page import windows_figure
from assay.tasks.report.rendering import Picture

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(1)</script>$x$&\"'"
CENTER, SHAPE = [0.8, 0.95], [[0.01, 0.006], [0.006, 0.01]]


def figures() -> dict[str, Picture]:
    """One of each kind."""
    data = report_data(
        estimates=[*report_data().estimates, estimate("mcc", 0.5, 0.1, 9, system=HOSTILE)], truth={"f1": 0.81}
    )
    return {
        "one": estimate_against_labels(data, data.estimates[0]),
        "several": small_multiples(data, data.estimates[1:]),
        "windows": windows_figure(history(
            row("2026-11-01", 0.9, "ok"), row("2026-11-02", 0.7, "breach"),
            row("2026-11-03", None, "waiting"), monitor=HOSTILE,
        )),
        "region": region_figure(("f1", "recall"), CENTER, SHAPE),
    }


def drawn(figure: Picture) -> ElementTree.Element:
    kind, _, content = figure.source.partition(",")
    assert kind == "data:image/svg+xml;base64"
    return ElementTree.fromstring(b64decode(content))


def words(figure: Picture) -> list[str]:
    return ["".join(text.itertext()).strip() for text in drawn(figure).iter(f"{SVG}text")]


@pytest.mark.parametrize("kind", ["one", "several", "windows", "region"])
def test_a_figure_is_the_same_bytes_again_and_refers_to_nothing_outside(kind):
    first, second = figures()[kind], figures()[kind]
    assert first == second
    for element in drawn(first).iter():
        assert element.tag != f"{SVG}script"
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            if name.endswith("href") or "url(" in value:
                assert re.search(r"^#|url\(#", value)


def test_figures_name_what_they_draw():
    got = {kind: words(figure) for kind, figure in figures().items()}
    legend = {"95% interval", "estimate", "true value (0.810)", "limit (0.8)", "undefined"}
    assert legend <= set(got["one"])
    assert {"Recall", f"Matthews correlation, {HOSTILE}"[:27] + "…"} <= set(got["several"])
    assert {"ok", "breach", "floor", "2026-11-02"} <= set(got["windows"])
    assert {"F1", "Recall"} <= set(got["region"])


def test_every_word_of_a_figure_has_enough_contrast_with_white():
    for figure in figures().values():
        for text in drawn(figure).iter(f"{SVG}text"):
            colour = re.search(r"fill: #([0-9a-f]{6})", text.get("style", ""))
            channels = [int(colour[1][i : i + 2], 16) / 255 for i in (0, 2, 4)] if colour else [0.0] * 3
            linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in channels]
            assert 1.05 / (np.dot([0.2126, 0.7152, 0.0722], linear) + 0.05) >= 4.5      # WCAG 2


def test_what_cannot_be_seen_is_told():
    told = {kind: figure.told for kind, figure in figures().items()}
    assert "0.700 (interval 0.600 to 0.800) at 75 labels" in told["several"]
    assert told["windows"].endswith("2026-11-01: 0.900 [0.850, 0.951], ok. 2026-11-02: 0.700 [0.649, 0.750], "
                                    "breach. 2026-11-03: undefined, waiting.")
    # the reach of each measure is 0.1, and recall ends at 1
    assert told["region"] == (
        "The joint region: F1 from 0.700 to 0.900 (across) and Recall from 0.850 to 1.000 (up)."
    )


def test_the_ellipse_is_the_edge_of_the_region(monkeypatch):
    # points of the drawn circle, taken through its transform into data, satisfy (G - c)ᵀ S⁻¹ (G - c) = 1
    from matplotlib.axes import Axes

    added = []
    add_patch = Axes.add_patch

    def noted(ax, patch):
        added.append((ax, patch))
        return add_patch(ax, patch)

    monkeypatch.setattr(Axes, "add_patch", noted)
    region_figure(("f1", "recall"), CENTER, SHAPE)
    ax, circle = next((ax, patch) for ax, patch in added if type(patch).__name__ == "Circle")
    along = np.linspace(0, 2 * np.pi, 17)
    unit = np.column_stack([np.cos(along), np.sin(along)])
    away = (circle.get_transform() - ax.transData).transform(unit) - CENTER
    assert np.einsum("ij,jk,ik->i", away, np.linalg.inv(SHAPE), away) == pytest.approx(np.ones(17))
    assert ax.get_xlim() == pytest.approx((0.69, 0.91))
    assert ax.get_ylim() == pytest.approx((0.84, 1.0))
