"""What the pages on several studies are made with."""

from __future__ import annotations

import jinja2
from markupsafe import Markup

from fmim_core.records import visible
from fmim_reports.writing.formats import duration, to_html


def environment() -> jinja2.Environment:
    """Templates of this folder and of a study's report, whose style they share; every text is escaped."""
    folders = [jinja2.PackageLoader("fmim_reports", folder) for folder in ("across", "page")]
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,  # not of markup, which has been made so
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["sym"] = lambda text: Markup(to_html(text))
    made.filters["duration"] = duration
    return made
