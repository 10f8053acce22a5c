"""The contents of a study's report: what every study has, after what the study's own file in this folder adds."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fmim_reports import parts
from fmim_reports.drawing.plotting import NothingToDraw, Plot, plot_or_reason
from fmim_reports.parts.tidy import every_value_table
from fmim_reports.parts.verdict import Verdict, verdict_of_comparisons
from fmim_reports.reading.results import Results
from fmim_reports.writing.sections import FIGURES, Part, Section
from fmim_reports.writing.tables import Table

MakeTable = Callable[[Results], Table]
MakePlot = Callable[[Results], Plot]


@dataclass(frozen=True)
class Contents:
    """All that a study's report has of its own.

    Args:
        verdict: the answer in words.
        tables, figures, more, more_figures: its own, before those of every study; the page folds `more` and
            `more_figures`.
        every_value: the tidy table named after the study, `tables/STUDY.csv`; see `tidy`.
        leaves_out: parts of every study for which it has something better.
    """

    verdict: Callable[[Results], Verdict] = verdict_of_comparisons
    tables: tuple[MakeTable, ...] = ()
    figures: tuple[MakePlot, ...] = ()
    more: tuple[MakeTable, ...] = ()
    more_figures: tuple[MakePlot, ...] = ()
    every_value: MakeTable = every_value_table
    leaves_out: tuple[Part[Any], ...] = ()

    def parts(self, results: Results) -> Mapping[Section, Sequence[Part[Any]]]:
        """Return the parts of each section: its own, and those of every study whose needs the results meet."""
        shared = [part for part in parts_of_every_study() if part not in self.leaves_out and part.possible(results)]
        own: dict[Section, tuple[Callable[[Results], Any], ...]]
        own = {Section.TABLES: self.tables, Section.FIGURES: self.figures}
        own |= {Section.MORE: self.more, Section.MORE_FIGURES: self.more_figures}
        return {
            section: [
                *(Part(make, section) for make in own.get(section, ())),
                *(part for part in shared if part.section is section),
            ]
            for section in Section
        }

    def plots(self, results: Results, *sections: Section) -> dict[str, Plot | NothingToDraw]:
        """Return the figures, or those of one section, by the names of their functions, or why they cannot be drawn."""
        found = self.parts(results)
        made = [part for section in sections or FIGURES for part in found[section]]
        return {part.name.removesuffix("_plot"): plot_or_reason(part, results) for part in made}

    def tidy(self, results: Results, others: Collection[str]) -> Table:
        """Return the tidy table, named after the study; STUDY_values where one of the other tables has that name."""
        table = self.every_value(results)
        return replace(table, name=f"{table.name}_values") if table.name in others else table


def parts_of_every_study() -> list[Part[Any]]:
    """Return every part that a module of `parts/` defines, by the module's name and in the order of the file."""
    found: list[Part[Any]] = []
    for module in pkgutil.walk_packages(parts.__path__, f"{parts.__name__}."):
        defined = vars(importlib.import_module(module.name)).values()
        found += [one for one in defined if isinstance(one, Part) and one.make.__module__ == module.name]
    return found


def contents_of(results: Results) -> Contents:
    """Return `CONTENTS` of the study's file in this folder, or what every study has where there is no such file."""
    study = results.study.study
    if study not in {module.name for module in pkgutil.iter_modules(__path__)}:
        return Contents()
    contents: Contents = importlib.import_module(f"{__name__}.{study}").CONTENTS
    return contents
