"""Builds a report from an OUT folder: page, Markdown, tables and figures, from records alone and in seconds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fmim_core.records import flat, summary_path, write_bytes
from fmim_reports.across.summary import summary_of
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.page.files import write_data, write_figure, write_table
from fmim_reports.page.render import DrawnFigure, Tables, render_page
from fmim_reports.parts.methods import Methods, methods
from fmim_reports.parts.verdict import Verdict
from fmim_reports.reading.results import Results, read_results
from fmim_reports.reading.summary import selection_problems
from fmim_reports.studies import contents_of
from fmim_reports.writing.captions import data_phrase, protocol_sentence, source_line
from fmim_reports.writing.columns import columns_table
from fmim_reports.writing.formats import to_md
from fmim_reports.writing.markdown import markdown
from fmim_reports.writing.sections import Part, Section
from fmim_reports.writing.tables import Table

_STAGES = (("search", "search trials"), ("replicate", "test replicates"), ("reference", "reference trials"))


def build_report(out: Path) -> Path:
    """Writes OUT/report and returns its index.html; a partial or damaged run is reported as far as it goes.

    A reader never sees half of a file. Nothing is deleted, and building twice writes the same bytes.

    Raises:
        ValueError: `out` holds no readable study.json.
    """
    results = read_results(Path(out))
    contents, report = contents_of(results), Path(out) / "report"
    verdict, tables, written = contents.verdict(results), write_tables(results, report), methods(results)
    figures, not_drawn = _figures(contents.parts(results)[Section.FIGURES], results, report)
    warnings = status_lines(results)
    page = render_page(results, verdict, warnings, tables, figures, not_drawn, written, provenance(results))
    write_bytes(report / "methods.tex", written.latex.encode())
    write_bytes(report / "methods.md", written.markdown.encode())
    write_bytes(
        report / "report.md", _markdown(results, verdict, warnings, tables, figures, not_drawn, written).encode()
    )
    write_bytes(report / "index.html", page.encode())
    summary_of(results, verdict.findings, warnings).write(summary_path(Path(out)))
    return report / "index.html"


def write_tables(results: Results, report: Path) -> Tables:
    """Writes the tables alone, into `report`/tables as CSV, Markdown and LaTeX, data as CSV; returns them."""
    tables = tables_of(results)
    for section, found in tables.items():
        write = write_data if section is Section.DATA else write_table
        for table in found:
            write(table, report)
    return tables


def tables_of(results: Results) -> Tables:
    """The tables of each section of the report; no two of them have one name."""
    contents = contents_of(results)
    tables: dict[Section, list[Table]] = {
        section: [part(results) for part in found]
        for section, found in contents.parts(results).items()
        if section is not Section.FIGURES
    }
    names = [table.name for found in tables.values() for table in found]
    assert len(names) == len(set(names)), f"two tables of one name: {sorted(names)}"
    tables[Section.FILES].append(contents.tidy(results, names))
    tables[Section.FILES].append(columns_table(results, (table for found in tables.values() for table in found)))
    return tables


def status_lines(results: Results) -> list[str]:
    """What is not as planned, one line each; none for a complete and clean run."""
    lines = []
    waiting = [arm for arm in results.arms if results.selected(arm.name) is None]
    for stage, unit in _STAGES:
        counts = Counter(trial.status for trial in results.trials if trial.stage == stage)
        if stage == "replicate":  # an arm without a selected configuration still owes its seeds
            counts["missing"] += sum(arm.replicates for arm in waiting)
        elif stage == "search":
            counts["missing"] += sum(map(results.unproposed, results.arms))
        others = ", ".join(f"{counts[s]} {s}" for s in ("failed", "diverged", "missing") if counts[s])
        if others:
            others += f", {counts['stopped']} stopped early by their search" if counts["stopped"] else ""
            lines.append(f"{counts['completed']} of {counts.total()} {unit} completed: {others}.")
    counts = Counter(trial.status for trial in results.other_splits)
    if bad := ", ".join(f"{counts[s]} {s}" for s in ("failed", "diverged", "missing") if counts[s]):
        lines.append(f"{counts['completed']} of {counts.total()} trials on other search splits completed: {bad}.")
    metric = results.metric
    unknown = [t.name for t in results.every_trial if t.status == "completed" and math.isnan(t.metric(metric.name))]
    if unknown:
        lines.append(f"The {metric.label} of {len(unknown)} completed trials is not a number: {', '.join(unknown)}.")
    if waiting:
        lines.append(f"No configuration selected, so no test result: {', '.join(arm.label for arm in waiting)}.")
    lines += [f"{line}." for line in selection_problems(results)]
    if results.problems:
        count = len(results.problems)
        which = "1 file does not count; it is" if count == 1 else f"{count} files do not count; they are"
        lines.append(f"{which} listed under “Not counted”.")
    return lines


def _figures(parts: Iterable[Part[Plot]], results: Results, report: Path) -> tuple[list[DrawnFigure], list[str]]:
    """Draws figures and writes their files; and why some are not drawn."""
    drawn, missing = [], []
    for part in parts:
        try:
            plot = part(results)
        except NothingToDraw as nothing:
            missing.append(f"{part.name.removesuffix('_plot')} figure not drawn: {nothing}")
            continue
        drawn.append(write_figure(plot, source_line(results), report))
    return drawn, missing


def _markdown(
    results: Results,
    verdict: Verdict,
    warnings: list[str],
    tables: Tables,
    figures: list[DrawnFigure],
    not_drawn: list[str],
    written: Methods,
) -> str:
    study = results.study
    parts = [f"# {to_md(study.title)}", f"**Data: {to_md(data_phrase(results))}.**"]
    if warnings:
        parts.append(
            "> **This run is not complete or not clean.**\n>\n" + "\n".join(f"> - {to_md(w)}" for w in warnings)
        )
    parts += [to_md(study.question), to_md(verdict.lead), _bullets(verdict.findings)]
    parts += ["What this does and does not show:", _bullets(verdict.cautions)]
    for heading, facts in verdict.details:
        listed = "\n".join(f"- {to_md(name)}: {to_md(text)}" for name, text in facts)
        parts += [f"**{to_md(heading)}**", listed]
    parts += ["## Tables", *map(markdown, tables[Section.TABLES]), "## Figures"]
    for plot in (figure.plot for figure in figures):
        parts.append(f"![{to_md(plot.alt)}](figures/{plot.name}.png)\n\n**{to_md(plot.title)}.** {to_md(plot.caption)}")
    parts += [f"*{to_md(why)}*" for why in not_drawn]
    costs = [*tables[Section.COSTS], *tables[Section.COST_DETAILS]]
    parts += ["## Trials and cost", *map(markdown, costs)]
    parts += ["## More tables", *map(markdown, tables[Section.MORE])]
    parts += ["## Methods", written.markdown, "## Provenance"]
    parts.append("\n".join(f"- {to_md(name)}: {to_md(value)}" for name, value in provenance(results)))
    parts.append("Every planned trial with the name of its record: [tables/trials.csv](tables/trials.csv).")
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {to_md(line)}" for line in lines)


def provenance(results: Results) -> list[tuple[str, str]]:
    """Where the numbers come from, as names and values."""
    study = results.study
    data, code = study.data, study.code.files if study.code else ()
    ran = [trial.record for trial in results.every_trial if trial.record]
    seeds = sorted({record.seed for record in ran})
    devices = sorted({record.cost.device for record in ran})
    opened = sorted(record.test_opened_at for record in ran if record.test_opened_at)
    lines = [
        ("Study", f"{study.study}, preset {study.preset}, seed {study.seed}"),
        ("Study fingerprint", study.fingerprint),
        ("Declared in", "; ".join(f"{file.path}, SHA-256 {file.sha256}" for file in code)),
        ("Created", study.created_at),
        ("Data", f"{data.name}: {data.about}"),
        ("Data fingerprint", data.fingerprint),
        ("Images", f"{data.images} of {data.image_size} × {data.image_size} pixels"),
        ("Folds and seeds", f"{len(study.folds) or 'no search, so no'} folds, {results.seeds_text} seeds"),
        ("Test protocol", protocol_sentence(results)),
        ("Trial seeds", _shortened(seeds)),
        ("Devices", ", ".join(devices) or "none yet"),
        ("Test set first opened", opened[0] if opened else "not yet"),
        ("Training", ", ".join(f"{name} = {value}" for name, value in flat(study.train))),
        *((f"Environment: {name}", value) for name, value in study.environment.items()),
    ]
    return [(name, value) for name, value in lines if value]


def _shortened(values: Sequence[Any], limit: int = 12) -> str:
    """At most a dozen values, and how many there are."""
    text = ", ".join(map(str, values[:limit]))
    return text if len(values) <= limit else f"{text}, … ({len(values)} in all; see tables/trials.csv)"
