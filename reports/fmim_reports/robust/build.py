"""The report of `fmim robust`: each declared difference at every setting, what is shown at how many, and its mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from matplotlib.figure import Figure

from fmim_core.records import study_path, write_json
from fmim_reports.across.page import settings_table, studies_table
from fmim_reports.across.studies import ComparedStudy, read_studies
from fmim_reports.build import status_lines
from fmim_reports.drawing.forest import ForestRow, draw_forest, forest_scale
from fmim_reports.drawing.plotting import INK, Plot
from fmim_reports.page.files import Part, write_figures, write_several
from fmim_reports.parts.comparisons.comparison import Comparison, comparisons, is_claim
from fmim_reports.parts.comparisons.difference import Difference, corrected
from fmim_reports.parts.comparisons.tables import COMPARISON, P_COLUMNS, PAIR
from fmim_reports.parts.comparisons.words import margin_text, plain_sentences
from fmim_reports.stats import mean_over_settings
from fmim_reports.writing.captions import alt_text, source_line
from fmim_reports.writing.columns import folded
from fmim_reports.writing.formats import in_percent, points
from fmim_reports.writing.tables import Column, Table

METHOD = (
    "The whole study was run at every setting, with its searches, seeds and tests; a setting differs from the study as "
    "it is in one field. The mean is over all combinations of their values, if effects of fields add up: a mixed model "
    "with a random effect of each value of each field, estimated by moments (fmim_reports/stats/settings.py). Its t "
    "interval takes the values as drawn from others like them, and is long with few. It covers other subjects where "
    "the cohort or the data was varied. p values are corrected by Holm: within each setting, and over the means, which "
    "are not corrected for looks (--until-decided)."
)
SETTINGS = (
    (studies_table, "Each setting has its own folder with its report."),
    (settings_table, "Everything that differs between settings, by their letters."),
)


@dataclass(frozen=True, kw_only=True)
class OverAll(Difference):
    """A declared difference over all settings: at the `first`, `at` each by name, and its sd along each field."""

    first: Comparison
    at: Mapping[str, Comparison]
    sds: Mapping[str, float]

    @property
    def sentence(self) -> str:
        """Return `Triplet: AutoMargin against grid search: better in 1, worse in 2 of 3 settings. Mean …`."""
        counts = Counter(one.shown for one in self.at.values())
        listed = ", ".join(f"{shown} in {count}" for shown, count in counts.most_common())
        said = f"{self.first.heading}: {listed} of {len(self.at)} settings."
        if self.value is None:
            return said
        interval = "" if self.seeds.low is None else f" (95 % CI {points(self.seeds.low)} to {points(self.seeds.high)})"
        sds = ", ".join(f"{in_percent(sd)} over {field}" for field, sd in self.sds.items())
        margin = margin_text(self.first.margin)
        mean = f"Mean over all combinations: {points(self.value)} percentage points{interval}"
        return f"{said} {mean}: {self.shown} (equivalence margin ±{margin}). SD {sds}."


def build_robust(out: Path, names: Sequence[str]) -> Path:
    """Write OUT/report from the studies in OUT, as far as they go, and return the page.

    Args:
        names: of their folders, FIELD=VALUE but for the first, which is the study as it is.

    Raises:
        ValueError: not even two of them have begun.
    """
    there = [name for name in names if study_path(out / name).is_file()]
    studies = read_studies([out / name for name in there])
    first, found = studies[0].results.study, over_settings(studies, names[0])
    missing = ", ".join(name for name in names if name not in there)
    sources = "; ".join(dict.fromkeys(source_line(one.results) for one in studies))
    drawn = [forest_plot(one) for one in found if any(at.value is not None for at in one.at.values())]
    figures = write_figures(drawn, sources, out / "report")
    findings = [one.sentence for one in found] if first.answers else plain_sentences(studies[0].results)
    asked = [one for one in found if not is_claim(studies[0].results, one.first)]
    shown = Counter(at.shown for one in asked for at in one.at.values()).most_common()
    said = {"study": first.study, "settings": there, "sentences": findings, "shown": dict(shown)}
    write_json(out / "report" / "summary.json", said)
    return write_several(
        out / "report",
        [
            Part("Forest plots", figures=figures, notes=[METHOD]),
            Part("Differences by setting", [differences_table(found, first.answers)]),
            Part("Settings", [replace(make(studies), caption=text) for make, text in SETTINGS], studies=there),
        ],
        title=f"{first.title}: is the answer robust?",
        question="Does the result hold if the fixed settings of the study change?",
        data="; ".join(dict.fromkeys(one.results.study.data.phrase for one in studies)),
        synthetic=any(one.results.study.data.synthetic for one in studies),
        warnings=[f"Not run yet: {missing}."] * bool(missing)
        + [f"{one.folder.name}: {line}" for one in studies for line in status_lines(one.results)],
        lead=f"Over {len(there)} settings of the study {first.study}, preset {first.preset}:",
        findings=findings,
    )


def over_settings(studies: Sequence[ComparedStudy], as_it_is: str) -> tuple[OverAll, ...]:
    """Return each declared difference over the settings, corrected by Holm for their number."""
    every: dict[tuple[str, str], dict[str, Comparison]] = {}
    for study in studies:
        for one in comparisons(study.results):
            every.setdefault((one.a.name, one.b.name), {})[unquote(study.folder.name)] = one
    found = []
    for at in every.values():
        first, others = next(iter(at.values())), dict[str, list[float]]()
        for name, one in at.items():
            if one.value is not None:
                others.setdefault(name.partition("=")[0], []).append(one.value)
        shared = {name: getattr(first, name) for name in ("metric", "margin", "tested", "answers")}
        over = OverAll(**shared, moves=any(one.moves for one in at.values()), first=first, at=at, sds={})
        if center := others.pop(as_it_is, []):
            mean = mean_over_settings(center[0], at[as_it_is].seeds, others)
            over = replace(over, value=mean.mean, seeds=mean.uncertainty, sds=mean.sds)
        found.append(over)
    return corrected(found)


def differences_table(found: Sequence[OverAll], answers: bool) -> Table:
    """Show each difference at every setting, and its mean; and what that shows, if the preset answers anything."""
    group = "a − b, test, points"
    rows = [
        {"a": one.first.a, "b": one.first.b, "comparison": one.first.heading, "setting": setting, "shown": at.shown}
        | {"interval": at.interval}
        | {"rule": at is one.first, "total": at is one, **at.cells}
        for one in found
        for setting, at in [*one.at.items(), ("mean over all combinations", one)]
    ]
    columns = [
        COMPARISON,
        Column("setting", "Setting"),
        Column("difference", "Difference", "points", group),
        Column("interval", "95 % CI", "interval", group),
        *[Column("shown", "Shown: a is")] * answers,
        *P_COLUMNS,
        *folded(Column("se", "SE", "percent")),
    ]
    text = "Test metric of the selected configurations."
    return Table("differences", "Differences by setting", text, columns, rows, also=PAIR)


def forest_plot(one: OverAll) -> Plot:
    """Draw a difference at every setting with its interval, its mean over them, and the margin of equivalence."""
    a, b = one.first.a, one.first.b
    rows = [
        ForestRow(name, name, at.value, at.uncertainty.low, at.uncertainty.high, *look)
        for name, at, look in [
            *((name, at, (INK, "o")) for name, at in one.at.items()),
            ("mean over combinations", one, (INK, "D")),
        ]
        if at.value is not None
    ]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        draw_forest(axes, rows, forest_scale(rows), one.margin)
        axes.set_xlabel(f"test {one.metric.label}, a − b\n(percentage points)")
        figure.suptitle(f"a: {a.label}\nb: {b.label}", fontsize=7, x=0.01, ha="left")

    text = (
        f"Test {one.metric.label} of {a.label} minus {b.label} at each setting, with 95 % intervals as in its report, "
        f"and the mean over all combinations. Band: the equivalence margin, ±{margin_text(one.first.margin)}. An "
        "interval that leaves the axis has its ends beside it."
    )
    alt = alt_text(f"{row.label} {row.numbers}" for row in rows)
    height = 1.2 + 0.36 * len(rows)
    return Plot(f"forest_{a.name}_minus_{b.name}", f"{one.first.heading}, by setting", text, alt, height, draw)
