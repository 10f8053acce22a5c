"""The overview of all studies in a folder, kept current by whoever starts, ends or reports on one of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from fmim.runner.folder.locks import one_at_a_time, owner
from fmim_core.records import words_of, write_text
from fmim_reports.across.overview import is_foreign, overview_page, read_overview


def write_overview(folder: Path) -> Path:
    """Write `folder`/index.html, the overview of the studies in it, and return its path.

    Others may do so at the same time: one after the other reads and writes, so that the last one has seen all.

    Raises:
        ValueError: there is an index.html that is somebody else's, which stays as it is.
        OSError: it cannot be written.
    """
    page = folder / "index.html"
    if is_foreign(page):
        raise ValueError(f"{page} was not written by fmim, so it is not overwritten: move it to get an overview there")
    with one_at_a_time(folder):
        studies = read_overview(folder, lambda out: owner(out) is not None)
        write_text(page, overview_page(folder.absolute().name, studies, datetime.now(UTC)))
    return page


def update_overview(folder: Path, warn: Callable[[str], None]) -> None:
    """Write the overview beside some other work: what stands in its way is told to `warn`."""
    try:
        write_overview(folder)
    except (ValueError, OSError) as error:
        warn(f"the overview of studies is not up to date: {words_of(error)}")
