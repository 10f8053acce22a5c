"""Data as the `fmim data` commands look at it: any data set, usable or not, with its images one at a time."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import pandas as pd

from fmim.data.sources import find_listing
from fmim.declare.presets import find_preset
from fmim.printing.console import TextConsole
from fmim.printing.progress_bar import ProgressBar
from fmim_core.data.listings.check import Read, check_images, unnamed_images
from fmim_core.data.listings.contact_sheet import contact_rows, contact_sheet
from fmim_core.data.listings.listing import FileSource, Listing
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PHANTOM
from fmim_core.data.source import Source, SourceDescription
from fmim_core.data.tables.findings import Findings
from fmim_core.records import in_csv, write_bytes, write_text


@dataclass(frozen=True, eq=False)
class Inspection:
    """A data set to look at.

    read: an image of a row number, as large as it is. source: what a bank is built from; raises where there are
    errors. listing: None where the images are no files.
    """

    description: SourceDescription
    index: pd.DataFrame
    findings: Findings
    read: Read
    mirrored: bool
    source: Callable[[], Source]
    listing: Listing | None = None

    @cached_property
    def rows(self) -> Sequence[int]:
        """Return row numbers of the images that are there; the others have been told as missing."""
        if self.listing is None:
            return range(len(self.index))
        root, paths = self.listing.root, self.listing.paths
        return [row for row, path in enumerate(paths) if isinstance(path, str) and os.path.isfile(root / path)]


def inspect_data(data: str, root: Path | None, preset: str, seed: int, metadata_only: bool) -> Inspection:
    """Find the data set that `fmim run` takes with the same options, usable or not.

    Raises:
        ValueError: no such data set or preset, or tables that cannot be read.
    """
    chosen = find_preset(preset)
    if data == PHANTOM:
        phantom = PhantomSource(chosen.phantom)
        read = partial(phantom.read, size=chosen.image_size)
        mirrored = chosen.phantom.mirror_right
        return Inspection(phantom.description, phantom.index, Findings(), read, mirrored, lambda: phantom)
    listing = find_listing(data, root, seed, metadata_only)
    source = partial(FileSource, listing)
    return Inspection(
        listing.description, listing.index, listing.findings, listing.read, listing.mirror_right, source, listing
    )


def check_files(inspection: Inspection, console: TextConsole) -> None:
    """Add to the findings what the images themselves tell, and which image files beside a manifest it does not name."""
    with ProgressBar(f"checking {inspection.description.name}", console) as progress:
        check_images(inspection.index, inspection.rows, inspection.read, inspection.findings, progress)
    if inspection.listing and inspection.listing.written_by_user:
        unnamed_images(inspection.listing.root, inspection.listing.paths, inspection.findings)


def refuse_existing(option: str, path: Path | None) -> None:
    """Raise a `ValueError` where there is something at the path already: nothing of the user's is overwritten."""
    if path is not None and path.exists():
        raise ValueError(f"{option} {path} is there already, and nothing is overwritten: give another name or move it")


def write_findings(findings: Findings, path: Path) -> None:
    """Write a CSV table with one row for each place of each finding: severity, problem, place."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("severity", "problem", "place"))
    writer.writerows(
        (found.severity, in_csv(found.what), in_csv(place)) for found in findings for place in found.places
    )
    write_text(path, text.getvalue())


def write_sheet(inspection: Inspection, path: Path) -> None:
    """Draw the contact sheet as a PNG file.

    Raises:
        ValueError: there is no image to show.
    """
    rows = contact_rows(inspection.index, inspection.rows, inspection.read, inspection.mirrored)
    subjects = len({row.head.text[0] for row in rows})
    of = inspection.index["subject"].nunique()
    title = f"{inspection.description.name}: {subjects} of {of} subjects over their visits"
    content = io.BytesIO()
    contact_sheet(title, rows).save(content, "PNG")
    write_bytes(path, content.getvalue())
