"""The tables and figures that every study has: in which section of a report one stands, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from fmim_reports.reading.results import Results

T = TypeVar("T")
Need = Callable[[Results], bool]


class Section(Enum):
    """The sections of a report in reading order."""

    TABLES = "tables"
    FIGURES = "figures"
    COSTS = "trials and cost"
    COST_DETAILS = "trials and cost, folded on the page"
    MORE = "more tables, folded on the page"
    FILES = "written as files only"
    DATA = "written as a CSV file only: too long to be read as a table"


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


def a_search_stage(results: Results) -> bool:
    """Say whether the study trains configurations on folds."""
    return results.searched


def a_choice(results: Results) -> bool:
    """Say whether an arm's search has more than one configuration to select from."""
    return results.selects


def declared_comparisons(results: Results) -> bool:
    """Say whether the study declared arms to be compared."""
    return bool(results.comparisons)


def times_of_queries(results: Results) -> bool:
    """Say whether the data set says when test images were taken after baseline."""
    return results.dated


def several_search_splits(results: Results) -> bool:
    """Say whether the study ran its search on other splits, too."""
    return results.study.search_splits > 1
