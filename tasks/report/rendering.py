"""A template of a page, filled in. Everything from outside is escaped."""

from typing import Any

from assay.tasks.report.wording import shown_text


def render(template: str, **values: Any) -> bytes:
    """The page, as UTF-8, with the stylesheet of reports."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("assay.tasks.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=shown_text,
    )
    style = Markup(loader.get_source(environment, "style.css")[0])  # noqa: S704  our own file
    return environment.get_template(template).render(style=style, **values).encode("utf-8", "replace")
