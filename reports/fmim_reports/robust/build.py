"""The report of `fmim robust`: each declared difference at every setting, what is shown at how many, and its mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from fmim_reports.build import status_lines
from fmim_reports.drawing.forest import ForestRow, draw_forest, forest_scale
from fmim_reports.drawing.plotting import BLUE, VERMILLION, Plot
from fmim_reports.page.files import write_figures
from fmim_reports.page.several import Part, studies_table, write_several
from fmim_reports.parts.comparisons.comparison import family_note
from fmim_reports.parts.comparisons.tables import P_COLUMNS
from fmim_reports.parts.comparisons.words import margin_text
from fmim_reports.robust.settings import OverAll, over_settings, read_settings
from fmim_reports.writing.captions import source_line
from fmim_reports.writing.columns import under
from fmim_reports.writing.formats import points
from fmim_reports.writing.tables import Column, Table

METHOD = (
    "The whole study was run at every setting: its searches, selections, seeds and tests. Each setting differs from "
    "the study as it is in one field. The mean is over all combinations of their values, if what one field changes "
    "does not depend on the others. It comes from a mixed model with a random effect of each value of each field, "
    "estimated by moments (fmim_reports/stats/settings.py has the formula). Its t interval takes the values as drawn "
    "from others like them; with few values it is long."
)
VERDICTS = ("better", "worse", "equivalent", "inconclusive")


def build_robust(out: Path, settings: Mapping[str, tuple[str, str]]) -> Path:
    """Write OUT/report from the studies in OUT, with page, report.md, tables and figures; return the page.

    A study that is there only in part is reported as far as it goes.

    Args:
        settings: of each folder the field and its value, both blank for the study as it is, which comes first.
    """
    report, read = out / "report", read_settings(out, settings)
    fields = [field for field in dict.fromkeys(field for field, _ in settings.values()) if field]
    found, study = over_settings(read), read[0].results.study
    there = {one.folder: one.results for one in read}
    data = "; ".join(dict.fromkeys(results.study.data.phrase for results in there.values()))
    missing = [folder for folder in settings if folder not in there]
    warnings = [f"Not run yet: {', '.join(missing)}."] if missing else []
    warnings += [f"{folder}: {line}" for folder, results in there.items() for line in status_lines(results)]
    sources = "; ".join(dict.fromkeys(map(source_line, there.values())))
    figures = write_figures((forest_plot(one, fields, data) for one in found), sources, report)
    parts = [
        Part("Over all settings", [summary_table(found, fields, data)], notes=[METHOD, *_not_covered(fields)]),
        Part("Differences by setting", [settings_table(found, fields, data)], (), figures, (), list(there)),
        Part("Studies", [studies_table(there)]),
    ]
    values = Counter(field for field, _ in settings.values())
    varied = ", ".join(f"{field} ({values[field] + 1} values)" for field in fields)
    return write_several(
        report,
        parts,
        title=f"{study.title}: is the answer robust?",
        question=f"Does the answer hold if what the study held fixed is changed? Varied: {varied}.",
        data=data,
        synthetic=any(results.study.data.synthetic for results in there.values()),
        warnings=warnings,
        lead=f"Over {len(read)} settings of the study {study.study}, preset {study.preset}:",
        findings=list(map(sentence, found)) or ["The study declares no comparison."],
    )


def _not_covered(fields: Sequence[str]) -> list[str]:
    """Say that other subjects are not covered where neither the cohort nor the data was varied."""
    same = "All settings have the same subjects, so the interval covers no others: vary the cohort or the data."
    return [] if {"cohort", "data"} & set(fields) else [same]


def sentence(one: OverAll) -> str:
    """Return `Triplet: AutoMargin against grid search: better in 1, worse in 2 of 3 settings. Mean …`."""
    counts = Counter(at.shown for _, at in one.at)
    listed = ", ".join(f"{shown} in {count}" for shown, count in counts.most_common())
    said = f"{one.first.heading}: {listed} of {len(one.at)} settings."
    if one.value is None:
        return f"{said} No mean over settings without the study as it is."
    low, high = one.seeds.low, one.seeds.high
    interval = f" (95 % CI {points(low)} to {points(high)})" if low is not None else ""
    mean = f"Mean over all combinations: {points(one.value)} percentage points{interval}"
    return f"{said} {mean}: {one.shown}, with a margin of ±{margin_text(one.first.margin)}."


def summary_table(found: Sequence[OverAll], fields: Sequence[str], data: str) -> Table:
    """Show of each difference what is shown at how many settings, and its mean over them."""
    rows = []
    for one in found:
        counts, sds = Counter(at.shown for _, at in one.at), one.found.sds if one.found else {}
        others = len(one.at) - sum(counts[shown] for shown in VERDICTS)
        row = {"a": one.first.a, "b": one.first.b, "settings": len(one.at), "others": others, "df": one.seeds.df}
        rows.append(
            row | one.cells | {shown: counts[shown] for shown in VERDICTS} | {f"sd_{f}": sds.get(f) for f in fields}
        )
    columns = [
        *under("", "arm", a="Arm a", b="Arm b"),
        *under("Settings", "count", settings="All"),
        *under("Shown at so many", "count", **{shown: shown.capitalize() for shown in VERDICTS}, others="No verdict"),
        *under("a − b, mean over combinations", "points", difference="Difference", low="95 % CI, low", high="high"),
        *under("a − b, mean over combinations", "percent", se="SE"),
        *under("a − b, mean over combinations", "number", df="df"),
        *under("SD over the values of", "percent", **{f"sd_{field}": field for field in fields}),
        *P_COLUMNS,
    ]
    text = (
        "What each report shows by its corrected p values, counted over settings, and the mean of the difference over "
        "all combinations of the values, in percentage points. SD: of the difference along a field, with the noise of "
        f"seeds; of few values it is a guide. Holm corrects the means of all comparisons. Data: {data}."
    )
    notes = [f"{one.first.heading}: {one.found.note}." for one in found if one.found and one.found.note]
    return Table("over_settings", "Verdicts and means", text, columns, rows, [*notes, family_note(found)])


def settings_table(found: Sequence[OverAll], fields: Sequence[str], data: str) -> Table:
    """Show each difference at every setting."""
    rows = [
        {"a": at.a, "b": at.b, "setting": setting.label(fields), "field": setting.field, "value": setting.value}
        | {"n": at.paired.n, "shown": at.shown, "rule": number == 0, **at.cells}
        for one in found
        for number, (setting, at) in enumerate(one.at)
    ]
    columns = [
        *under("", "arm", a="Arm a", b="Arm b"),
        Column("setting", "Setting"),
        Column("n", "Seeds", "count"),
        *under("a − b, test, percentage points", "points", difference="Difference", low="95 % CI, low", high="high"),
        Column("se", "SE", "percent", "a − b, test, percentage points"),
        Column("over", "Over", "text", "a − b, test, percentage points"),
        *P_COLUMNS,
        Column("shown", "Shown"),
    ]
    also = [
        Column("field", "The field that has another value than in the study as it is"),
        Column("value", "The value"),
    ]
    text = (
        "The differences of the selected configurations, as each setting's own report has them; p values are corrected "
        f"within each. Data: {data}."
    )
    return Table("settings", "Differences by setting", text, columns, rows, also=also)


def forest_plot(one: OverAll, fields: Sequence[str], data: str) -> Plot:
    """Draw a difference at every setting with its interval, its mean over them, and the margin of equivalence."""
    margin, label, as_it_is = one.first.margin, one.metric.label, one.at[0][0].label(fields)
    rows = [
        ForestRow(setting.folder, setting.label(), at.value, at.uncertainty.low, at.uncertainty.high, BLUE)
        for setting, at in one.at
        if at.value is not None
    ]
    if one.value is not None:
        rows.append(ForestRow("", "mean over combinations", one.value, one.seeds.low, one.seeds.high, VERMILLION, "D"))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        draw_forest(axes, rows, forest_scale(rows), margin)
        axes.set_xlabel(f"test {label}, a − b\n(percentage points)")
        figure.suptitle(f"a: {one.first.a.label}\nb: {one.first.b.label}", fontsize=7, x=0.01, ha="left")

    text = (
        f"Test {label} of {one.first.a.label} minus {one.first.b.label} with its 95 % interval over "
        f"{' or '.join(dict.fromkeys(at.over for _, at in one.at))}: {as_it_is}, and at settings that differ from it "
        "in one field. Diamond: the mean over all combinations, with its interval over settings. An interval that "
        f"leaves the axis has its ends beside it. Band: the equivalence margin, ±{margin_text(margin)}. Data: {data}."
    )
    name = f"forest_{one.first.a.name}_minus_{one.first.b.name}"
    alt = "; ".join(f"{row.label} {row.numbers}" for row in rows)
    return Plot(
        name, f"{one.first.heading}, by setting", text + forest_scale(rows).note, alt, 1.2 + 0.36 * len(rows), draw
    )
