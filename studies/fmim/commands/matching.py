"""`fmim embed` and `fmim match`: what a trained model is for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fmim.commands.arguments import StudyFolder, new_folder
from fmim.printing.console import TextConsole
from fmim.printing.progress_bar import ProgressBar

Arm = Annotated[str, typer.Option("--arm", help="Whose model, e.g. adatriplet_automargin.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Which replicate's model.")]
DataRoot = Annotated[Path | None, typer.Option("--data-root", help="Folder that a named data set or table lies in.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
OfSplit = Annotated[
    Literal["train", "test"] | None, typer.Option("--split", help="Of tables, only the subjects on this side.")
]
OfSide = Annotated[
    Literal["L", "R"] | None,
    typer.Option("--side", help="Of images without a table: R is mirrored, as right sides in tables are."),
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
) -> None:
    """Write the embedding of every image of a table, beside what the table says of it."""
    from fmim.runner.folder.replicates import find_replicate

    replicate = find_replicate(out, arm, seed)
    from fmim.matching.files import check_embeddings_file, write_embeddings
    from fmim.matching.images import images_at

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
        list[str], typer.Argument(metavar="QUERY...", help="Images of people to find; or a table, by its later visits.")
    ],
    arm: Arm,
    gallery: Annotated[
        str, typer.Option("--gallery", metavar="TABLE|FOLDER", help="Where to look: a table's baselines, or a folder.")
    ],
    seed: Seed = 0,
    top: Annotated[int, typer.Option("--top", min=1, help="Candidates of each query.")] = 20,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="New folder for matches.csv and a picture of each query.")
    ] = None,
    sheets: Annotated[int, typer.Option("--sheets", min=0, help="Pictures at most, of the first queries.")] = 20,
    all_images: Annotated[bool, typer.Option("--all-images", help="Look in all visits of a gallery's table.")] = False,
    data_root: DataRoot = None,
    split: OfSplit = None,
    side: OfSide = None,
    device: Device = "auto",
) -> None:
    """Rank the images of a gallery by their similarity to each query: who might that be?

    A table's gallery is its baseline images, and its queries are its later visits; with --split test, those of the
    study's report.
    """
    from fmim.runner.folder.replicates import find_replicate

    replicate = find_replicate(out, arm, seed)
    folder = None if to is None else new_folder("--to", to)
    from fmim.matching.images import matched_images

    asked, searched = matched_images(query, gallery, replicate.study, data_root, side or "", split, all_images)
    console = TextConsole()
    from fmim.matching.model import load_replicate
    from fmim.matching.sheet import write_matches
    from fmim.matching.show import show_ranking

    model = load_replicate(replicate, device)
    with ProgressBar(f"embedding queries and {gallery}", console) as progress:
        ranking = model.ranking(asked, searched, top, progress)
    show_ranking(ranking, console)
    console.say(replicate.sentence)
    if folder is not None:
        write_matches(folder, ranking, sheets, replicate.sentence)
        console.say(f"candidates, and pictures of the first queries: {folder}")
