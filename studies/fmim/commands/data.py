"""`fmim data …`: look at a data set, check it, make its bank, and write its manifest."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fmim.commands.arguments import complete_data, complete_preset
from fmim.printing import ProgressBar, TextConsole
from fmim_core.records import BAD_INPUT

if TYPE_CHECKING:
    from fmim_core.data.sets.base import Listing

app = typer.Typer(
    help="Describe, check and prepare data sets.",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Data = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE", help="A data set of `fmim data`, or a manifest (CSV).", autocompletion=complete_data
    ),
]
DataRoot = Annotated[Path | None, typer.Option("--data-root", help="Folder that the data set lies in.")]
MetadataOnly = Annotated[bool, typer.Option("--metadata-only", help="Read only the tables, no images.")]
PresetName = Annotated[
    str,
    typer.Option(
        "--preset", help="Preset that gives the image size, and the phantoms.", autocompletion=complete_preset
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Draws the test subjects if the table does not name them.")]


def _listing(data: str, root: Path | None, preset: str, seed: int, metadata_only: bool) -> Listing:
    """List the data set that `fmim run` takes with the same options, usable or not."""
    from fmim.data.sources import find_data_set
    from fmim.declare.presets import find_preset

    return find_data_set(data, root, find_preset(preset), seed, metadata_only)


@app.callback()
def list_data_sets(context: typer.Context) -> None:
    """List the data sets, one line each, and the commands on them."""
    if context.invoked_subcommand is None:
        from fmim.data.show import show_data_sets

        show_data_sets(TextConsole())
        print(context.get_help())


@app.command()
def describe(
    data: Data,
    data_root: DataRoot = None,
    metadata_only: MetadataOnly = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
    sheet: Annotated[
        Path | None, typer.Option(help="Also draw some subjects over their visits to this PNG file.")
    ] = None,
    preset: PresetName = "quick",
    seed: Seed = 0,
) -> None:
    """Show a data set: images, subjects, gallery, queries by year. The exit code is 0, whatever it finds."""
    from fmim.data.show import as_json, refuse_existing, show_description, write_sheet

    if sheet is not None and metadata_only:
        raise ValueError("--sheet needs images, but --metadata-only reads none: leave one of them out")
    if sheet is not None and sheet.suffix.lower() != ".png":
        raise ValueError(f"--sheet {sheet} is a PNG picture: call it {sheet.with_suffix('.png')}")
    refuse_existing("--sheet", sheet)
    listing = _listing(data, data_root, preset, seed, metadata_only)
    if json:
        typer.echo(as_json(listing))
    else:
        show_description(listing, TextConsole())
    if sheet is not None:
        write_sheet(listing, sheet)
        TextConsole(stderr=json).say(f"contact sheet: {sheet}")


@app.command()
def check(
    data: Data,
    data_root: DataRoot = None,
    metadata_only: MetadataOnly = False,
    csv: Annotated[Path | None, typer.Option(help="Also write all places of all problems to this CSV file.")] = None,
    preset: PresetName = "quick",
    seed: Seed = 0,
) -> None:
    """Decode every image of a data set, and list all problems. The exit code is 2 if there is an error, else 0."""
    from fmim.data.show import check_files, refuse_existing, show_findings, write_findings

    console = TextConsole()
    refuse_existing("--csv", csv)
    listing = _listing(data, data_root, preset, seed, metadata_only)
    images = f"{len(listing.index)} images; no image file was looked for"
    if not metadata_only:
        begun = time.perf_counter()
        check_files(listing, console)
        seconds, colours = time.perf_counter() - begun, listing.description.colours
        images = f"{len(listing.rows())} of {len(listing.index)} images decoded {colours} in {seconds:.1f} s"
    console.say(f"{listing.description.name}: {images}")
    show_findings(listing.findings, console)
    if csv is not None:
        write_findings(listing.findings, csv)
        console.say(f"all places: {csv}")
    if listing.findings.errors:
        raise typer.Exit(BAD_INPUT)


@app.command()
def prepare(
    data: Data,
    data_root: DataRoot = None,
    preset: PresetName = "quick",
    metadata_only: MetadataOnly = False,
    seed: Seed = 0,
    banks: Annotated[Path | None, typer.Option("--banks", help="Folder of decoded images; default runs/banks.")] = None,
) -> None:
    """Check a data set's tables, and decode its images for `fmim run`. The exit code is 2 if they cannot be used."""
    from fmim.commands.options import BANKS, STUDIES
    from fmim.data.show import show_bank, show_description, show_findings
    from fmim.declare.presets import find_preset
    from fmim_core.data.bank.building import build_bank

    console = TextConsole()
    listing = _listing(data, data_root, preset, seed, metadata_only)
    if metadata_only:
        show_description(listing, console)
        return
    show_findings(listing.findings, console)
    if listing.findings.errors:
        hint = "no bank was made; `fmim data check` also checks the images, and its --csv lists all places"
        console.say(hint)
        raise typer.Exit(BAD_INPUT)
    begun, source, size = time.perf_counter(), listing.source(), find_preset(preset).image_size
    with ProgressBar(f"decoding {source.description.name}", console) as bar:
        bank = build_bank(source, size, banks or STUDIES / BANKS, bar, console.warn)
    show_bank(bank, bar.called, time.perf_counter() - begun, console)


@app.command()
def manifest(
    data: Annotated[str, typer.Argument(metavar="NAME", help="A data set of `fmim data` that has files.")],
    data_root: Annotated[Path, typer.Option("--data-root", help="Folder that the data set lies in.")],
    out: Annotated[Path, typer.Option("--out", help="CSV file in a folder that holds the images, e.g. DIR/mine.csv.")],
) -> None:
    """Write a table of a named data set's images, to edit and use. It lists those that are in the folder."""
    from fmim.data.show import refuse_existing, show_manifest
    from fmim.data.sources import find_listing
    from fmim_core.data.sets.base import DATA_SETS, manifest_of
    from fmim_core.records import write_text

    if data not in DATA_SETS.kinds():
        known = ", ".join(DATA_SETS.kinds())
        raise ValueError(f"unknown data set in files {data!r}; there are {known} (a manifest needs no other)")
    refuse_existing("--out", out)
    listing = find_listing(data, data_root)
    text, count = manifest_of(listing, out.parent)
    write_text(out, text)
    show_manifest(listing, out, count, TextConsole())
