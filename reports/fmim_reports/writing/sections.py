"""The tables and figures that every study has: in which section of a report one stands, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Generic, TypeVar

from fmim_reports.reading.results import Results

T = TypeVar("T")
Need = Callable[[Results], object]


class Section(Enum):
    """The sections of a report in reading order."""

    ANSWER = "beside the answer"
    TABLES = "tables"
    FIGURES = "figures"
    MORE_FIGURES = "more figures, folded on the page"
    MORE = "more tables, folded on the page"
    BY_QUERY = "by what is known of a query, one at a time on the page"
    COSTS = "trials and cost, folded on the page"
    FILES = "written as files only"
    DATA = "written as a CSV file only: too long to be read as a table"


FIGURES = (Section.FIGURES, Section.MORE_FIGURES)


@dataclass(frozen=True)
class Part(Generic[T]):
    """A table or figure: how it is made from the results, its section, and what a study must have for it."""

    make: Callable[[Results], T]
    section: Section
    needs: tuple[Need, ...] = ()

    def __call__(self, results: Results) -> T:
        return self.make(results)

    @property
    def name(self) -> str:
        return self.make.__name__

    def possible(self, results: Results) -> bool:
        """Say whether the study has all that the part needs."""
        return all(need(results) for need in self.needs)


def in_every_study(section: Section, *needs: Need) -> Callable[[Callable[[Results], T]], Part[T]]:
    """Make a function of a module in `reports/fmim_reports/parts` a part of every study that has what it needs."""

    def part(make: Callable[[Results], T]) -> Part[T]:
        return Part(make, section, needs)

    return part


a_search_stage: Need = attrgetter("searched")
"""The study trains configurations on folds."""
a_choice: Need = attrgetter("selects")
"""An arm's search has more than one configuration to select from."""
declared_comparisons: Need = attrgetter("comparisons")
"""The study declared arms to be compared."""
times_of_queries: Need = attrgetter("dated")
"""The data set says when test images were taken after baseline."""


def varied_settings(results: Results) -> bool:
    """Say whether selected configurations were trained with a setting changed, too."""
    return "variation" in results.stages


def several_search_splits(results: Results) -> bool:
    """Say whether the study ran its search on other splits, too."""
    return results.study.search_splits > 1
