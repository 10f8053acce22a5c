"""What a study's report shows: what every study has, after what the study's file in `studies/` here adds."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fmim_reports import studies
from fmim_reports.parts.tidy import every_value_table
from fmim_reports.parts.verdict import Verdict, verdict_of_comparisons
from fmim_reports.reading.results import Results
from fmim_reports.sections import Part, Section, parts_of_every_study
from fmim_reports.writing.plotting import Plot
from fmim_reports.writing.tables import Table

MakeTable = Callable[[Results], Table]
MakePlot = Callable[[Results], Plot]


@dataclass(frozen=True)
class Contents:
    """What a study's report has of its own.

    Args:
        verdict: the answer in words.
        tables, figures, more: its own, before those of every study (`more` is folded on the page).
        every_value: the tidy table named after the study, `tables/STUDY.csv`; see `tidy`.
        leaves_out: parts of every study for which it has something better.
    """

    verdict: Callable[[Results], Verdict] = verdict_of_comparisons
    tables: tuple[MakeTable, ...] = ()
    figures: tuple[MakePlot, ...] = ()
    more: tuple[MakeTable, ...] = ()
    every_value: MakeTable = every_value_table
    leaves_out: tuple[Part[Any], ...] = ()

    def parts(self, results: Results) -> Mapping[Section, Sequence[Part[Any]]]:
        """The parts of each section: its own, and those of every study for which the results have what is needed."""
        shared = [part for part in parts_of_every_study() if part not in self.leaves_out and part.possible(results)]
        own: dict[Section, tuple[Callable[[Results], Any], ...]] = {
            Section.TABLES: self.tables,
            Section.FIGURES: self.figures,
            Section.MORE: self.more,
        }
        return {
            section: [
                *(Part(make, section) for make in own.get(section, ())),
                *(part for part in shared if part.section is section),
            ]
            for section in Section
        }

    def tidy(self, results: Results, others: Collection[str]) -> Table:
        """The tidy table, named after the study; STUDY_values where one of the other tables has that name."""
        table = self.every_value(results)
        return replace(table, name=f"{table.name}_values") if table.name in others else table


def contents_of(results: Results) -> Contents:
    """CONTENTS of `reports/fmim_reports/studies/STUDY.py`, or what every study has if there is no such file."""
    study = results.study.study
    if study not in {module.name for module in pkgutil.iter_modules(studies.__path__)}:
        return Contents()
    contents: Contents = importlib.import_module(f"{studies.__name__}.{study}").CONTENTS
    return contents
