"""Output of the `fmim data` commands, on the screen and in files."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from fmim.data.sources import PHANTOM
from fmim.printing import ProgressBar, TextConsole, TextTable
from fmim_core.data.bank.bank import Bank
from fmim_core.data.image_set import Counts, Protocol, describe, protocol_of
from fmim_core.data.images.check import check_images, unnamed_images
from fmim_core.data.images.sheet import contact_rows, contact_sheet
from fmim_core.data.sets.base import DATA_SETS, Listing
from fmim_core.data.tables.findings import MAX_SHOWN, Findings
from fmim_core.metric_names import INTERVALS, Interval
from fmim_core.records import without_controls, write_bytes, write_text

COLORS = {"error": "red", "warning": "yellow", "note": "blue"}


def show_data_sets(console: TextConsole) -> None:
    """Show the names there are, each with the first line of what it says of itself."""
    rows = [(PHANTOM, "Synthetic knees drawn by a program; needs no download.")]
    rows += [(kind, DATA_SETS.find(kind).about()) for kind in DATA_SETS.kinds()]
    rows.append(("FILE", "Your own images: a CSV or Parquet table with the columns image, subject, months or role."))
    console.show(TextTable(("data set", "what"), rows))


def as_json(listing: Listing) -> str:
    """Return the description as JSON; of each finding the first places."""
    about = listing.description
    content = {
        **{name: getattr(about, name) for name in ("name", "kind", "release", "files", "about", "interval")},
        "channels": None if listing.metadata_only else about.channels,  # no image was looked at
        "splits": {
            split: asdict(counts) for split, counts in describe(listing.index, INTERVALS[about.interval]).items()
        },
        "published": about.details.get("published", {}),
        "differences_from_paper": about.details.get("differences_from_paper", []),
        "findings": [
            {"severity": f.severity, "what": f.what, "count": len(f.places), "places": f.places[:MAX_SHOWN]}
            for f in listing.findings
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)


def show_description(listing: Listing, console: TextConsole) -> None:
    """Show the paper's two tables, where they come from, and all that was noticed."""
    about = listing.description
    console.say(about.about, lead=f"{about.name}:", style="bold")
    if about.release:
        console.say(f"release {about.release}")
    for name, sha256 in about.files.items():
        console.say(f"{name}: SHA-256 {sha256}")
    for name, value in about.settings.items():
        console.say(f"{name} = {value}, unless a preset or an arm sets it")
    if about.channels != 1:
        console.say(f"images are read {about.colours}")
    interval = INTERVALS[about.interval]
    splits = describe(listing.index, interval)
    by_time = _by_time(splits, protocol_of(listing.index), interval)
    title = f"Gallery and queries by {interval.unit} after baseline" if _times(splits) else "Gallery and queries"
    console.show("Images and subjects", _overview(splits), title, by_time)
    if published := about.details.get("published"):
        console.show("Here and as published", _beside(published, splits))
    for difference in about.details.get("differences_from_paper", []):
        console.say(f"different from the paper: {difference}")
    show_findings(listing.findings, console)


def _beside(published: dict[str, int], splits: dict[str, Counts]) -> TextTable:
    """Return published counts of a data set of classes, beside those of the folder."""
    here: dict[str, int] = {}
    for split, one in splits.items():
        counts = {"classes": one.subjects, "images": one.images, "queries": one.queries_undated, "gallery": one.gallery}
        here |= {f"{split} {name}": count for name, count in counts.items()}
    rows = [(name, f"{here[name]:,}", f"{count:,}") for name, count in published.items()]
    return TextTable(("count", "here", "published"), rows, frozenset(("here", "published")))


def _overview(splits: dict[str, Counts]) -> TextTable:
    """Return the counts of each split, but for a column of which nothing is known."""
    columns: dict[str, list[str]] = {
        "split": list(splits),
        "images": [f"{counts.images:,}" for counts in splits.values()],
        "subjects": [f"{counts.subjects:,}" for counts in splits.values()],
        "% male": [_known(c.male_percent, ".1f", c.sex_known, c.images) for c in splits.values()],
        "images with disease": [_known(c.with_disease, ",", c.disease_known, c.images) for c in splits.values()],
    }
    shown = {name: cells for name, cells in columns.items() if set(cells) != {"unknown"}}
    return TextTable(tuple(shown), list(zip(*shown.values(), strict=True)), frozenset(shown) - {"split"})


def _known(value: float | None, form: str, known: int, images: int) -> str:
    """Write a number, and of how many images it is where that is some of them only."""
    return "unknown" if value is None else f"{value:{form}}" + (f" (of {known:,})" if known < images else "")


def _times(splits: dict[str, Counts]) -> list[int]:
    """Return the times after baseline at which any split has queries."""
    return sorted({time for counts in splits.values() for time in counts.queries})


def _by_time(splits: dict[str, Counts], protocol: Protocol, interval: Interval) -> TextTable:
    """Return a row a year rather than a column a year, as the paper has it: any number of years fits any terminal."""
    every, unit = splits.values(), interval.unit
    rows = {protocol.gallery: [counts.gallery for counts in every]}
    rows |= {f"queries: {unit} {time}": [counts.queries.get(time, 0) for counts in every] for time in _times(splits)}
    if any(undated := [counts.queries_undated for counts in every]):
        rows["queries: months unknown" if _times(splits) else "queries"] = undated
    rows["queries without a match"] = [counts.queries_without_match for counts in every]
    rows[protocol.neither] = [counts.not_evaluated for counts in every]
    shown = [(name, *(f"{value:,}" for value in values)) for name, values in rows.items()]
    return TextTable(("images", *splits), shown, frozenset(splits))


def show_findings(findings: Findings, console: TextConsole) -> None:
    """Show all findings, the worst first: severity, problem, how many places, and below it the first of them."""
    found = sorted(findings, key=lambda finding: tuple(COLORS).index(finding.severity))
    for finding in found:
        said = f"{finding.what}: {len(finding.places):,}"
        console.say(said, lead=f"{finding.severity}:", style=COLORS[finding.severity])
        examples = [f"  • {place}" for place in finding.places[:MAX_SHOWN]]
        if (more := len(finding.places) - MAX_SHOWN) > 0:
            examples.append(f"  and {more:,} more")
        for example in examples:
            console.say(example)
    if any(len(finding.places) > MAX_SHOWN for finding in found):
        console.say(f"only {MAX_SHOWN} places of each are shown: `fmim data check --csv FILE` writes all")
    counts = {severity: sum(len(f.places) for f in found if f.severity == severity) for severity in COLORS}
    said = ", ".join(f"{severity}s: {count:,}" for severity, count in counts.items() if count)
    console.say(said or "no problems found")


def show_bank(bank: Bank, made: bool, seconds: float, console: TextConsole) -> None:
    """Show where a bank is and what is in it."""
    sides = ", ".join(f"{bank.summary[side]['images']:,} {side}" for side in ("development", "test"))
    said = f"made in {seconds:.1f} s ({bank.count / seconds:.0f} images/s)" if made else "already made"
    console.say(
        f"bank: {bank.path}\n{bank.count:,} images of {bank.size} × {bank.size} pixels, {bank.description.colours} "
        f"({bank.images.nbytes / 1e6:.1f} MB): {sides}\nfingerprint {bank.fingerprint}\n{said}"
    )
    for warning in bank.warnings[:MAX_SHOWN]:
        console.say(warning, lead="warning:", style="yellow")
    if len(bank.warnings) > MAX_SHOWN:
        console.say(f"and {len(bank.warnings) - MAX_SHOWN} more: `fmim data check` lists all")


def show_manifest(listing: Listing, out: Path, count: int, console: TextConsole) -> None:
    """Show what was written, what is not in it, and what does not come with it."""
    description = listing.description
    console.say(f"{out}: {count:,} of {len(listing.index):,} images")
    if count < len(listing.index):
        console.say(f"the others are missing or cannot be used: `fmim data check {description.name}` lists them")
    if description.settings:
        settings = ", ".join(f"{name} = {value}" for name, value in description.settings.items())
        console.say(f"{description.name} sets {settings}; the manifest does not, unless {out.stem}.toml beside it does")


def check_files(listing: Listing, console: TextConsole) -> None:
    """Add to the findings what the images themselves tell, and which image files beside a manifest it does not name."""
    with ProgressBar(f"checking {listing.description.name}", console) as progress:
        check_images(listing.index, listing.rows(), listing.read, listing.loses_colour, listing.findings, progress)
    if listing.written_by_user:
        unnamed_images(listing.root, listing.paths, listing.findings)


def refuse_existing(option: str, path: Path | None) -> None:
    """Raise a `ValueError` where there is something at the path already: nothing of the user's is overwritten."""
    if path is not None and path.exists():
        raise ValueError(f"{option} {path} exists and is not overwritten: give another name or move it")


def write_findings(findings: Findings, path: Path) -> None:
    """Write a CSV table with one row for each place of each finding: severity, problem, place."""
    rows = [
        (one.severity, without_controls(one.what), without_controls(place)) for one in findings for place in one.places
    ]
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
    title = f"{listing.description.name}: {subjects} of {of} subjects"
    content = io.BytesIO()
    contact_sheet(title, rows).save(content, "PNG")
    write_bytes(path, content.getvalue())
