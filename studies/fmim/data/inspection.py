"""A look at the images of a data set, usable or not, and files that say what was found."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd

from fmim.printing import ProgressBar, TextConsole
from fmim_core.data.images.check import check_images, unnamed_images
from fmim_core.data.images.sheet import contact_rows, contact_sheet
from fmim_core.data.sets.base import Listing
from fmim_core.data.tables.findings import Findings
from fmim_core.records import in_csv, write_bytes, write_text


def check_files(listing: Listing, console: TextConsole) -> None:
    """Add to the findings what the images themselves tell, and which image files beside a manifest it does not name."""
    with ProgressBar(f"checking {listing.description.name}", console) as progress:
        check_images(listing.index, listing.rows(), listing.read, listing.findings, progress)
    if listing.written_by_user:
        unnamed_images(listing.root, listing.paths, listing.findings)


def refuse_existing(option: str, path: Path | None) -> None:
    """Raise a `ValueError` where there is something at the path already: nothing of the user's is overwritten."""
    if path is not None and path.exists():
        raise ValueError(f"{option} {path} is there already, and nothing is overwritten: give another name or move it")


def write_findings(findings: Findings, path: Path) -> None:
    """Write a CSV table with one row for each place of each finding: severity, problem, place."""
    rows = [(found.severity, in_csv(found.what), in_csv(place)) for found in findings for place in found.places]
    table = pd.DataFrame(rows, columns=["severity", "problem", "place"])
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def write_sheet(listing: Listing, path: Path) -> None:
    """Draw the contact sheet as a PNG file.

    Raises:
        ValueError: there is no image to show.
    """
    rows = contact_rows(listing.index, listing.rows(), listing.read, listing.mirror_right)
    subjects = len({row.head.text[0] for row in rows})
    of = listing.index["subject"].nunique()
    title = f"{listing.description.name}: {subjects} of {of} subjects over their visits"
    content = io.BytesIO()
    contact_sheet(title, rows).save(content, "PNG")
    write_bytes(path, content.getvalue())
