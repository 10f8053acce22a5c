"""Commands on studies that have run: `fmim compare`, `overview`, `embed`, `match`, `mirror` and `ui`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from fmim.commands.arguments import StudyFolder, TrackingUri, new_folder
from fmim.printing import ProgressBar, TextConsole
from fmim.runner.folder.study_folder import study_folder
from fmim.runner.tracking.address import TrackingAddress
from fmim_core.records import SOME_FAILED, StudyFile, study_path


def compare(
    studies: Annotated[list[Path], typer.Argument(metavar="OUT OUT...", help="Folders of two or more studies.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="New folder for a page, with its tables as files.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """Compare studies: their settings, arms and test results. Every study is compared with the first."""
    folders = [study_folder(study) for study in studies]
    folder = None if out is None else new_folder("--out", out)
    from fmim_reports.across.differences import differences
    from fmim_reports.across.page import comparison_as_json
    from fmim_reports.across.studies import read_studies

    read = read_studies(folders)
    found = differences(read)
    console = TextConsole()
    if as_json:
        print(json.dumps(comparison_as_json(read, found), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        from fmim.terminal.comparison import show_comparison

        show_comparison(read, found, console)
    if folder is not None:
        from fmim_reports.across.page import write_comparison

        page = write_comparison(folder, read, found)
        TextConsole(stderr=as_json).say(f"page: {page}")


def overview(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the studies, e.g. runs.")] = Path(
        "runs"
    ),
) -> None:
    """Write FOLDER/index.html, a page that lists all studies in it. Runs and reports keep it current."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder: give the folder of the studies, e.g. runs")
    from fmim.runner.folder.overview import write_overview

    TextConsole().say(f"overview: {write_overview(folder)}")


Arm = Annotated[str, typer.Option("--arm", help="Arm whose model is used, e.g. adatriplet_automargin.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the model.")]
DataRoot = Annotated[Path | None, typer.Option("--data-root", help="Folder that a named data set or table lies in.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
TrustCode = Annotated[
    bool, typer.Option("--trust-code", help="Run the Python code that OUT brings, though you have not run it before.")
]
OfSplit = Annotated[
    Literal["train", "test"] | None,
    typer.Option("--split", help="For tables: only subjects on this side."),
]
OfSide = Annotated[
    Literal["L", "R"] | None,
    typer.Option("--side", help="Side of images without a table; R is mirrored, as in tables."),
]


def embed(
    out: StudyFolder,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A manifest, a named data set, or a folder of images.")],
    arm: Arm,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="New file, .parquet or .csv.")],
    seed: Seed = 0,
    data_root: DataRoot = None,
    split: OfSplit = None,
    side: OfSide = None,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Write the embedding of every image of a table, with its row."""
    from fmim.runner.folder.study_folder import find_replicate

    replicate = find_replicate(out, arm, seed, trust_code)
    from fmim.matching.images import images_at
    from fmim.matching.output import check_embeddings_file, write_embeddings

    check_embeddings_file(to)
    images = images_at(table, replicate.study, data_root, side or "")
    images = images if split is None else images.of_split(split)
    console = TextConsole()
    from fmim.matching.model import load_replicate

    model = load_replicate(replicate, device)
    with ProgressBar(f"embedding {images.origin}", console) as progress:
        embeddings = model.embed(images, progress=progress)
    write_embeddings(to, images.about, embeddings, replicate.sentence)
    say = f"{len(images):,} embeddings of {embeddings.shape[1]} numbers: {to}\n{replicate.sentence}"
    console.say(say)


def match(
    out: StudyFolder,
    query: Annotated[
        list[str], typer.Argument(metavar="QUERY...", help="Images of people to find, or a table (its later visits).")
    ],
    arm: Arm,
    gallery: Annotated[
        str,
        typer.Option(
            "--gallery", metavar="TABLE|FOLDER", help="Where to search: a table (its baselines), or a folder."
        ),
    ],
    seed: Seed = 0,
    top: Annotated[int, typer.Option("--top", min=1, help="Candidates for each query.")] = 20,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="New folder for matches.csv and a picture of each query.")
    ] = None,
    sheets: Annotated[int, typer.Option("--sheets", min=0, help="Pictures, at most; the first queries get one.")] = 20,
    all_images: Annotated[bool, typer.Option("--all-images", help="Search all visits of the gallery's table.")] = False,
    data_root: DataRoot = None,
    split: OfSplit = None,
    side: OfSide = None,
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Rank the images of a gallery by similarity to each query.

    A table's gallery is its baseline images, and its queries are its later visits; with --split test, those of the
    study's report.
    """
    from fmim.runner.folder.study_folder import find_replicate

    replicate = find_replicate(out, arm, seed, trust_code)
    folder = None if to is None else new_folder("--to", to)
    from fmim.matching.images import matched_images

    asked, searched = matched_images(query, gallery, replicate.study, data_root, side or "", split, all_images)
    console = TextConsole()
    from fmim.matching.model import load_replicate
    from fmim.matching.output import show_ranking, write_matches

    model = load_replicate(replicate, device)
    with ProgressBar(f"embedding queries and {gallery}", console) as progress:
        ranking = model.ranking(asked, searched, top, progress)
    show_ranking(ranking, console)
    console.say(replicate.sentence)
    if folder is not None:
        write_matches(folder, ranking, sheets, replicate.sentence)
        console.say(f"candidates, and pictures of the first queries: {folder}")


def mirror(out: StudyFolder, tracking_uri: TrackingUri = None) -> None:
    """Bring MLflow up to date from a study's records. No process may run the study meanwhile."""
    study = StudyFile.read(study_path(study_folder(out)))
    address = TrackingAddress.named(tracking_uri) or TrackingAddress.of_study(out, study)
    from fmim.runner.tracking.tracker import mirror_study

    if not mirror_study(out, study, address, TextConsole().say):
        raise typer.Exit(SOME_FAILED)


def ui(
    out: StudyFolder,
    tracking_uri: TrackingUri = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 5000,
) -> None:
    """Open a study in MLflow, with charts of its compared arms."""
    from fmim.runner.tracking.server import open_page, page_of, serve

    study, say = StudyFile.read(study_path(study_folder(out))), TextConsole().say
    address = TrackingAddress.named(tracking_uri) or TrackingAddress.of_study(out, study)
    page = page_of(out, study, address, say)
    if address.is_server:
        say(f"MLflow shows the study at {address}/{page}")
        open_page(f"{address}/{page}")
        return
    serve(address, port, page, say)
