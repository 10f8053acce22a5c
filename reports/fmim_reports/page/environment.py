"""What every page is made with: templates that escape, with filters for the names and symbols of reports."""

from __future__ import annotations

from functools import cache

import jinja2
from markupsafe import Markup

from fmim_core.records import without_controls
from fmim_reports.page.shown_tables import cell_class, print_of
from fmim_reports.writing.formats import to_html
from fmim_reports.writing.latex import latex


@cache
def page_environment() -> jinja2.Environment:
    """Templates of this folder, compiled once; names are text in them, and a value that is not there is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fmim_reports", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: (
            without_controls(value) if type(value) is str else value
        ),  # not of markup, which has been made so
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sym"] = lambda text: Markup(to_html(text))
    environment.globals.update(cell_class=cell_class, latex=latex, print_of=print_of)
    return environment
