"""The report of an OUT folder: page, Markdown, tables and figures, from records alone and in seconds."""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from fmim_core.records import flat, summary_path, write_bytes
from fmim_reports.across.overview import summary_of
from fmim_reports.drawing.plotting import Plot
from fmim_reports.page.files import write_figures, write_table
from fmim_reports.page.templates import filled
from fmim_reports.parts.methods import methods
from fmim_reports.reading.results import Results, read_results
from fmim_reports.reading.summary import selection_problems
from fmim_reports.studies import contents_of
from fmim_reports.writing.captions import OTHER_DEVICE, protocol_sentence, source_line
from fmim_reports.writing.columns import columns_table
from fmim_reports.writing.formats import listed
from fmim_reports.writing.sections import FIGURES, Section
from fmim_reports.writing.tables import Table

Tables = Mapping[Section, Sequence[Table]]
_STAGES = {
    "search": "search trials",
    "variation": "variations of selected configurations",
    "replicate": "test replicates",
    "reference": "reference trials",
}
_SEEDS = 12  # that provenance lists
FIRST_CAUTIONS = 5  # before the others are folded


@contextmanager
def without_gc() -> Iterator[None]:
    """Pause the garbage collector, which takes a quarter of the time among thousands of records and frees little."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@without_gc()
def build_report(out: Path, stage: Callable[[str], None] = lambda what: None) -> Path:
    """Write OUT/report and return its index.html; a partial or damaged run is reported as far as it goes.

    A reader never sees half of a file. Nothing is deleted, and building twice writes the same bytes.

    Args:
        stage: is told what begins, since each takes seconds.

    Raises:
        ValueError: `out` holds no readable study.json.
    """
    results, report = read_results(Path(out)), Path(out) / "report"
    stage(f"writing the report: tables of {len(results.every_trial)} trials")
    contents = contents_of(results)
    verdict, warnings, written = contents.verdict(results), status_lines(results), methods(results)
    tables = write_tables(results, report)
    plots = [contents.plots(results, section).items() for section in FIGURES]
    drawable = [[plot for _, plot in found if isinstance(plot, Plot)] for found in plots]
    stage(f"writing the report: {sum(map(len, drawable))} figures")
    figures, more = (write_figures(found, source_line(results), report) for found in drawable)
    figures.sort(key=lambda figure: not figure.plot.leads)
    not_drawn = [f"{name} figure not drawn: {why}" for name, why in chain(*plots) if not isinstance(why, Plot)]
    shown = {"study": results.study, "data_phrase": results.study.data.phrase, "verdict": verdict, "methods": written}
    shown |= {"badges": badges(results), "first_cautions": FIRST_CAUTIONS}
    shown |= {"tables": {section.name: found for section, found in tables.items()}, "not_drawn": not_drawn}
    shown |= {"figures": figures, "more_figures": more, "warnings": warnings}
    shown |= {"provenance": provenance(results), "record_files": _record_files(results)}
    write_bytes(report / "methods.tex", written.latex.encode())
    write_bytes(report / "methods.md", written.markdown.encode())
    write_bytes(report / "report.md", filled("report.md.j2", **shown))
    write_bytes(report / "index.html", filled("page.html.j2", **shown))
    summary_of(results, verdict.sentences, warnings).write(summary_path(Path(out)))
    return report / "index.html"


def badges(results: Results) -> list[str]:
    """Return on which preset, how long and with how many seeds models were trained, each in a few words."""
    tested = (t.record for t in results.trials if t.stage == "replicate" and not results.arm(t.arm).trainer)
    lengths = ([row.batches for row in one.histories[0]] for one in tested if one and one.history)
    steps = [f"{sum(batches):,} steps ({len(batches)} epochs)" for batches in lengths][:1]
    return [f"Preset: {results.study.preset}", *steps, f"Seeds: {results.seeds_text}"]


def write_tables(results: Results, report: Path) -> Tables:
    """Write the tables alone, into `report`/tables as CSV, Markdown and LaTeX, data as CSV; return them."""
    tables = tables_of(results)
    for section, found in tables.items():
        for table in found:
            write_table(table, report, csv_alone=section is Section.DATA)
    return tables


def tables_of(results: Results) -> Tables:
    """Return the tables of each section of the report; no two of them have one name."""
    contents = contents_of(results)
    tables: dict[Section, list[Table]] = {
        section: [part(results) for part in found]
        for section, found in contents.parts(results).items()
        if section not in FIGURES
    }
    names = [table.name for found in tables.values() for table in found]
    assert len(names) == len(set(names)), f"two tables of one name: {sorted(names)}"
    tables[Section.FILES].append(contents.tidy(results, names))
    tables[Section.FILES].append(columns_table(results, (table for found in tables.values() for table in found)))
    return tables


def status_lines(results: Results) -> list[str]:
    """Return a line for each thing that is not as planned; none for a complete and clean run."""
    lines = []
    waiting = [arm for arm in results.arms if results.selected(arm.name) is None]
    for stage, unit in _STAGES.items():
        counts = Counter(trial.status for trial in results.trials if trial.stage == stage)
        if stage == "search":
            counts["missing"] += sum(map(results.unproposed, results.arms))
        else:  # an arm without a selected configuration still owes what follows from one
            counts["missing"] += sum(results.planned(arm).get(stage, 0) for arm in waiting)
        if others := _lost(counts):
            others += f", {counts['stopped']} stopped early by their search" if counts["stopped"] else ""
            lines.append(f"{counts['completed']} of {counts.total()} {unit} completed: {others}.")
    counts = Counter(trial.status for trial in results.other_splits)
    if bad := _lost(counts):
        lines.append(f"{counts['completed']} of {counts.total()} trials on other search splits completed: {bad}.")
    metric = results.metric
    unknown = [t.name for t in results.every_trial if t.status == "completed" and math.isnan(t.metric(metric.name))]
    if unknown:
        lines.append(f"The {metric.label} of {len(unknown)} completed trials is not a number: {', '.join(unknown)}.")
    if waiting:
        lines.append(
            f"These arms have no selected configuration and no test result: {listed(a.label for a in waiting)}."
        )
    lines += [f"{line}." for line in selection_problems(results)]
    if results.problems:
        count = len(results.problems)
        which = "1 file does not count; it is" if count == 1 else f"{count} files do not count; they are"
        lines.append(f"{which} listed under “Not counted”.")
    return lines


def _lost(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[status]} {status}" for status in ("failed", "diverged", "missing") if counts[status])


def _record_files(results: Results) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return each arm's and reference's label with its records in plan order: (file, stage and replicate, status)."""
    found = []
    labels = {one.name: one.label for one in results.arms} | {one.name: one.label for one in results.references}
    for name, label in labels.items():
        trials = [trial for stage in _STAGES for trial in results.of(name, stage)]
        trials += [trial for trial in results.other_splits if trial.arm == name]
        found.append((label, [(trial.file, trial.unit, trial.status) for trial in trials if trial.file]))
    return found


def provenance(results: Results) -> list[tuple[str, str]]:
    """Return where the numbers come from, as names and values."""
    study = results.study
    data, code = study.data, study.code.files if study.code else ()
    ran = [trial.record for trial in results.every_trial if trial.record]
    seeds = sorted({record.seed for record in ran})
    more = f", … ({len(seeds)} in all; see tables/trials.csv)" if len(seeds) > _SEEDS else ""
    devices = sorted({record.computed_on for record in ran})
    warned = [one for one in data.details.get("findings", ()) if one["severity"] == "warning"]
    opened = sorted(record.test_opened_at for record in ran if record.test_opened_at)
    lines = [
        ("Study", f"{study.study}, preset {study.preset}, seed {study.seed}"),
        ("Study fingerprint", study.fingerprint),
        ("Declared in", "; ".join(f"{file.path}, SHA-256 {file.sha256}" for file in code)),
        ("Created", study.created_at),
        ("Data", f"{data.name}: {data.about}"),
        ("Data fingerprint", data.fingerprint),
        (
            "Images",
            f"{data.images} of {data.image_size} × {data.image_size} pixels{', in colour' * (data.channels > 1)}",
        ),
        ("Data warnings", "; ".join(f"{one['what']} ({one['count']})" for one in warned)),
        ("Folds and seeds", f"{len(study.folds) or 'no search, so no'} folds, {results.seeds_text} seeds"),
        ("Test protocol", protocol_sentence(results)),
        ("Trial seeds", f"{', '.join(map(str, seeds[:_SEEDS]))}{more}"),
        ("Devices", f"{', '.join(devices) or 'none yet'}. {OTHER_DEVICE}."),
        ("Test set first opened", opened[0] if opened else "not yet"),
        ("Training", ", ".join(f"{name} = {value}" for name, value in flat(study.train))),
        *((f"Environment: {name}", value) for name, value in study.environment.items()),
    ]
    return [(name, value) for name, value in lines if value]
