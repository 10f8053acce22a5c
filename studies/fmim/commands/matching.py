"""`fmim embed` and `fmim match`: what a trained model is for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fmim.commands.arguments import StudyFolder, new_folder
from fmim.printing.console import TextConsole
from fmim.printing.progress_bar import ProgressBar

if TYPE_CHECKING:
    from fmim.matching.images import GivenImages, Side, Split
    from fmim.matching.ranking import Ranking
    from fmim.runner.folder.replicates import Replicate

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
    asked = _query(query, replicate, data_root, side or "")
    searched = _gallery(gallery, replicate, data_root, side or "", all_images)
    if split is not None:
        asked, searched = _of_split(asked, searched, split)
    console = TextConsole()
    from fmim.matching.model import load_replicate
    from fmim.matching.show import show_ranking

    model = load_replicate(replicate, device)
    with ProgressBar(f"embedding queries and {gallery}", console) as progress:
        ranking = model.ranking(asked, searched, top, progress)
    show_ranking(ranking, console)
    console.say(replicate.sentence)
    if folder is not None:
        _write(folder, ranking, sheets, replicate.sentence)
        console.say(f"candidates, and pictures of the first queries: {folder}")


def _query(places: list[str], replicate: Replicate, root: Path | None, side: Side) -> GivenImages:
    """Several places are image files; of a table the later visits are asked for."""
    from fmim.matching.images import images_at, images_of_files

    if len(places) > 1:
        return images_of_files(places, side)
    images = images_at(places[0], replicate.study, root, side)
    return images.queries if images.known else images


def _gallery(place: str, replicate: Replicate, root: Path | None, side: Side, all_images: bool) -> GivenImages:
    """Of a table the baseline images, unless all are to be searched."""
    from fmim.matching.images import images_at

    images = images_at(place, replicate.study, root, side)
    if all_images and not images.known:
        raise ValueError(f"--all-images is of a gallery's table, and of {place} all are searched anyway: leave it out")
    return images.gallery if images.known and not all_images else images


def _of_split(query: GivenImages, gallery: GivenImages, split: Split) -> tuple[GivenImages, GivenImages]:
    """Those on one side of the split, of what comes from a table."""
    if not (query.known or gallery.known):
        raise ValueError(f"--split {split} is of tables, and neither QUERY nor --gallery is one: leave it out")
    asked, searched = (images.of_split(split) if images.known else images for images in (query, gallery))
    return asked, searched


def _write(folder: Path, ranking: Ranking, sheets: int, sentence: str) -> None:
    """The candidates, the sentence on their model, and the first queries' pictures, named by number and query."""
    from fmim.matching.files import as_csv
    from fmim.matching.sheet import write_match_sheet
    from fmim_core.records import write_text

    write_text(folder / "matches.csv", as_csv(ranking.table()))
    write_text(folder / "model.txt", sentence + "\n")
    for number, name in enumerate(ranking.query.about["image"].iloc[:sheets]):
        called = re.sub(r"[^\w.-]+", "_", Path(name).stem)[:60]
        write_match_sheet(folder / f"{number + 1:03d}_{called}.png", ranking, number, sentence)
