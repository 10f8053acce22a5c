"""`fmim list`, `new`, `plan`, `run`, `status` and `report`: from a study's declaration to its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fmim.commands.arguments import (
    Address,
    AsJson,
    BackendName,
    Banks,
    Changes,
    Cohort,
    CpusPerTrial,
    DataName,
    DataRoot,
    Epochs,
    GpusPerTrial,
    Out,
    PresetName,
    Replicates,
    Reuse,
    SearchSplits,
    Seed,
    Studies,
    StudyFolder,
    StudyName,
    TrackingUri,
    options_of,
)
from fmim.commands.program import warn
from fmim.runner.folder.ownership import study_folder
from fmim.terminal.stages import say
from fmim_core.records import in_terminal

CHECKING = "loading PyTorch, and checking the plan: one batch of every network and loss"


def list_studies(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Python files of your own.")] = None,
    as_json: AsJson = False,
) -> None:
    """The studies, one line each."""
    from fmim import catalogue
    from fmim.terminal.studies import show_studies, studies_as_json

    studies = {name: catalogue.find(name) for name in (*catalogue.names(), *map(str, files or ()))}
    if as_json:
        print(studies_as_json(studies))
    else:
        show_studies(studies, Console())


def new(study: Annotated[str, typer.Argument(metavar="NAME", help="Of the study, e.g. my_study.")]) -> None:
    """Write a study of your own to begin with, NAME.py, with a loss, a schedule, and their test."""
    from fmim.own.skeleton import write_skeleton

    for path in write_skeleton(study, Path()):
        Console().print(f"wrote {path}", highlight=False)
    Console().print(f"try it: fmim run {study}.py --preset smoke", highlight=False)


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
    studies: Studies = None,
    reuse: Reuse = True,
    as_json: AsJson = False,
) -> None:
    """What a study would run: arms, N_s, trials, epochs, images. Everything is checked, no trial is started.

    With --calibrate, on the devices of the options that `fmim run` has too: how long it would take.
    """
    options = options_of(locals(), but=("calibrate", "as_json"))
    if calibrate and as_json:
        raise ValueError("--calibrate writes calibration.json, and --json prints the plan: leave one of them out")
    say(CHECKING)
    if calibrate:
        from fmim.runner.predict import predict

        predict(options, Console())
        return
    from fmim.runner.run import prepare
    from fmim.terminal.plan import plan_as_json, show_plan

    checked = prepare(options)
    if as_json:
        print(plan_as_json(checked, options))
    else:
        show_plan(checked, options, Console())


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
    tracking_uri: TrackingUri = None,
    selected: Annotated[
        Path | None, typer.Option(help="Take the arms' configurations from what this study's folder selected.")
    ] = None,
    studies: Studies = None,
    reuse: Reuse = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and print the plan only.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move an existing folder aside and start over.")] = False,
) -> None:
    """Run a study, or go on with it: the plan minus the trials that are done. Ctrl-C is safe."""
    say(f"looking up {study}")
    options = options_of(locals(), but=("dry_run",))
    if dry_run:
        say(CHECKING)
        from fmim.runner.run import prepare
        from fmim.terminal.plan import show_plan

        show_plan(prepare(options), options, Console())
        return
    from fmim.runner.cluster.start import starting

    say(options.starting)
    with starting(options.backend, options.address) as start:  # Ray starts while torch is imported, which takes seconds
        from fmim.runner.run import run_study

        code = run_study(options, start, Console())
    raise typer.Exit(code)


def status(
    out: StudyFolder,
    watch: Annotated[bool, typer.Option("--watch", help="Again and again, as long as a process runs it.")] = False,
    as_json: AsJson = False,
) -> None:
    """How far a study is: each arm's trials and best fold, what runs now, in which process, and the time left."""
    folder = study_folder(out)
    from fmim.terminal.status import StudyStatus, show_status, watch_status

    if watch and as_json:
        raise ValueError("--json is printed once, and --watch again and again: leave one of them out")
    if as_json:
        print(StudyStatus.of(folder).as_json)
    elif watch:
        watch_status(folder, Console())
    else:
        show_status(folder, Console())


def report(out: StudyFolder) -> None:
    """Build a study's report again, from its records alone."""
    folder = study_folder(out)
    from fmim.runner.folder.overview import update_overview
    from fmim_reports.build import build_report

    Console().print(f"report: {in_terminal(build_report(folder))}", highlight=False, soft_wrap=True)
    update_overview(folder.absolute().parent, warn)
