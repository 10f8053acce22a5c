"""The comparisons that a study declared: their differences, what these show, and what the searches cost."""

from fmim_reports.parts.comparisons.comparison import (
    ALPHA,
    Comparison,
    Corrected,
    comparisons,
    corrected,
    different_tasks_note,
)
from fmim_reports.parts.comparisons.costs import compared_costs, ratios_table
from fmim_reports.parts.comparisons.table import paired_table, power_table

__all__ = [
    "ALPHA",
    "Comparison",
    "Corrected",
    "compared_costs",
    "comparisons",
    "corrected",
    "different_tasks_note",
    "paired_table",
    "power_table",
    "ratios_table",
]
