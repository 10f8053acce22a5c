"""The templates of pages and Markdown, with filters for the names and symbols of reports."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from fmim_core.records import without_controls
from fmim_reports.page.printing import cell_class, print_of
from fmim_reports.writing.formats import to_html, to_md
from fmim_reports.writing.latex import latex
from fmim_reports.writing.markdown import markdown


def filled(template: str, **values: Any) -> bytes:
    """Return a template of this folder filled with values; no two lines of Markdown in a row are empty."""
    text = _environment().get_template(template).render(**values)
    return (re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n" if template.endswith(".md.j2") else text).encode()


@cache
def _environment() -> jinja2.Environment:
    """Return the templates, compiled once; names are text in them, and a value that is not there is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fmim_reports", "page"),
        autoescape=lambda name: name is None or ".html" in name,
        undefined=jinja2.StrictUndefined,
        # not of markup, which has been made so
        finalize=lambda value: without_controls(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(sym=lambda text: Markup(to_html(text)), md=to_md)
    environment.globals.update(cell_class=cell_class, latex=latex, markdown=markdown, print_of=print_of)
    return environment
