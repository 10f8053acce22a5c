"""A report of several studies: what it says on top, and its parts, as page, Markdown and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmim_core.records import write_bytes
from fmim_reports.drawing.plotting import DrawnFigure
from fmim_reports.page.files import filled, write_table
from fmim_reports.writing.tables import Table


@dataclass(frozen=True)
class Part:
    """A part of a report of several studies; of its heading, the contents show what stands before a colon.

    studies: the folders, beside that of the report, of the studies that it is from.
    """

    heading: str
    tables: Sequence[Table] = ()
    folded: Sequence[Table] = ()
    figures: Sequence[DrawnFigure] = ()
    notes: Sequence[str] = ()
    studies: Sequence[str] = ()

    @property
    def every_table(self) -> list[Table]:
        """Its tables, and those that the page folds."""
        return [*self.tables, *self.folded]


def write_several(report: Path, parts: Sequence[Part], **said: Any) -> Path:
    """Write `report`/index.html, report.md and each table under tables/; return the page.

    said: `title`, `question`, `data`, `synthetic`, `warnings`, `lead`, and the `findings` below this.
    """
    for part in parts:
        for table in part.every_table:
            write_table(table, report)
    write_bytes(report / "report.md", filled("several.md.j2", parts=parts, **said))
    write_bytes(report / "index.html", filled("several.html.j2", parts=parts, **said))
    return report / "index.html"
