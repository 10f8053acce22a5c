"""The page of a report: one file that holds all it needs, whole without scripts and without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fmim_reports.drawing.plotting import Plot
from fmim_reports.page.environment import page_environment
from fmim_reports.parts.methods import Methods
from fmim_reports.parts.verdict import Verdict
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import data_phrase
from fmim_reports.writing.sections import Section
from fmim_reports.writing.tables import Table

Tables = Mapping[Section, Sequence[Table]]
_STAGES = ("search", "replicate", "reference")


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with its drawing as it goes into the page."""

    plot: Plot
    svg: str


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


def _record_files(results: Results, arm: str) -> list[tuple[str, str, str]]:
    """(file, stage and replicate, status) of the records of an arm or a reference, in plan order."""
    trials = [trial for stage in _STAGES for trial in results.of(arm, stage)]
    trials += [trial for trial in results.other_splits if trial.arm == arm]
    return [(trial.file, trial.unit, trial.status) for trial in trials if trial.file]
