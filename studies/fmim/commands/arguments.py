"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fmim.commands.completion import complete_data, complete_out, complete_preset, complete_study

if TYPE_CHECKING:
    from fmim.commands.options import Options

StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="One of `fmim list`, or a Python file of your own.", autocompletion=complete_study
    ),
]
StudyFolder = Annotated[
    Path,
    typer.Argument(metavar="OUT", help="A study's folder, e.g. runs/automargin_vs_grid.", autocompletion=complete_out),
]
PresetName = Annotated[
    str, typer.Option("--preset", help="smoke, quick, full or paper.", autocompletion=complete_preset)
]
DataName = Annotated[
    str,
    typer.Option(
        "--data",
        help="A data set's name, or a manifest (CSV: image,subject,months…).",
        autocompletion=complete_data,
    ),
]
DataRoot = Annotated[Path | None, typer.Option("--data-root", help="Folder that --data lies in.")]
Replicates = Annotated[int | None, typer.Option("--replicates", min=1, help="Fresh seeds of each arm's winner.")]
Cohort = Annotated[
    int | None,
    typer.Option("--cohort", min=0, help="Draw another cohort of phantoms with this seed; 0 is the first."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Everything random derives from it.")]
SearchSplits = Annotated[
    int,
    typer.Option(
        "--search-splits",
        min=1,
        help="Search on so many splits into folds; the first one selects, the others show what of that is chance.",
    ),
]
Epochs = Annotated[int | None, typer.Option("--epochs", min=1, help="Instead of the preset's; as --set epochs=N.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Another value than the preset's, e.g. model.kind=resnet50."),
]

Banks = Annotated[
    Path | None, typer.Option("--banks", help="Folder of decoded images; default banks beside the study's folder.")
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, and nothing else.")]
Out = Annotated[Path | None, typer.Option(help="The study's folder; default runs/STUDY.")]
BackendName = Annotated[Literal["ray", "inline"], typer.Option(help="inline: one by one in this process.")]
Address = Annotated[str | None, typer.Option(help="A running Ray cluster, e.g. auto.")]
GpusPerTrial = Annotated[
    float | None, typer.Option(min=0, help="A fraction shares a GPU; default 1 where there is a GPU, else 0.")
]
TrackingUri = Annotated[
    str | None, typer.Option(help="MLflow's database or server; default mlflow.db beside the study's folder.")
]
Studies = Annotated[
    Path | None,
    typer.Option(help="Folder of all studies: its banks, MLflow's database and trials; default where the study lies."),
]
Reuse = Annotated[
    bool,
    typer.Option(
        " /--no-reuse", help="Train anew what another study in the same folder has trained just so; else it is reused."
    ),
]
CpusPerTrial = Annotated[float, typer.Option(min=0.01, help="CPU cores for each trial.")]


def options_of(arguments: dict[str, Any], but: Collection[str]) -> Options:
    """A command's arguments as `Options`, whose fields have their names; but for those that are the command's own.

    They are checked here, before the modules that train are imported, which takes seconds.
    """
    from fmim.commands.options import Options

    given = {name: value for name, value in arguments.items() if name not in but}
    options = Options(**given | {"changes": given["changes"] or ()})
    options.check()
    return options


def new_folder(option: str, path: Path) -> Path:
    """The folder that an option names, if there is nothing in it yet.

    Raises:
        ValueError: it is a file, or something is in it.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ValueError(
            f"{option} {path} is there already, and nothing is overwritten: give the name of a new folder, or an empty "
            "one"
        )
    return path
