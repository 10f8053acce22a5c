"""The results of a study in Python: tidy frames, and every table and figure of its report."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from fmim_core.records import StudyFile
from fmim_core.suggestions import did_you_mean
from fmim_reports.build import status_lines, tables_of
from fmim_reports.drawing.plotting import NothingToDraw, Plot, drawn, drawn_in_place_of
from fmim_reports.frames.metrics import METRIC_VALUES, QUERIES, YEARS
from fmim_reports.frames.trials import ARMS, EPOCHS, TRIALS, Frame
from fmim_reports.parts.training.learning import learning_curves_plot
from fmim_reports.parts.years import year_plot
from fmim_reports.reading.files import Problem
from fmim_reports.reading.results import Results, read_results
from fmim_reports.studies import contents_of
from fmim_reports.writing.captions import source_line
from fmim_reports.writing.tables import Table, to_frame

FRAMES: Mapping[str, Frame] = {frame.name: frame for frame in (TRIALS, EPOCHS, METRIC_VALUES, YEARS, QUERIES, ARMS)}
"""The frames of every study by name; `StudyResults.describe` documents their columns."""


def load(out: str | Path) -> StudyResults:
    """Return the results that the study in the folder `out` has now; it may still run.

    Raises:
        ValueError: `out` has no study.json that this version can read.
    """
    return StudyResults(read_results(Path(out)))


@dataclass(frozen=True, repr=False)
class StudyResults:
    """A study's results as tidy pandas frames, and any table or figure of its report.

    `describe(name)` gives the type and unit of each column of a frame. Metrics are fractions, costs are seconds, and
    unknown values are NA. Failed, diverged and missing trials have rows too, with their `status` and without metrics.
    pandas leaves NaN out of a mean; in a report, the mean of completed trials with a NaN is NaN.
    """

    results: Results

    @property
    def study(self) -> StudyFile:
        """The declaration: arms, comparisons, data, folds and plan, as study.json has it."""
        return self.results.study

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The files in the study's folder that do not count, with the reason."""
        return self.results.problems

    @cached_property
    def verdict(self) -> str:
        """The answer in one sentence, then the findings, then the cautions."""
        verdict = contents_of(self.results).verdict(self.results)
        findings, cautions = ([f"- {said}" for said in found] for found in (verdict.findings, verdict.cautions))
        return "\n".join([verdict.answer, verdict.lead, *findings, "Cautions:", *cautions])

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row per planned trial: its configuration, status, seed, metrics and costs."""
        return TRIALS.of(self.results)

    @cached_property
    def epochs(self) -> pd.DataFrame:
        """One row per epoch of each training: loss, margins, similarities, active share, validation mAP."""
        return EPOCHS.of(self.results)

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """One row per trial, metric and year: of validation in the search, of the test set otherwise.

        `year` is NA for all years together.
        """
        return METRIC_VALUES.of(self.results)

    @cached_property
    def years(self) -> pd.DataFrame:
        """The rows of `metrics` that the report's table by year uses: the test set, without other search splits."""
        return YEARS.of(self.results)

    @cached_property
    def queries(self) -> pd.DataFrame:
        """One row per test query and replicate or reference: facts about the query, and the images it found."""
        return QUERIES.of(self.results)

    @cached_property
    def arms(self) -> pd.DataFrame:
        """One row per arm: its label, loss, N_s, replicates and selected configuration."""
        return ARMS.of(self.results)

    @property
    def frames(self) -> dict[str, str]:
        """The name of each frame, and what one of its rows is."""
        return {name: frame.row for name, frame in FRAMES.items()}

    def describe(self, frame: str) -> pd.DataFrame:
        """Return one row for each column of a frame: its name, dtype, unit and description.

        Raises:
            ValueError: there is no such frame.
        """
        _known(frame, FRAMES, "frame")
        return FRAMES[frame].description(self.results)

    @property
    def tables(self) -> dict[str, str]:
        """The name of each table of the report (its file's name), and its title."""
        return {name: table.title for name, table in self._tables.items()}

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of the report as in its CSV file: metrics are fractions, published values as its title says.

        Raises:
            ValueError: the report has no such table.
        """
        _known(name, self._tables, "table")
        return to_frame(self._tables[name])

    @property
    def figures(self) -> dict[str, str]:
        """The name of each figure of the report (its files' name), and its title.

        A figure that cannot be drawn yet has the reason in place of the title, and a name without the metric.
        """
        return {
            name: plot.title if isinstance(plot, Plot) else f"not drawn: {plot}" for name, plot in self._plots.items()
        }

    def plot(self, name: str, ax: Axes | None = None) -> Figure | SubFigure:
        """Draw a figure of the report in its look, as a new figure or in place of your axes.

        Args:
            ax: axes of `plt.subplots()` or `figure.add_subplot()`. The drawing, which may have several panels, replaces
                them in their figure, and is returned. Their figure needs matplotlib's constrained layout; a figure
                without any layout gets it.

        Raises:
            ValueError: the report has no such figure, or it does not fit in place of `ax`; says why.
            NothingToDraw: its data do not exist yet; says which.
        """
        not_drawn = [f"{name} ({why})" for name, why in self._plots.items() if isinstance(why, NothingToDraw)]
        _known(name, self._plots, "figure", f" (not drawn yet: {'; '.join(not_drawn)})" if not_drawn else "")
        plot = self._plots[name]
        if isinstance(plot, NothingToDraw):
            raise NothingToDraw(str(plot))
        return self._draw(plot, ax)

    def plot_years(self, ax: Axes | None = None) -> Figure | SubFigure:
        """Draw the primary metric by years after baseline, mean ± SE over seeds; `ax` and errors as of `plot`."""
        return self._draw(year_plot(self.results), ax)

    def plot_learning_curves(self, ax: Axes | None = None) -> Figure | SubFigure:
        """Draw validation mAP over the epochs, mean ± SE over folds, of compared arms; `ax` and errors as of `plot`."""
        return self._draw(learning_curves_plot(self.results), ax)

    def _draw(self, plot: Plot, ax: Axes | None) -> Figure | SubFigure:
        source = source_line(self.results)
        return drawn(plot, source) if ax is None else drawn_in_place_of(ax, plot, source)

    @cached_property
    def _tables(self) -> dict[str, Table]:
        return {table.name: table for found in tables_of(self.results).values() for table in found}

    @cached_property
    def _plots(self) -> dict[str, Plot | NothingToDraw]:
        made = contents_of(self.results).plots(self.results)
        return {plot.name if isinstance(plot, Plot) else name: plot for name, plot in made.items()}

    @property
    def _facts(self) -> dict[str, str]:
        statuses = Counter(trial.status for trial in self.results.every_trial)
        return {
            "data": self.results.study.data.phrase,
            "arms": ", ".join(arm.label for arm in self.results.arms),
            "trials": ", ".join(f"{count} {status}" for status, count in statuses.items()) or "none planned",
            "state": " ".join(status_lines(self.results)) or "complete",
            "folder": str(self.results.out),
        }

    def __repr__(self) -> str:
        lines = [f"StudyResults: {self.study.title} ({self.study.study}, preset {self.study.preset})"]
        return "\n  ".join([*lines, *(f"{name}: {text}" for name, text in self._facts.items())])

    def _repr_html_(self) -> str:
        rows = (f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in self._facts.items())
        return f"<strong>{html.escape(self.study.title)}</strong><table>{''.join(rows)}</table>"


def _known(name: str, names: Iterable[str], what: str, more: str = "") -> None:
    known = list(names)
    if name not in known:
        raise ValueError(f"there is no {what} {name!r}; there are {', '.join(known)}{more}{did_you_mean(name, known)}")
