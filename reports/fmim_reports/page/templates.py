"""The templates of a report, filled with values; what a study's start writes imports no more than this."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from fmim_core.records import without_controls
from fmim_reports.writing.formats import to_html, to_md, without_data
from fmim_reports.writing.markup import latex, markdown

if TYPE_CHECKING:
    from fmim_reports.writing.tables import Cell, Column

_WHOLE = 26  # characters of a text that is not broken over lines


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
    environment.filters.update(sym=lambda text: Markup(to_html(text)), md=to_md, without_data=without_data)
    environment.globals.update(cell_class=cell_class, latex=latex, markdown=markdown)
    return environment


def cell_class(cell: Cell, column: Column) -> str:
    """Return the class of a cell in the style sheet."""
    return "num" if column.numeric else "whole" if len(cell.text) <= _WHOLE else ""
