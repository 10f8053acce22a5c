"""The command line: `fmim COMMAND …`, and `python studies/run.py STUDY …` for `fmim run STUDY …`."""

from __future__ import annotations

import sys
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from fmim.across.commands import overview
from fmim.data.commands import app as data_app
from fmim.exit_codes import BAD_INPUT, INTERRUPTED
from fmim.matching.commands import embed, match
from fmim.runner.backends.home import usable_home
from fmim.runner.ending.signals import ends_as_by_ctrl_c
from fmim.runner.tracking.commands import mirror, ui
from fmim_core.config import in_words
from fmim_core.records import in_terminal

if TYPE_CHECKING:
    from fmim.options import Options


class Program(TyperGroup):
    """The commands; what one raises is told in words, and becomes the exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            _tell("interrupted: the same command goes on")
            raise typer.Exit(INTERRUPTED) from error
        except ValidationError as error:
            _tell(in_words(error))
            raise typer.Exit(BAD_INPUT) from error
        except (ValueError, OSError) as error:
            _tell(str(error))
            raise typer.Exit(BAD_INPUT) from error


def _tell(problem: str, word: str = "[red]error:[/]") -> None:
    Console(stderr=True).print(f"{word} {in_terminal(problem)}", highlight=False, soft_wrap=True)


app = typer.Typer(
    cls=Program,
    help="Hyperparameter and ablation studies for deep metric learning.",
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data")

StudyName = Annotated[str, typer.Argument(metavar="STUDY", help="One of `fmim list`, or a Python file of your own.")]
StudyFolder = Annotated[Path, typer.Argument(metavar="OUT", help="A study's folder, e.g. runs/automargin_vs_grid.")]
PresetName = Annotated[str, typer.Option("--preset", help="smoke, quick, full or paper.")]
DataName = Annotated[str, typer.Option("--data", help="A data set's name, or a manifest (CSV: image,subject,months…).")]
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
Out = Annotated[Path | None, typer.Option(help="The study's folder; default runs/STUDY.")]
BackendName = Annotated[Literal["ray", "inline"], typer.Option(help="inline: one by one in this process.")]
Address = Annotated[str | None, typer.Option(help="A running Ray cluster, e.g. auto.")]
GpusPerTrial = Annotated[
    float | None, typer.Option(min=0, help="A fraction shares a GPU; default 1 where there is a GPU, else 0.")
]
CpusPerTrial = Annotated[float, typer.Option(min=0.01, help="CPU cores for each trial.")]


def _print_version(asked: bool) -> None:
    if asked:
        print(version("fmim-studies"))
        raise typer.Exit


@app.callback()
def program(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


@app.command("list")
def list_studies(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Python files of your own.")] = None,
) -> None:
    """The studies, one line each."""
    from fmim import catalogue

    table = Table("study", "question", box=None)
    for name in (*catalogue.names(), *map(str, files or ())):
        table.add_row(in_terminal(name), in_terminal(catalogue.find(name).question))
    Console().print(table)


@app.command()
def new(study: Annotated[str, typer.Argument(metavar="NAME", help="Of the study, e.g. my_study.")]) -> None:
    """Write a study of your own to begin with, NAME.py, with a loss, a schedule, and their test."""
    from fmim.own.skeleton import write_skeleton

    for path in write_skeleton(study, Path()):
        Console().print(f"wrote {path}", highlight=False)
    Console().print(f"try it: fmim run {study}.py --preset smoke", highlight=False)


@app.command()
def plan(
    study: StudyName,
    preset: PresetName = "quick",
    data: DataName = "phantom",
    data_root: DataRoot = None,
    replicates: Replicates = None,
    seed: Seed = 0,
    cohort: Cohort = None,
    epochs: Epochs = None,
    changes: Changes = None,
    search_splits: SearchSplits = 1,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Time a few steps here and predict the run; writes OUT/calibration.json."),
    ] = False,
    out: Out = None,
    banks: Banks = None,
    backend: BackendName = "ray",
    address: Address = None,
    gpus_per_trial: GpusPerTrial = None,
    cpus_per_trial: CpusPerTrial = 1.0,
) -> None:
    """What a study would run: arms, N_s, trials, epochs, images. Everything is checked, no trial is started.

    With --calibrate, on the devices of the options that `fmim run` has too: how long it would take.
    """
    options = _options(locals(), but="calibrate")
    if calibrate:
        from fmim.runner.forecast.predict import predict

        predict(options, Console())
    else:
        from fmim.runner.run_study import prepare
        from fmim.runner.show import show_plan

        show_plan(prepare(options), options.folder, Console())


@app.command()
def run(
    study: StudyName,
    preset: PresetName = "quick",
    data: DataName = "phantom",
    data_root: DataRoot = None,
    out: Out = None,
    replicates: Replicates = None,
    seed: Seed = 0,
    cohort: Cohort = None,
    epochs: Epochs = None,
    changes: Changes = None,
    search_splits: SearchSplits = 1,
    backend: BackendName = "ray",
    address: Address = None,
    gpus_per_trial: GpusPerTrial = None,
    cpus_per_trial: CpusPerTrial = 1.0,
    banks: Banks = None,
    tracking_uri: Annotated[
        str | None, typer.Option(help="MLflow's database or server; default mlflow.db beside the study's folder.")
    ] = None,
    selected: Annotated[
        Path | None, typer.Option(help="Take the arms' configurations from what this study's folder selected.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and print the plan only.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move an existing folder aside and start over.")] = False,
) -> None:
    """Run a study, or go on with it: the plan minus the trials that are done. Ctrl-C is safe."""
    options = _options(locals(), but="dry_run")
    from fmim.runner.run_study import prepare, run_study
    from fmim.runner.show import show_plan

    console = Console()
    if dry_run:
        show_plan(prepare(options), options.folder, console)
        return
    raise typer.Exit(run_study(options, console))


@app.command()
def status(out: StudyFolder) -> None:
    """How far a study is: trials by arm and status."""
    folder = _study_folder(out)
    from fmim.runner.status import show_status

    show_status(folder, Console())


@app.command()
def report(out: StudyFolder) -> None:
    """Build a study's report again, from its records alone."""
    folder = _study_folder(out)
    from fmim.across.overview import update_overview
    from fmim_reports.build import build_report

    Console().print(f"report: {in_terminal(build_report(folder))}", highlight=False, soft_wrap=True)
    update_overview(folder.absolute().parent, lambda text: _tell(text, "[yellow]warning:[/]"))


app.command()(overview)
app.command()(embed)
app.command()(match)
app.command()(mirror)
app.command()(ui)


def _options(arguments: dict[str, Any], but: str) -> Options:
    """A command's arguments as `Options`, whose fields have their names; but for the one that is the command's own.

    They are checked here, before the modules that train are imported, which takes seconds.
    """
    from fmim.options import Options

    given = {name: value for name, value in arguments.items() if name != but}
    options = Options(**given | {"changes": given["changes"] or ()})
    options.check()
    return options


def _study_folder(out: Path) -> Path:
    if not (out / "study.json").is_file():
        raise ValueError(f"{out} is not a study's folder: it has no study.json")
    return out


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 trials or the disk failed, 2 bad usage or input, 130 interrupted."""
    arguments = sys.argv[1:]
    commands = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    commands += [group.name for group in app.registered_groups if group.name]
    if arguments and not arguments[0].startswith("-") and arguments[0] not in commands:
        arguments = ["run", *arguments]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal has no letters for is no error
            stream.reconfigure(errors="replace")
    with ends_as_by_ctrl_c(), usable_home(lambda text: _tell(text, "[yellow]warning:[/]")):
        app(arguments)
