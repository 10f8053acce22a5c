"""`fmim list`, `new`, `plan`, `run`, `status` and `report`: from a study's declaration to its report."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Annotated

import typer

from fmim.commands.arguments import AsJson, DryRun, StudyFolder
from fmim.commands.options import Options, takes_options
from fmim.own.skeleton import EXAMPLE, new_files
from fmim.printing import TextConsole, TextTable, warn
from fmim.runner.folder.study_folder import study_folder

LOADING, CHECKING = "loading PyTorch", "checking the plan: one batch of every network and loss"


def list_studies(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Your own Python files.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the studies, one line each."""
    from fmim import catalogue

    studies = {name: catalogue.find(name) for name in (*catalogue.names(), *map(str, files or ()))}
    if not as_json:
        rows = [(name, study.question) for name, study in studies.items()]
        TextConsole().show(TextTable(("study", "question"), rows))
        return
    listed = [
        {"study": given, **study.model_dump(include={"name", "title", "question", "metric"})}
        | {"arms": [arm.name for arm in study.arms], "comparisons": study.comparison_pairs}
        | {"presets": [preset.name for preset in study.presets]}
        for given, study in studies.items()
    ]
    print(json.dumps(listed, indent=1, ensure_ascii=False))


def new(
    study: Annotated[str, typer.Argument(metavar="NAME", help="Name of the study, e.g. my_study.")],
    loss: Annotated[
        str | None, typer.Option(metavar="LOSS", help="A loss of pytorch-metric-learning, e.g. MultiSimilarityLoss.")
    ] = None,
) -> None:
    """Write NAME.py, a study to begin with. Its loss is your own, with a test, or the library's that --loss names."""
    from fmim import catalogue

    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", study):
        raise ValueError(
            f"{study!r} cannot be a study's name: give a lower-case letter, then letters, digits or _, e.g. {EXAMPLE}"
        )
    if study in catalogue.names():
        raise ValueError(f"{study!r} is a study of `fmim list`: choose another name, e.g. {EXAMPLE}")
    files = new_files(study, loss)
    if there := [str(path) for path in files if os.path.lexists(path)]:
        raise ValueError(f"{' and '.join(there)} would be overwritten: choose another name, or move it away first")
    for path, text in files.items():
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        TextConsole().say(f"wrote {path}")
    TextConsole().say(f"try it: fmim run {study}.py --preset smoke")


@takes_options("tracking_uri", "selected", "remake_weights", "fresh")
def plan(
    options: Options,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Time short trials here, predict the run, and write OUT/calibration.json."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a study would run: its trials, time and power.

    Everything is checked, and no trial starts. With --calibrate, short trials on the devices of this machine show how
    long the study would take.
    """
    options.check()
    if calibrate and as_json:
        raise ValueError("--calibrate writes calibration.json, but --json only prints the plan: leave one of them out")
    TextConsole(stderr=True).stage(LOADING)
    if calibrate:
        from fmim.terminal.plan import predict_here

        TextConsole(stderr=True).stage(CHECKING)
        predict_here(options.plan(), options.setup, TextConsole())
        return
    from fmim.runner.run import check_plan
    from fmim.terminal.plan import plan_as_json, show_plan

    TextConsole(stderr=True).stage(CHECKING)
    checked = check_plan(options.plan(), options.setup)
    if as_json:
        print(plan_as_json(checked, options.setup))
    else:
        show_plan(checked, options.setup, TextConsole())


@takes_options()
def run(options: Options, dry_run: DryRun = False) -> None:
    """Run a study, or continue it; Ctrl-C is safe. The same command again runs only the trials that are missing."""
    TextConsole(stderr=True).stage(f"looking up {options.study}")
    options.check()
    setup = options.setup
    if dry_run:
        TextConsole(stderr=True).stage(LOADING)
        from fmim.runner.run import check_plan
        from fmim.terminal.plan import show_plan

        TextConsole(stderr=True).stage(CHECKING)
        show_plan(check_plan(options.plan(), setup), setup, TextConsole())
        return
    from fmim.runner.backends.ray_cluster import cluster_for

    ray = f", and joining the Ray cluster at {options.address}" if options.address else ", and starting Ray"
    TextConsole(stderr=True).stage(LOADING + (ray if options.backend == "ray" else ""))
    with cluster_for(setup.backend, setup.address) as cluster:  # it starts while torch is imported
        from fmim.runner.run import run_plan
        from fmim.terminal.run_display import RunDisplay

        with RunDisplay(TextConsole()) as display:
            code = run_plan(options.plan(), setup, display, cluster)
    raise typer.Exit(code)


def status(
    out: StudyFolder,
    watch: Annotated[bool, typer.Option("--watch", help="Update it while the study runs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how far a study is, what runs now, and the time left."""
    folder = study_folder(out)
    from fmim.terminal.status import StudyStatus, watch_status

    if watch and as_json:
        raise ValueError("--json prints once, but --watch prints repeatedly: leave one of them out")
    if watch:
        watch_status(folder, TextConsole())
    elif as_json:
        print(StudyStatus(folder).as_json)
    else:
        TextConsole().show(StudyStatus(folder).shown)


def report(out: StudyFolder) -> None:
    """Write a study's report again, from its records."""
    folder = study_folder(out)
    TextConsole(stderr=True).stage("writing the report: reading the records")
    from fmim.runner.folder.overview import update_overview
    from fmim_reports.build import build_report

    TextConsole().say(f"report: {build_report(folder, TextConsole(stderr=True).stage)}")
    update_overview(folder.absolute().parent, warn)
