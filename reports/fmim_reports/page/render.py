"""The page of a report: one file that holds all it needs, whole without scripts and without a network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jinja2
from markupsafe import Markup

from fmim_core.records import visible
from fmim_reports.parts.methods import Methods
from fmim_reports.parts.verdict import Verdict
from fmim_reports.reading.results import Results
from fmim_reports.sections import Section
from fmim_reports.writing.captions import data_phrase
from fmim_reports.writing.formats import to_html
from fmim_reports.writing.latex import latex
from fmim_reports.writing.plotting import Plot
from fmim_reports.writing.tables import Column, Table

Tables = Mapping[Section, Sequence[Table]]
_STAGES = ("search", "replicate", "reference")
_WHOLE = 26  # characters of a text that is not broken over lines
_POINTS, _SMALLEST = 7.5, 5.0  # of the text of printed tables
_UPRIGHT, _ACROSS = 105, 155  # characters of the larger that a line of an A4 page holds, upright and on its side


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with its drawing as it goes into the page."""

    plot: Plot
    svg: str


@dataclass(frozen=True)
class Cell:
    """A cell of the page: `value` is what its column is sorted by, `best` marks the best value of a metric."""

    html: Markup
    n: str
    short: bool
    css: str
    value: str
    best: bool


@dataclass(frozen=True)
class Row:
    """A row of the page; one of totals stays below those that it sums up."""

    total: bool
    cells: tuple[Cell, ...]


def render_page(
    results: Results,
    verdict: Verdict,
    warnings: Sequence[str],
    tables: Tables,
    figures: Sequence[DrawnFigure],
    not_drawn: Sequence[str],
    methods: Methods,
    provenance: Sequence[tuple[str, str]],
) -> str:
    """The HTML of the page."""
    named = [(arm.name, arm.label) for arm in results.arms]
    named += [(reference.name, reference.label) for reference in results.references]
    return (
        page_environment()
        .get_template("page.html.j2")
        .render(
            study=results.study,
            data_phrase=data_phrase(results),
            verdict=verdict,
            warnings=warnings,
            tables={section.name: found for section, found in tables.items()},
            figures=figures,
            not_drawn=not_drawn,
            methods=methods,
            provenance=provenance,
            record_files=[(label, _record_files(results, name)) for name, label in named],
        )
    )


def page_environment() -> jinja2.Environment:
    """What pages are made with: this folder's templates, in which names are text and what is not there is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fmim_reports", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,  # not of markup, which has been made so
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sym"] = lambda text: Markup(to_html(text))
    environment.globals.update(row_groups=row_groups, latex=latex, print_of=print_of)
    return environment


def row_groups(table: Table) -> list[list[Row]]:
    """The rows of a table between its lines, which are sorted by themselves."""
    best = {column.key: table.best_rows(column) for column in table.columns}
    return [
        [
            Row(
                total=bool(table.rows[i].get("total")),
                cells=tuple(_cell(column, table.rows[i], i in best[column.key]) for column in table.columns),
            )
            for i in group
        ]
        for group in table.row_groups
    ]


def _cell(column: Column, row: Mapping[str, object], best: bool) -> Cell:
    text, number = column.text(row), column.number(row)
    css = "num" if column.numeric else "whole" if len(text) <= _WHOLE else ""
    return Cell(
        html=Markup(to_html(text)),
        n=column.n_text(row),
        short=column.short(row),
        css=css,
        value="" if math.isnan(number) else repr(number),
        best=best,
    )


@dataclass(frozen=True)
class Print:
    """How a table is printed on A4: across a page that lies on its side if it is `wide`; `size` of its text in points.

    Where even small text is too wide, words are `broken`, so that nothing is cut.
    """

    wide: bool
    size: float
    broken: bool


def print_of(table: Table) -> Print:
    """By the characters that the columns of a table need at least."""
    needed = sum(_characters(table, column) for column in table.columns)
    wide = needed > _UPRIGHT
    size = _POINTS * min(1.0, (_ACROSS if wide else _UPRIGHT) / max(needed, 1))
    return Print(wide, max(round(size, 1), _SMALLEST), size < _SMALLEST)


def _characters(table: Table, column: Column) -> int:
    """How many characters a column needs at least, with margins: a number is not broken, a text is between words."""
    cells = [column.text(row) for row in table.rows]
    words = [word for text in [column.header, *([] if column.numeric else cells)] for word in text.split()]
    return 2 + max(map(len, [*words, *(cells if column.numeric else [])]), default=0)


def _record_files(results: Results, arm: str) -> list[tuple[str, str, str]]:
    """(file, stage and replicate, status) of the records of an arm or a reference, in plan order."""
    trials = [trial for stage in _STAGES for trial in results.of(arm, stage)]
    trials += [trial for trial in results.other_splits if trial.arm == arm]
    return [(trial.file, trial.unit, trial.status) for trial in trials if trial.file]
